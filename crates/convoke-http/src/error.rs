//! Errors of transports.

use convoke_core::{ModelError, ModelErrorKind};

/// The kinds of transport failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportFailure {
    /// No connection came about.
    Connect,
    /// It took too long.
    TimedOut,
    /// The connection broke.
    Broken,
    /// The request cannot be sent as it is.
    Invalid,
    /// A cassette has no answer to this request.
    NotRecorded,
}

/// A request that got no reply, or half of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// What kind of failure it was.
    pub failure: TransportFailure,
    /// What happened, for people; without secrets.
    pub message: String,
}

impl TransportError {
    /// A failure of this kind.
    pub fn new(failure: TransportFailure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into() }
    }
}

impl From<TransportError> for ModelError {
    fn from(error: TransportError) -> Self {
        let kind = match error.failure {
            TransportFailure::Connect => ModelErrorKind::Network,
            TransportFailure::TimedOut => ModelErrorKind::TimedOut,
            TransportFailure::Broken => ModelErrorKind::Interrupted,
            TransportFailure::Invalid | TransportFailure::NotRecorded => ModelErrorKind::InvalidRequest,
        };
        Self::new(kind, error.message)
    }
}
