//! The retry step: a step again if it failed for a transient reason.

use convoke_core::{Bounds, BoxFuture, Category, Error, EventKind, Nature, Outline, Scope, SharedStep, Step};
use std::sync::Arc;

use crate::RetryPolicy;

/// Tries a step again when it fails for a reason that may pass, waiting longer each time, and at least as long as the
/// other side asked. If that is longer than the policy's longest wait, and than five minutes, a run with a store is suspended until then.
///
/// A tool that is called again with the same arguments is called with the same idempotency key: what the first attempt
/// did, and could not say, is not done twice by tools that heed it. The state keeps what a failed attempt wrote, unless [`with_rollback`](Self::with_rollback) is asked for.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Retry, RetryPolicy, func};
///
/// let step = func("flaky", |_: &mut u32| Err(Error::transient("try again")));
/// let retry = Retry::new(step, RetryPolicy::attempts(3)?);
/// # Ok::<(), convoke_steps::InvalidRetryPolicy>(())
/// ```
pub struct Retry<S> {
    name: String,
    step: SharedStep<S>,
    policy: RetryPolicy,
    /// Keeps the state for when an attempt fails.
    copy: Option<fn(&S) -> S>,
    /// The first attempt runs in the scope of the retry itself.
    in_place: bool,
}

/// The name of later attempts where the first has none of its own.
const AGAIN: &str = "again";

impl<S: Send + 'static> Retry<S> {
    /// Retries a step.
    pub fn new(step: impl Step<S> + 'static, policy: RetryPolicy) -> Self {
        let name = format!("retry {}", step.name());
        Self { name, step: Arc::new(step), policy, copy: None, in_place: false }
    }

    /// Gives it another name than `retry` and the step's.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Undoes what a failed attempt wrote to the state.
    #[must_use]
    pub fn with_rollback(mut self) -> Self
    where
        S: Clone,
    {
        self.copy = Some(S::clone);
        self
    }

    /// Takes the place of the step: its name, its kind, its path and its bounds.
    ///
    /// So a run that began before there was a retry, or after it is gone, finds its effects where they are. And the time
    /// and the budget of the step are those of all attempts together: trying again does not get it more of either.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.name = self.step.name().to_owned();
        self.in_place = true;
        self
    }

    async fn attempts(&self, scope: &Scope, state: &mut S) -> Result<(), Error> {
        let maximum = self.policy.max_attempts();
        let again = NextAttempt(Arc::clone(&self.step));
        let step: &dyn Step<S> = if self.in_place { &again } else { &*self.step };
        scope.composing().begin_attempts();
        let mut first: Option<Scope> = None;
        for attempt in 1..=maximum {
            let child = match &first {
                None if self.in_place => None,
                None => Some(scope.composing().open(step)?),
                Some(first) => Some(scope.composing().open_again(step, first)?),
            };
            first.get_or_insert_with(|| child.clone().unwrap_or_else(|| scope.clone()));
            if scope.has_listeners() {
                scope.emit(EventKind::RetryAttempt { attempt }).await;
            }
            let before = self.copy.map(|copy| copy(state));
            let result = match &child {
                Some(child) => child.composing().enter(step, state).await,
                None => scope.composing().inline(&*self.step, state).await,
            };
            let Err(error) = result else {
                if scope.has_listeners() {
                    scope.emit(EventKind::RetrySucceeded { attempt }).await;
                }
                return Ok(());
            };
            if error.passes(child.as_ref().unwrap_or(scope).path()) {
                return Err(error);
            }
            if let Some(before) = before {
                *state = before;
            }
            // Journals of older versions have attempts after errors whose words they went by.
            let retryable = error.category() == Category::Transient || scope.composing().has_later_effects();
            if scope.has_listeners() {
                let text = error.to_string();
                scope.emit(EventKind::RetryFailed { attempt, error: text.clone(), retryable }).await;
                if retryable && attempt == maximum {
                    scope.emit(EventKind::RetryExhausted { attempts: maximum, error: text }).await;
                }
            }
            if !retryable || attempt == maximum {
                return Err(error);
            }
            self.wait(scope, attempt, &error).await?;
        }
        unreachable!("a policy has at least one attempt, and the last one returns")
    }

    async fn wait(&self, scope: &Scope, attempt: u32, error: &Error) -> Result<(), Error> {
        // 53 bits are what an f64 holds exactly.
        let chance = (scope.random() >> 11) as f64 / (1_u64 << 53) as f64;
        let planned = self.policy.delay(attempt - 1, chance);
        let asked = error.retry_after().unwrap_or_default();
        let delay = planned.max(asked);
        if scope.has_listeners() {
            scope.emit(EventKind::RetryScheduled { attempt, delay }).await;
        }
        match asked > self.policy.longest_wait() {
            true => scope.composing().sleep_as_asked(delay).await,
            false => scope.sleep(delay).await,
        }
    }
}

impl<S: Send + 'static> Step<S> for Retry<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.attempts(scope, state))
    }

    fn kind(&self) -> &'static str {
        if self.in_place { self.step.kind() } else { "retry" }
    }

    fn nature(&self) -> Nature {
        if self.in_place { self.step.nature() } else { Nature::Composite }
    }

    fn bounds(&self) -> Option<&Bounds> {
        if self.in_place { self.step.bounds() } else { None }
    }

    fn outline(&self) -> Outline {
        if self.in_place {
            return self.step.outline();
        }
        Outline::composite(&self.name, self.kind(), [self.step.outline()])
    }
}

/// A later attempt within what bounds all of them.
struct NextAttempt<S>(SharedStep<S>);

impl<S: Send + 'static> Step<S> for NextAttempt<S> {
    fn name(&self) -> &str {
        AGAIN
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        self.0.run(scope, state)
    }

    fn kind(&self) -> &'static str {
        "attempt"
    }

    fn nature(&self) -> Nature {
        self.0.nature()
    }
}
