//! The loop step: a step again and again.

use convoke_core::{BoxFuture, CategorisedError, Error, EventKind, Nature, Outline, Scope, Step};

use crate::StepsError;
use crate::on_error::{AfterChild, Member, OnError};

/// The default limit of a loop's iterations.
pub const DEFAULT_MAX_ITERATIONS: u64 = 10;

/// Runs a step until a condition holds, at most so many times.
///
/// The condition is looked at after each round, so the body runs at least once (except [`Loop::times`] zero). A loop
/// that is not done at its maximum fails with [`StepsError::MaxIterations`]: nothing loops for ever.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Loop, func};
///
/// let polish = Loop::until("polish", func("add", |n: &mut u32| { *n += 1; Ok::<_, Error>(()) }), |n| *n >= 3);
/// ```
pub struct Loop<S> {
    name: String,
    body: Member<S>,
    exit: Exit<S>,
    max_iterations: u64,
}

enum Exit<S> {
    /// After this many rounds, successfully.
    After(u64),
    /// When this says so, told the state and the number of the round.
    When(Condition<S>),
}

type Condition<S> = Box<dyn Fn(&S, u64) -> bool + Send + Sync>;

impl<S: Send + 'static> Loop<S> {
    /// Goes round until the condition holds.
    pub fn until(
        name: impl Into<String>,
        body: impl Step<S> + 'static,
        done: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::until_with(name, body, move |state, _| done(state))
    }

    /// Goes round as long as the condition holds, and at least once.
    pub fn while_true(
        name: impl Into<String>,
        body: impl Step<S> + 'static,
        again: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::until_with(name, body, move |state, _| !again(state))
    }

    /// Goes round until the condition holds, which is also told the number of the round, from 1.
    pub fn until_with(
        name: impl Into<String>,
        body: impl Step<S> + 'static,
        done: impl Fn(&S, u64) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, body, Exit::When(Box::new(done)), DEFAULT_MAX_ITERATIONS)
    }

    /// Goes round exactly so many times; zero times does nothing, successfully.
    pub fn times(name: impl Into<String>, times: u64, body: impl Step<S> + 'static) -> Self {
        Self::new(name, body, Exit::After(times), times)
    }

    fn new(
        name: impl Into<String>,
        body: impl Step<S> + 'static,
        exit: Exit<S>,
        max_iterations: u64,
    ) -> Self {
        Self { name: name.into(), body: Member::new(body, None), exit, max_iterations }
    }

    /// Sets how often it goes round at most.
    #[must_use]
    pub fn max_iterations(mut self, rounds: u64) -> Self {
        self.max_iterations = rounds;
        self
    }

    /// Says what happens when the body fails. `Continue` counts the round and does not look at the condition.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError<S>) -> Self {
        self.body = Member::new(self.body.step, Some(on_error));
        self
    }

    fn is_done(&self, state: &S, round: u64) -> bool {
        match &self.exit {
            Exit::After(times) => round >= *times,
            Exit::When(done) => done(state, round),
        }
    }
}

impl<S: Send + 'static> Step<S> for Loop<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if matches!(self.exit, Exit::After(0)) {
                return Ok(());
            }
            let mut has_failed = false;
            for round in 1..=self.max_iterations {
                let body = self.body.open(scope)?;
                if scope.has_listeners() {
                    scope.emit(EventKind::LoopIteration { iteration: round }).await;
                }
                let ended = self.body.run_in(&body, scope, state).await?;
                has_failed = ended == AfterChild::Skip;
                match ended {
                    AfterChild::Go if self.is_done(state, round) => return Ok(()),
                    AfterChild::Go | AfterChild::Skip => {}
                    AfterChild::Stop => return Ok(()),
                }
            }
            let out_of_rounds = StepsError::MaxIterations { limit: self.max_iterations };
            match self.exit {
                // The last round may have failed harmlessly; it counts all the same.
                Exit::After(times) if self.max_iterations >= times => Ok(()),
                // Tried again, that round might have been the one.
                _ if has_failed => Err(Error::failed(out_of_rounds)),
                _ => Err(Error::failed(CategorisedError::of_step(out_of_rounds))),
            }
        })
    }

    fn kind(&self) -> &'static str {
        "loop"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        Outline::composite(&self.name, self.kind(), [self.body.step.outline()])
    }
}
