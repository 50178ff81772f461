//! Settings that a scope passes on to the scopes below it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Model, ModelParams};
use crate::{Error, Path};

/// Settings that hold for a scope and everything below it.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The longest a single leaf step (a function, a prompt, a tool) may take, whatever it waits for; `None` means as long
    /// as it takes. Composite steps are not bounded by it.
    pub leaf_timeout: Option<Duration>,
    /// How many branches of one fan-out may run at once; `None` means all of them.
    pub max_concurrency: Option<NonZeroUsize>,
    /// The model for steps that name none.
    pub model: Option<Arc<dyn Model>>,
    /// Sampling parameters that override those of single steps.
    pub params: ModelParams,
    /// Decides what happens when a step of a chain or loop fails.
    pub on_failure: Option<Arc<dyn FailurePolicy>>,
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

/// The decision about a failed step.
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
