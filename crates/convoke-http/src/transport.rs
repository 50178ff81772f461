//! The `Transport` trait, HTTP requests and replies.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use convoke_core::{BoxFuture, Reality};
use futures_util::Stream;
use http::{HeaderMap, Method, StatusCode};

use crate::TransportError;

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
