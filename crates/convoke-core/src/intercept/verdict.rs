//! An interceptor's verdict on an effect that is about to be performed.

use crate::ask::Question;

/// The verdict on an effect: whether it may be performed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not. A tool's caller gets to read why; every other effect fails with [`Error::Denied`](crate::Error::Denied).
    Deny {
        /// Why, and what to do instead.
        reason: String,
    },
    /// Allows the effect if a person approves.
    Ask {
        /// What to ask: a question for [approval](Question::approval).
        question: Box<Question>,
    },
}

impl Verdict {
    /// Denies the effect, for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Allows the effect if a person approves.
    #[must_use]
    pub fn ask(question: Question) -> Self {
        Self::Ask { question: Box::new(question) }
    }
}
