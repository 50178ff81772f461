//! Faults of a graph: errors that come of what its file says, and that it comes to again however often it is tried.
//!
//! It must never stand for anything that could go otherwise another time.

use convoke_core::Error;

use crate::run::schedule::NodeBudgetExhausted;
use crate::{BoardError, ConditionError, InvalidInputs, MergeConflict, ReferenceError};

/// A fault of a graph that was found while it ran: a script that fails, a fork into too many branches.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct GraphFault {
    /// What is wrong.
    pub message: String,
}

impl GraphFault {
    /// A fault as an error.
    pub(crate) fn error(message: impl Into<String>) -> Error {
        Error::permanent(Self { message: message.into() })
    }

    /// Returns whether an error is about what the file of a graph says, and nothing else: it has to be changed.
    #[must_use]
    pub fn is_behind(error: &Error) -> bool {
        error.causes().any(|cause| {
            cause.is::<Self>()
                || cause.is::<MergeConflict>()
                || cause.is::<NodeBudgetExhausted>()
                || cause.is::<ConditionError>()
                || cause.is::<ReferenceError>()
                || cause.is::<BoardError>()
                || cause.is::<InvalidInputs>()
        })
    }
}
