//! HTTP as providers need it: one request out, a status, headers and a stream of bytes back.
//!
//! **What it is for.** Everything that goes over the wire goes through a [`Transport`]: the real one
//! ([`HttpTransport`]), and the ones that record traffic or play it back. So a cassette sees exactly what a provider
//! sees.
//!
//! **What it must never do.** Know a provider; try again; show a secret. Headers that carry secrets are marked as
//! sensitive and never printed or recorded.

mod client;
mod error;
mod frames;
mod key;
mod secrets;

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use convoke_core::{BoxFuture, Reality};
use futures_util::Stream;
use http::{HeaderMap, Method, StatusCode};

pub use client::HttpTransport;
pub use error::{TransportError, TransportFailure};
pub(crate) use frames::{Frame, Frames, Framing};
pub use key::ApiKey;
pub(crate) use secrets::{Secrets, shown_address, shown_query};

/// Sends requests.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends one request and waits for the head of the reply. Dropping the future or the reply's body abandons it.
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>>;

    /// Whether it reaches anybody.
    fn reality(&self) -> Reality {
        Reality::Live
    }
}

/// A request.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The whole address.
    pub url: String,
    /// The headers; what must not be shown is marked as sensitive.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may carry a password, and a body is long.
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("headers", &self.headers)
            .field("body bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The bytes of a body, as they come.
pub type Body = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// A reply whose body is still on its way.
pub struct HttpReply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

impl fmt::Debug for HttpReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpReply").field("status", &self.status).finish_non_exhaustive()
    }
}
