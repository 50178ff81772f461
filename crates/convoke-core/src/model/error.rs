//! Errors of model calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Category;

/// The kinds of failure, so that callers need not read messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing or wrong.
    Authentication,
    /// The account has no credit left.
    Quota,
    /// Too many requests.
    RateLimited,
    /// The conversation does not fit.
    ContextTooLong,
    /// The provider refused the content.
    Refused,
    /// The provider is overloaded or broken.
    Overloaded,
    /// The connection failed.
    Network,
    /// No connection, no first token or no further one in time.
    TimedOut,
    /// What came back makes no sense.
    Malformed,
    /// The request is wrong.
    InvalidRequest,
    /// The stream ended before the reply did.
    Interrupted,
    /// The reply has neither text nor tool calls.
    Empty,
    /// The reply was cut off at its token limit.
    Truncated,
    /// Real models are forbidden here.
    Forbidden,
    /// No model is configured.
    Missing,
    /// Anything else.
    Other,
}

/// A failed model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("model call failed: {message}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// What happened, for people.
    pub message: String,
    /// The HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asked us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// The provider's id for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ModelError {
    /// A failure of this kind.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, request_id: None }
    }

    /// A failure with this HTTP status.
    #[must_use]
    pub fn of_status(status: u16, message: impl Into<String>) -> Self {
        let kind = match status {
            401 | 403 => ModelErrorKind::Authentication,
            408 => ModelErrorKind::TimedOut,
            402 => ModelErrorKind::Quota,
            429 => ModelErrorKind::RateLimited,
            500..=599 => ModelErrorKind::Overloaded,
            400 | 404 | 413 | 422 => ModelErrorKind::InvalidRequest,
            _ => ModelErrorKind::Other,
        };
        Self { status: Some(status), ..Self::new(kind, message) }
    }

    /// Adds how long the provider asked us to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds the provider's id for the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Returns whether trying again may help. A provider that names a time to wait says that it may.
    #[must_use]
    pub fn category(&self) -> Category {
        use ModelErrorKind as Kind;
        match self.kind {
            // Some providers say so with a status that elsewhere means "later".
            Kind::Quota => return Category::Permanent,
            Kind::TimedOut => return Category::Transient,
            _ => {}
        }
        if self.retry_after.is_some_and(|wait| !wait.is_zero()) {
            return Category::Transient;
        }
        if let Some(status) = self.status {
            return Category::of_status(status);
        }
        match self.kind {
            Kind::RateLimited | Kind::Overloaded | Kind::Network | Kind::Interrupted | Kind::Empty => {
                Category::Transient
            }
            Kind::ContextTooLong | Kind::InvalidRequest | Kind::Refused => Category::UserInput,
            _ => Category::Permanent,
        }
    }
}
