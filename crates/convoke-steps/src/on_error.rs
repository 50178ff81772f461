//! Error handling for one step of a chain or loop.

use std::sync::Arc;

use convoke_core::{Error, Path, Recovery, Scope, SharedStep, Step};

use crate::RetryPolicy;
use crate::retry::Retry;

/// The handling of errors of one particular step. Takes precedence over the run's policy, and is not asked about stops.
#[derive(Clone)]
#[non_exhaustive]
pub enum OnError<S> {
    /// The parent fails.
    Fail,
    /// The parent goes on with the next step.
    Continue,
    /// The parent ends here, successfully.
    Stop,
    /// The step is tried again; if that does not help, the parent fails.
    Retry(RetryPolicy),
    /// This step is run instead; if it fails too, the parent fails.
    Fallback(SharedStep<S>),
}

impl<S> OnError<S> {
    /// Runs another step instead.
    pub fn fallback(step: impl Step<S> + 'static) -> Self {
        Self::Fallback(Arc::new(step))
    }
}

impl<S> std::fmt::Debug for OnError<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fail => formatter.write_str("Fail"),
            Self::Continue => formatter.write_str("Continue"),
            Self::Stop => formatter.write_str("Stop"),
            Self::Retry(policy) => formatter.debug_tuple("Retry").field(policy).finish(),
            Self::Fallback(step) => formatter.debug_tuple("Fallback").field(&step.name()).finish(),
        }
    }
}

/// A child of a chain or loop, and what happens when it fails.
pub(crate) struct Member<S> {
    pub(crate) step: SharedStep<S>,
    pub(crate) on_error: Option<OnError<S>>,
}

/// What the parent does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterChild {
    /// The child completed.
    Go,
    /// The child failed and that does no harm.
    Skip,
    /// The parent is done.
    Stop,
}

impl<S: Send + 'static> Member<S> {
    pub(crate) fn new(step: impl Step<S> + 'static, on_error: Option<OnError<S>>) -> Self {
        let step: SharedStep<S> = match &on_error {
            Some(OnError::Retry(policy)) => Arc::new(Retry::new(step, policy.clone())),
            _ => Arc::new(step),
        };
        Self { step, on_error }
    }

    /// Runs the child and copes with its failure.
    pub(crate) async fn run(&self, scope: &Scope, state: &mut S) -> Result<AfterChild, Error> {
        let child = self.open(scope)?;
        self.run_in(&child, scope, state).await
    }

    /// The child's scope. A parent that has something to say before the child begins takes `run` in two parts.
    pub(crate) fn open(&self, scope: &Scope) -> Result<Scope, Error> {
        open(&self.step, scope)
    }

    pub(crate) async fn run_in(
        &self,
        child: &Scope,
        scope: &Scope,
        state: &mut S,
    ) -> Result<AfterChild, Error> {
        let name = self.step.name();
        let Err(error) = child.composing().enter(&*self.step, state).await else { return Ok(AfterChild::Go) };
        match self.recovery(scope, child.path(), &error) {
            Recovery::Fail => match &self.on_error {
                Some(OnError::Fallback(other)) if !error.passes(child.path()) => {
                    scope.composing().emit_skipped(child.path(), &error).await;
                    let spare = open(other, scope)?;
                    let fallen = spare.composing().enter(&**other, state).await;
                    fallen.map(|()| AfterChild::Go).map_err(|error| error.in_step(other.name(), spare.path()))
                }
                _ => Err(error.in_step(name, child.path())),
            },
            Recovery::FailWith(other) => Err(other.in_step(name, child.path())),
            Recovery::Continue => {
                scope.composing().emit_skipped(child.path(), &error).await;
                Ok(AfterChild::Skip)
            }
            Recovery::Stop => {
                scope.composing().emit_skipped(child.path(), &error).await;
                Ok(AfterChild::Stop)
            }
        }
    }

    fn recovery(&self, scope: &Scope, path: &Path, error: &Error) -> Recovery {
        match &self.on_error {
            Some(_) if error.passes(path) => Recovery::Fail,
            Some(OnError::Continue) => Recovery::Continue,
            Some(OnError::Stop) => Recovery::Stop,
            Some(_) => Recovery::Fail,
            None => scope.composing().recovery(self.step.name(), path, error),
        }
    }
}

/// The scope of a child. That it cannot begin is said in its name.
fn open<S>(step: &SharedStep<S>, scope: &Scope) -> Result<Scope, Error> {
    scope.composing().open(&**step).map_err(|stop| stop.in_step(step.name(), scope.path()))
}
