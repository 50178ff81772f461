//! Errors of searching.

use std::time::Duration;

use convoke_core::{CategorisedError, Category, Error};

/// Errors of searching.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// There is nobody to ask.
    #[error(
        "no search service is set up: set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL, or do without web_search"
    )]
    NoService,
    /// A setting makes no sense. What it is set to is not shown.
    #[error("{setting} {problem}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing to look for.
    #[error("there is nothing to look for: `query` is empty")]
    Empty,
    /// The service does not take the key.
    #[error("{service} does not accept the key ({status}): look at {setting}")]
    Key {
        /// The service.
        service: &'static str,
        /// What it answered.
        status: u16,
        /// Where the key is from.
        setting: &'static str,
    },
    /// The service has had enough for now.
    #[error("{service} has had too many searches ({status}){}", later(*retry_after))]
    TooMany {
        /// The service.
        service: &'static str,
        /// What it answered.
        status: u16,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The service says no in another way.
    #[error("{service} answered {status}: {said}")]
    Status {
        /// The service.
        service: &'static str,
        /// What it answered.
        status: u16,
        /// What it says about it, or what to do.
        said: String,
    },
    /// It cannot be reached, or broke off.
    #[error("{service} cannot be asked: {problem}")]
    Connection {
        /// The service.
        service: &'static str,
        /// What happened.
        problem: String,
    },
    /// The answer makes no sense.
    #[error("{service} gave an answer that makes no sense: {problem}")]
    Answer {
        /// The service.
        service: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// There is no client.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
}

fn later(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("; try again in {} seconds", wait.as_secs()),
        None => "; try again later".to_owned(),
    }
}

impl SearchError {
    /// As the kernel takes it: with its category.
    pub(super) fn into_error(self) -> Error {
        let (category, retry_after) = match &self {
            Self::TooMany { retry_after, .. } => (Category::Transient, *retry_after),
            Self::Connection { .. } => (Category::Transient, None),
            Self::Status { status, .. } => (Category::of_status(*status), None),
            Self::Empty => (Category::UserInput, None),
            _ => (Category::Permanent, None),
        };
        let error = CategorisedError::new(category, self);
        Error::failed(match retry_after {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        })
    }
}
