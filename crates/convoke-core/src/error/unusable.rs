//! Replies of models that a step cannot use.
//!
//! A reply that came is a success in the journal, and the step that refuses it fails: without being told, a resumed run
//! would take the same reply from the journal and fail again, for ever.

use std::error::Error as StdError;

/// An error about what a model replied. When a run that failed by it is resumed, that reply is asked for anew.
///
/// Without [`lacking`](Self::lacking) it is about the last reply of the step that fails.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct UnusableReply {
    lacking: Option<Box<str>>,
    source: Box<dyn StdError + Send + Sync>,
}

impl UnusableReply {
    /// Says that an error is about what a model replied.
    pub fn new(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { lacking: None, source: error.into() }
    }

    /// Says that it is about an earlier reply, of which it was [noted](crate::ComposingScope::note_lacking) that it lacks this.
    #[must_use]
    pub fn lacking(mut self, what: impl Into<Box<str>>) -> Self {
        self.lacking = Some(what.into());
        self
    }

    /// What an earlier reply lacks.
    pub(crate) fn what_lacks(&self) -> Option<&str> {
        self.lacking.as_deref()
    }
}
