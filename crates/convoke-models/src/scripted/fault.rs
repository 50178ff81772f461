//! Faults that break a reply on purpose.

use convoke_core::ModelError;

use super::Reply;

/// A reply that does not reach its end.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    /// How many pieces come before.
    pub(super) after: usize,
    /// What happens then.
    pub(super) kind: FaultKind,
}

/// The kinds of faults that end a reply.
#[derive(Debug, Clone)]
pub(super) enum FaultKind {
    /// The stream ends as if the connection were gone.
    Cut,
    /// The stream ends with this error.
    Fail(ModelError),
    /// Nothing more comes, for ever.
    Hang,
}

/// Faults on demand. A chunk is a piece of text or reasoning, the beginning of a tool call, or a piece of its
/// arguments.
impl Reply {
    /// A failed call: nothing comes but this error.
    ///
    /// ```
    /// use std::time::Duration;
    /// use convoke_core::ModelError;
    /// use convoke_models::Reply;
    ///
    /// let busy = Reply::error(ModelError::of_status(429, "slow down").with_retry_after(Duration::from_secs(2)));
    /// ```
    pub fn error(error: ModelError) -> Self {
        Self::default().fail_after(0, error)
    }

    /// Ends the stream after so many chunks (or all, if there are fewer), without usage and without a proper end.
    pub fn cut_after(self, chunks: usize) -> Self {
        self.fault(chunks, FaultKind::Cut)
    }

    /// Fails after so many chunks, or after all if there are fewer.
    pub fn fail_after(self, chunks: usize, error: ModelError) -> Self {
        self.fault(chunks, FaultKind::Fail(error))
    }

    /// Never answers. Dropping the stream is the only way out.
    pub fn hangs(self) -> Self {
        self.hangs_after(0)
    }

    /// Falls silent for ever after so many chunks, or after all if there are fewer.
    pub fn hangs_after(self, chunks: usize) -> Self {
        self.fault(chunks, FaultKind::Hang)
    }

    fn fault(self, after: usize, kind: FaultKind) -> Self {
        Self { fault: Some(Fault { after, kind }), ..self }
    }
}
