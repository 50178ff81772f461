//! The chain step: one step after another.

use convoke_core::{BoxFuture, Error, Nature, Outline, Scope, State, Step};

use crate::on_error::{AfterChild, Member, OnError};

/// Runs steps one after another on the same state.
///
/// The first failure ends it, unless that step's [`OnError`] or the run's failure policy says otherwise. An empty chain
/// succeeds.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Chain, OnError, func};
///
/// let chain = Chain::new("main")
///     .then(func("one", |n: &mut u32| { *n += 1; Ok::<_, Error>(()) }))
///     .then_or(func("two", |_: &mut u32| Err("not today")), OnError::Continue)
///     .then(func("three", |n: &mut u32| { *n += 1; Ok::<_, Error>(()) }));
/// ```
pub struct Chain<S> {
    name: String,
    members: Vec<Member<S>>,
    publish: Option<Publish<S>>,
}

type Publish<S> = for<'a> fn(&'a Scope, &'a S) -> BoxFuture<'a, Result<(), Error>>;

impl<S: Send + 'static> Chain<S> {
    /// An empty chain.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), members: Vec::new(), publish: None }
    }

    /// Adds a step at the end.
    #[must_use]
    pub fn then(mut self, step: impl Step<S> + 'static) -> Self {
        self.members.push(Member::new(step, None));
        self
    }

    /// Adds a step at the end, and says what happens when it fails.
    #[must_use]
    pub fn then_or(mut self, step: impl Step<S> + 'static, on_error: OnError<S>) -> Self {
        self.members.push(Member::new(step, Some(on_error)));
        self
    }

    /// Tells listeners about the state before the first step and after each: whole once, then what changed.
    #[must_use]
    pub fn publishing_state(mut self) -> Self
    where
        S: State + Sync,
    {
        self.publish = Some(|scope, state| Box::pin(scope.publish(state)));
        self
    }
}

impl<S: Send + 'static> Step<S> for Chain<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if let Some(publish) = self.publish {
                publish(scope, state).await?;
            }
            for member in &self.members {
                let next = member.run(scope, state).await?;
                if let Some(publish) = self.publish {
                    publish(scope, state).await?;
                }
                if next == AfterChild::Stop {
                    break;
                }
            }
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "chain"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        Outline::composite(&self.name, self.kind(), self.members.iter().map(|member| member.step.outline()))
    }
}
