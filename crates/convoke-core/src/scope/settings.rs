//! What a scope passes on to the scopes below it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Model, ModelParams};
use crate::tool::Timeout;
use crate::{Error, Path};

/// How long a leaf step may work unless somebody says otherwise. The time that a person takes to answer, or a slow reader
/// of events to catch up, does not count.
pub const DEFAULT_LEAF_TIMEOUT: Duration = Duration::from_secs(120);

/// Settings that hold for a scope and everything below it.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The longest a single leaf step (a function, a prompt, a tool) may take. Composite steps are not bounded by it.
    /// One that is set counts everything; `None` is [`DEFAULT_LEAF_TIMEOUT`], which counts only work.
    pub leaf_timeout: Option<Timeout>,
    /// How many branches of one fan-out may run at once; `None` means all of them.
    pub max_concurrency: Option<NonZeroUsize>,
    /// The model for steps that name none.
    pub model: Option<Arc<dyn Model>>,
    /// Sampling parameters that override those of single steps.
    pub params: ModelParams,
    /// Decides what happens when a step of a chain or loop fails.
    pub on_failure: Option<Arc<dyn FailurePolicy>>,
}

impl Settings {
    /// How long a leaf may take, if that is limited.
    #[must_use]
    pub fn leaf_time_limit(&self) -> Option<Duration> {
        let (whole, work) = self.leaf_limits();
        whole.or(work)
    }

    /// How long a leaf may take as a whole, and how long it may work.
    pub(crate) fn leaf_limits(&self) -> (Option<Duration>, Option<Duration>) {
        match self.leaf_timeout {
            None => (None, Some(DEFAULT_LEAF_TIMEOUT)),
            Some(Timeout::After(limit)) => (Some(limit), None),
            Some(Timeout::Unbounded) => (None, None),
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("leaf_timeout", &self.leaf_timeout)
            .field("max_concurrency", &self.max_concurrency)
            .field("model", &self.model.as_ref().map(|model| model.name().to_owned()))
            .field("params", &self.params)
            .field("on_failure", &self.on_failure.is_some())
            .finish()
    }
}

/// A step that failed, as a policy sees it.
#[derive(Debug)]
pub struct StepFailure<'a> {
    /// The step's name.
    pub step: &'a str,
    /// Where it is.
    pub path: &'a Path,
    /// Why it failed.
    pub error: &'a Error,
}

/// What to do about a failed step.
#[derive(Debug, Clone)]
pub enum Recovery {
    /// The parent fails with the same error.
    Fail,
    /// The parent fails with this error instead.
    FailWith(Error),
    /// The parent goes on with the next step.
    Continue,
    /// The parent ends here, successfully.
    Stop,
}

/// Decides what happens when a step of a chain or loop fails. Asked once per failure, however deep it is nested.
pub trait FailurePolicy: Send + Sync {
    /// What to do.
    fn recover(&self, failure: &StepFailure<'_>) -> Recovery;
}

impl<F: Fn(&StepFailure<'_>) -> Recovery + Send + Sync> FailurePolicy for F {
    fn recover(&self, failure: &StepFailure<'_>) -> Recovery {
        self(failure)
    }
}
