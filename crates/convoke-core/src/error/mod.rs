//! The error type of steps and runs.
//!
//! One enum, decided at the source: nobody downstream reads messages to find out whether a step timed out or was
//! cancelled. Some variants are *stops* rather than failures (a question is waiting, somebody cancelled); those pass
//! through error policies and retries untouched.

mod category;
mod causes;
mod kind;
mod recorded;
mod unusable;

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
pub use category::{CategorisedError, Category};
pub use causes::{
    BranchErrors, BranchFailure, Divergence, InDoubt, StepError, StepsMissing, Suspension, TimedOut,
};
pub use recorded::RecordedError;
pub use unusable::UnusableReply;

use crate::Path;
use crate::budget::BudgetExhausted;
use crate::journal::EffectKind;
use crate::model::ModelError;
use crate::store::{RunStatus, StoreError};

/// The reason why a step or a run stopped before its end.
///
/// Its `Debug` is the same text as its `Display`: a program whose `main` gives it back shows what happened and what to do.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A child step failed; its parent says which.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
    /// Several branches failed.
    #[error(transparent)]
    Branches(#[from] Box<BranchErrors>),
    /// The user's own error. Use [`Error::downcast_ref`] to get it back.
    #[error(transparent)]
    Failed(Arc<dyn StdError + Send + Sync>),
    /// The step's code panicked.
    #[error("step `{path}` panicked: {message}. The run goes on as if it had failed; fix the panic")]
    Panicked {
        /// Where.
        path: Path,
        /// What the panic said.
        message: Box<str>,
    },
    /// The step's code blocks its thread, so that nothing can stop it.
    #[error(
        "step `{path}` blocks its thread: it has not let go for {time:?}. The run was given up; move blocking work to \
         `tokio::task::spawn_blocking`, and resume"
    )]
    Blocked {
        /// Where.
        path: Path,
        /// For how long.
        time: Duration,
    },
    /// A model call failed.
    #[error(transparent)]
    Model(#[from] Box<ModelError>),
    /// An effect failed with an error of the user's, which the journal keeps as text.
    #[error(transparent)]
    Effect(#[from] Box<RecordedError>),
    /// Time ran out.
    #[error(transparent)]
    TimedOut(#[from] Box<TimedOut>),
    /// A limit of a budget was reached.
    #[error(transparent)]
    Budget(#[from] Box<BudgetExhausted>),
    /// Policy forbids it.
    #[error("denied: {0}")]
    Denied(Box<str>),
    /// A supervisor ended it.
    #[error("halted: {0}")]
    Halted(Box<str>),
    /// Somebody ended it.
    #[error("cancelled: {0}")]
    Cancelled(Box<str>),
    /// Questions wait for answers.
    #[error(transparent)]
    Suspended(#[from] Box<Suspension>),
    /// The run continues with its next generation, which begins with this state, as JSON.
    #[error(
        "the run continues with its next generation; this is how a step says so, and whoever called it must let it pass"
    )]
    Continues(Bytes),
    /// The code asks for something else than it did when the journal was written.
    #[error(transparent)]
    Diverged(#[from] Box<Divergence>),
    /// A replay came to an effect that was never finished.
    #[error(
        "replay ends here: the {effect} effect {ordinal} at `{path}` was never finished; resume the run to go on"
    )]
    NotRecorded {
        /// Where.
        path: Path,
        /// Its number there.
        ordinal: u32,
        /// What it is.
        effect: EffectKind,
    },
    /// A tool may or may not have acted, and the policy for this is to stop.
    #[error(transparent)]
    InDoubt(#[from] Box<InDoubt>),
    /// The store failed, or the run was taken over by another writer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run has done what its workflow no longer knows.
    #[error(transparent)]
    StepsMissing(#[from] Box<StepsMissing>),
    /// The run cannot be started or resumed as asked.
    #[error("{0}")]
    Refused(Box<str>),
}

impl Error {
    /// Wraps the user's own error. An [`Error`] in disguise is taken as it is.
    pub fn failed(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let boxed: Box<dyn StdError + Send + Sync> = error.into();
        match boxed.downcast::<Self>() {
            Ok(own) => *own,
            Err(foreign) => Self::Failed(Arc::from(foreign)),
        }
    }

    /// Wraps an error and says that trying again may help.
    pub fn transient(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::failed(CategorisedError::new(Category::Transient, error))
    }

    /// Wraps an error and says that trying again will not help.
    pub fn permanent(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::failed(CategorisedError::new(Category::Permanent, error))
    }

    /// Wraps an error and says that it is about what a model replied: a run that fails by it asks for that reply anew when
    /// it is resumed, instead of failing on the same reply again.
    pub fn unusable_reply(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::failed(UnusableReply::new(error))
    }

    pub(crate) fn panicked(path: &Path, payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "(no message)".to_owned());
        Self::Panicked { path: path.clone(), message: message.into() }
    }

    /// The first error of type `E` in this one or among its causes.
    ///
    /// ```
    /// use convoke_core::Error;
    ///
    /// let error = Error::failed("x".parse::<u8>().unwrap_err());
    /// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
    /// ```
    #[must_use]
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.causes().find_map(|cause| cause.downcast_ref::<E>())
    }

    /// This error and its causes, outermost first. Of several failed branches, the first declared one is followed.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let mut next: Option<&(dyn StdError + 'static)> = Some(self);
        std::iter::from_fn(move || {
            let current = next?;
            next = match current.downcast_ref::<Self>() {
                // Transparent variants would skip their payload: step into it so that callers can see its type.
                Some(own) => own.payload().or_else(|| current.source()),
                None => current.source(),
            };
            Some(current)
        })
    }

    fn payload(&self) -> Option<&(dyn StdError + 'static)> {
        Some(match self {
            Self::Step(inner) => &**inner,
            Self::Branches(inner) => &**inner,
            Self::Failed(inner) => &**inner,
            Self::Model(inner) => &**inner,
            Self::Effect(inner) => &**inner,
            Self::TimedOut(inner) => &**inner,
            Self::Budget(inner) => &**inner,
            Self::Suspended(inner) => &**inner,
            Self::Diverged(inner) => &**inner,
            Self::InDoubt(inner) => &**inner,
            Self::Store(inner) => inner,
            Self::StepsMissing(inner) => &**inner,
            _ => return None,
        })
    }

    /// The error below all `step … failed` wrappers.
    #[must_use]
    pub fn root(&self) -> &Self {
        match self {
            Self::Step(step) => step.source.root(),
            Self::Branches(branches) => {
                branches.failures.first().map_or(self, |failure| failure.error.root())
            }
            other => other,
        }
    }

    /// The status a run ends with when this is why it stopped.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match self.root() {
            Self::Suspended(_) => RunStatus::Suspended,
            Self::Cancelled(_) => RunStatus::Cancelled,
            Self::TimedOut(_) => RunStatus::TimedOut,
            Self::Budget(_) => RunStatus::BudgetExhausted,
            Self::Halted(_) => RunStatus::Halted,
            Self::Denied(_) => RunStatus::Denied,
            _ => RunStatus::Failed,
        }
    }

    /// Returns whether no error policy, retry or fallback may touch it: it is about the run, not about the step.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(
            self.root(),
            Self::Suspended(_)
                | Self::Continues(_)
                | Self::Cancelled(_)
                | Self::Halted(_)
                | Self::Diverged(_)
                | Self::NotRecorded { .. }
                | Self::InDoubt(_)
                | Self::Store(_)
                | Self::StepsMissing(_)
                | Self::Refused(_)
        )
    }

    /// Returns whether it must pass through a step at `path` untouched: a stop, or a limit set further out.
    #[must_use]
    pub fn passes(&self, path: &Path) -> bool {
        match self.root() {
            Self::TimedOut(timed_out) => !timed_out.owner.is_within(path),
            Self::Budget(exhausted) => !exhausted.owner.is_within(path),
            _ => self.is_stop(),
        }
    }

    /// Returns whether trying again may help, and whose fault it is. Trying several failed branches again helps only if it
    /// may help all of them.
    #[must_use]
    pub fn category(&self) -> Category {
        category::of(self)
    }

    /// Returns how long the other side asked us to wait, if it did; of several failed branches the longest.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let mut longest = None;
        self.each_root(None, &mut |_, root| {
            let asked = root.causes().find_map(|cause| {
                let of_model = cause.downcast_ref::<ModelError>().and_then(|error| error.retry_after);
                of_model
                    .or_else(|| cause.downcast_ref::<CategorisedError>()?.retry_after())
                    .or_else(|| cause.downcast_ref::<RecordedError>()?.retry_after())
            });
            longest = longest.max(asked);
        });
        longest
    }

    /// Says in which child step this happened.
    #[must_use]
    pub fn in_step(self, name: &str, path: &Path) -> Self {
        let (step, path, beside) = (name.into(), path.clone(), Vec::new());
        Self::Step(Box::new(StepError { step, path, judged: true, beside, source: self }))
    }

    /// Adds to the failure of a step what had [failed beside it](StepError::beside).
    #[must_use]
    pub fn failed_beside(mut self, others: Vec<BranchFailure>) -> Self {
        if let Self::Step(step) = &mut self {
            step.beside.extend(others);
        }
        self
    }

    /// The paths of the innermost steps that failed, for whoever wants to try just those again.
    #[must_use]
    pub fn failed_paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        self.each_root(None, &mut |path, _| found.extend(path.cloned()));
        found
    }

    /// Visits what is below all wrappers, of every branch that decided something, with the path of the nearest step.
    pub(crate) fn each_root<'a>(
        &'a self,
        nearest: Option<&'a Path>,
        visit: &mut impl FnMut(Option<&'a Path>, &'a Self),
    ) {
        self.visit_roots(false, nearest, visit);
    }

    /// The same for all branches that failed.
    pub(crate) fn every_root<'a>(&'a self, visit: &mut impl FnMut(Option<&'a Path>, &'a Self)) {
        self.visit_roots(true, None, visit);
    }

    fn visit_roots<'a>(
        &'a self,
        with_beside: bool,
        nearest: Option<&'a Path>,
        visit: &mut impl FnMut(Option<&'a Path>, &'a Self),
    ) {
        match self {
            Self::Step(step) => {
                step.source.visit_roots(with_beside, Some(&step.path), visit);
                visit_branches(with_beside, step.beside.iter().filter(|_| with_beside), visit);
            }
            Self::Branches(branches) if !branches.failures.is_empty() => {
                let beside = branches.beside.iter().filter(|_| with_beside);
                visit_branches(with_beside, branches.failures.iter().chain(beside), visit);
            }
            root => visit(nearest, root),
        }
    }
}

fn visit_branches<'a>(
    with_beside: bool,
    failures: impl Iterator<Item = &'a BranchFailure>,
    visit: &mut impl FnMut(Option<&'a Path>, &'a Error),
) {
    for failure in failures {
        failure.error.visit_roots(with_beside, Some(&failure.path), visit);
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

macro_rules! from_own_errors {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::failed(error)
            }
        })*
    };
}

from_own_errors! {
    crate::InvalidRunId,
    crate::InvalidDigest,
    crate::DuplicateTool,
    crate::ask::InvalidAnswer,
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error)
    }
}

impl From<Box<dyn StdError + Send + Sync>> for Error {
    fn from(error: Box<dyn StdError + Send + Sync>) -> Self {
        Self::failed(error)
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Self::Model(Box::new(error))
    }
}
