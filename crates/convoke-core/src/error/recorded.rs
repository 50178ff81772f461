//! Failures of effects in the form the journal keeps.
//!
//! An effect that fails gives the same error live and on replay: what cannot be stored is turned into this form before
//! the step sees it, so a step cannot behave differently the second time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Category, Error, TimedOut};
use crate::budget::BudgetExhausted;
use crate::model::ModelError;

/// A failure that can be stored and told again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedError {
    /// A model call failed.
    #[error(transparent)]
    Model(ModelError),
    /// The user's code failed.
    #[error("{message}")]
    Failed {
        /// What it said.
        message: String,
        /// Whether trying again may help.
        category: Category,
        /// How long the other side asked us to wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<Duration>,
    },
    /// Time ran out.
    #[error(transparent)]
    TimedOut(TimedOut),
    /// A budget's limit was reached.
    #[error(transparent)]
    Budget(BudgetExhausted),
    /// Policy forbade it.
    #[error("denied: {reason}")]
    Denied {
        /// Why.
        reason: String,
    },
}

impl RecordedError {
    /// The recordable form of an error; `None` for stops, which are not outcomes of the effect.
    #[must_use]
    pub fn of(error: &Error) -> Option<Self> {
        // A limit is a limit, however many steps say that they failed because of it.
        match error.root() {
            Error::TimedOut(timed_out) => return Some(Self::TimedOut((**timed_out).clone())),
            Error::Budget(exhausted) => return Some(Self::Budget((**exhausted).clone())),
            _ => {}
        }
        Some(match error {
            Error::Model(error) => Self::Model((**error).clone()),
            Error::Effect(error) => (**error).clone(),
            Error::Denied(reason) => Self::Denied { reason: reason.to_string() },
            stop if stop.is_stop() => return None,
            other => Self::Failed {
                message: other.to_string(),
                category: other.category(),
                retry_after: other.retry_after(),
            },
        })
    }

    /// Returns whether trying again may help.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Model(error) => error.category(),
            Self::Failed { category, .. } => *category,
            Self::TimedOut(_) | Self::Budget(_) | Self::Denied { .. } => Category::Permanent,
        }
    }

    /// Returns how long the other side asked us to wait, if it did.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(error) => error.retry_after,
            Self::Failed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl From<RecordedError> for Error {
    fn from(recorded: RecordedError) -> Self {
        match recorded {
            RecordedError::Model(error) => Self::Model(Box::new(error)),
            RecordedError::TimedOut(timed_out) => Self::TimedOut(Box::new(timed_out)),
            RecordedError::Budget(exhausted) => Self::Budget(Box::new(exhausted)),
            RecordedError::Denied { reason } => Self::Denied(reason.into()),
            failed @ RecordedError::Failed { .. } => Self::Effect(Box::new(failed)),
        }
    }
}
