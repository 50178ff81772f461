//! Errors of fetching a page.

use std::time::Duration;

use convoke_core::{CategorisedError, Category, Error};
use reqwest::StatusCode;
use url::Url;

use super::ForbiddenAddress;

/// Errors of reading a page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// It has no address one could go to.
    #[error(
        "`{address}` is not the address of a page: {problem}; give one that begins with https:// or http://"
    )]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The address carries a user's name or password.
    #[error("denied: the address of a page on {host} carries a user name or password; leave it out")]
    Credentials {
        /// Where it would have gone.
        host: String,
    },
    /// The port is none that pages are on.
    #[error("denied: {url} is on port {port}; pages are read from ports {allowed} only")]
    Port {
        /// The page.
        url: Box<Url>,
        /// Its port.
        port: u16,
        /// The ports that are allowed.
        allowed: String,
    },
    /// The domain is not allowed.
    #[error("denied: {host} is not among the domains that pages may be read from")]
    NotAllowed {
        /// The host.
        host: String,
    },
    /// Whoever decides about hops has refused this one.
    #[error("denied: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The address is not public.
    #[error("denied: {host}: {why}")]
    Forbidden {
        /// The host whose address it is.
        host: String,
        /// What it is.
        why: ForbiddenAddress,
    },
    /// A pattern of domains is none.
    #[error("`{pattern}` is not a domain; write `example.org`, or `*.example.org` for all below it too")]
    Domain {
        /// What was written.
        pattern: String,
    },
    /// A page sent elsewhere, and that went wrong.
    #[error("{from} redirects to {to}: {error}")]
    Redirected {
        /// The page that sent elsewhere.
        from: Box<Url>,
        /// Where to.
        to: String,
        /// What was wrong there.
        error: Box<WebError>,
    },
    /// Redirects do not end.
    #[error("{url} redirects more than {most} times")]
    TooManyRedirects {
        /// The page at first.
        url: Box<Url>,
        /// How many are followed.
        most: usize,
    },
    /// The host cannot be reached, or broke off.
    #[error("{host}: {problem}")]
    Connection {
        /// The host.
        host: String,
        /// What happened.
        problem: String,
    },
    /// It took too long.
    #[error("{url} was not read within {} seconds", limit.as_secs_f32())]
    TimedOut {
        /// The page.
        url: Box<Url>,
        /// The limit.
        limit: Duration,
    },
    /// The server says no.
    #[error("{url} answered {status}{}{}", wait(*retry_after), after_colon(text))]
    Status {
        /// The page.
        url: Box<Url>,
        /// The status.
        status: StatusCode,
        /// How long to wait before trying again.
        retry_after: Option<Duration>,
        /// The beginning of what it says about it.
        text: String,
    },
    /// It is too long.
    #[error("{url} is longer than {limit} bytes, which is the most that is read")]
    TooLong {
        /// The page.
        url: Box<Url>,
        /// The limit.
        limit: usize,
    },
    /// It is packed in a way that nobody asked for, or badly.
    #[error("{url} cannot be unpacked: {problem}")]
    Packed {
        /// The page.
        url: Box<Url>,
        /// What is wrong.
        problem: String,
    },
    /// It is not text.
    #[error("{url} is not text: {kind}{}; it cannot be shown", bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default())]
    NotText {
        /// The page.
        url: Box<Url>,
        /// What it is.
        kind: String,
        /// How long it is, if known.
        bytes: Option<u64>,
    },
    /// Nobody waits for it any more.
    #[error("reading the page was given up")]
    GivenUp,
    /// There is no client: the machine has no way to check certificates, for example.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
}

fn wait(retry_after: Option<Duration>) -> String {
    retry_after.map(|wait| format!("; try again in {} seconds", wait.as_secs())).unwrap_or_default()
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl WebError {
    /// As the kernel takes it: with its category.
    pub(super) fn into_error(self) -> Error {
        let (category, retry_after) = match self.root() {
            Self::Connection { .. } | Self::TimedOut { .. } => (Category::Transient, None),
            Self::Status { status, retry_after, .. } => (Category::of_status(status.as_u16()), *retry_after),
            Self::Address { .. } => (Category::UserInput, None),
            _ => (Category::Permanent, None),
        };
        let error = CategorisedError::new(category, self);
        Error::failed(match retry_after {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        })
    }

    fn root(&self) -> &Self {
        match self {
            Self::Redirected { error, .. } => error.root(),
            own => own,
        }
    }
}
