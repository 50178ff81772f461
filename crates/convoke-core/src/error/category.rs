//! Error categories: whether a retry may help.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Error, RecordedError};
use crate::model::ModelError;

/// The category of an error: whose fault it is, and so whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// It may pass: overload, a lost connection.
    Transient,
    /// It will not pass by itself.
    Permanent,
    /// What was asked for is wrong.
    UserInput,
}

impl Category {
    /// The category of an HTTP status.
    ///
    /// ```
    /// use convoke_core::Category;
    ///
    /// assert_eq!(Category::of_status(429), Category::Transient);
    /// assert_eq!(Category::of_status(401), Category::Permanent);
    /// assert_eq!(Category::of_status(404), Category::UserInput);
    /// ```
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            429 | 500..=599 => Self::Transient,
            400 | 404 | 422 => Self::UserInput,
            _ => Self::Permanent,
        }
    }
}

/// An error whose category is known because somebody said so.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct CategorisedError {
    category: Category,
    retry_after: Option<Duration>,
    source: Box<dyn StdError + Send + Sync>,
    cause: Cause,
    in_doubt: bool,
}

/// What an error is about, which decides what is performed anew when the run is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Nobody said.
    Unknown,
    /// A failed effect.
    Effect,
    /// The step itself, whatever became of the effects below it.
    Step,
}

impl CategorisedError {
    /// Says what kind of error it is.
    pub fn new(category: Category, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { category, retry_after: None, source: error.into(), cause: Cause::Unknown, in_doubt: false }
    }

    /// Says how an effect failed, in other words than its own: a step fails by it. A run that failed by that performs the effect
    /// anew when it is resumed.
    pub fn of_effect(failure: &RecordedError, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            retry_after: failure.retry_after(),
            cause: Cause::Effect,
            ..Self::new(failure.category(), error)
        }
    }

    /// Says that a step failed by itself and will fail again (a loop that is out of rounds): it had coped with whatever failed below
    /// it. A run that failed by that performs nothing anew when it is resumed.
    pub fn of_step(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { cause: Cause::Step, ..Self::new(Category::Permanent, error) }
    }

    pub(crate) fn is_of_effect(&self) -> bool {
        self.cause == Cause::Effect
    }

    pub(crate) fn is_of_step(&self) -> bool {
        self.cause == Cause::Step
    }

    /// Says how long the other side asked us to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Says that nobody knows whether what failed like this took effect. If it is the call of a tool that [must not be made
    /// again](crate::Repeat::Never), another attempt, and a run that failed by it and is resumed, asks a person what became of it.
    #[must_use]
    pub fn in_doubt(mut self) -> Self {
        self.in_doubt = true;
        self
    }

    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// The category.
    #[must_use]
    pub fn category(&self) -> Category {
        self.category
    }

    /// Returns how long the other side asked us to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// Of several failed branches all must be such that trying again may help: they are tried again together, and one that
/// fails for good makes the others be paid for twice.
pub(super) fn of(error: &Error) -> Category {
    let mut category = None;
    error.each_root(None, &mut |_, root| match category {
        None | Some(Category::Transient) => category = Some(of_root(root)),
        Some(Category::Permanent | Category::UserInput) => {}
    });
    category.unwrap_or(Category::Permanent)
}

/// Stops and own deadlines never pass by themselves; then whoever categorised the error decides; then its type. What
/// nobody knows anything about is not tried again: words in a message are no reason to pay twice.
fn of_root(error: &Error) -> Category {
    if error.is_stop() || matches!(error, Error::TimedOut(_) | Error::Budget(_) | Error::Panicked { .. }) {
        return Category::Permanent;
    }
    let stated = error.causes().find_map(|cause| {
        cause
            .downcast_ref::<CategorisedError>()
            .map(CategorisedError::category)
            .or_else(|| cause.downcast_ref::<ModelError>().map(ModelError::category))
            .or_else(|| cause.downcast_ref::<RecordedError>().map(RecordedError::category))
            .or_else(|| cause.downcast_ref::<io::Error>().and_then(of_io))
    });
    stated.unwrap_or(Category::Permanent)
}

fn of_io(error: &io::Error) -> Option<Category> {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::ConnectionAborted
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::TimedOut
    )
    .then_some(Category::Transient)
}
