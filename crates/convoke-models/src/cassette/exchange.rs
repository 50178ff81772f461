//! A recorded exchange: a request and its reply.

use convoke_http::address::shown_query;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;

use super::redaction::Redactor;
use crate::http::{HttpRequest, TransportError, TransportFailure};

/// A request and its reply.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) request: RecordedRequest,
    pub(super) reply: RecordedReply,
}

/// A request without its secrets.
#[derive(Debug, Clone)]
pub(super) struct RecordedRequest {
    pub(super) method: Method,
    /// `https://host:port`, for people to read.
    pub(super) place: String,
    /// Path and query, by which requests are told apart.
    pub(super) path: String,
    pub(super) body: RequestBody,
}

/// A request's body. A body that is no JSON is rare enough to be kept as one piece.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestBody {
    Empty,
    Json(Value),
    Text(String),
    Bytes(Vec<u8>),
}

/// A reply without its secrets.
#[derive(Debug, Clone)]
pub(super) struct RecordedReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: ReplyBody,
    pub(super) ending: BodyEnding,
}

/// A reply's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplyBody {
    Empty,
    /// Server-sent events.
    Events(Vec<Event>),
    /// A value per line.
    Lines(Vec<Event>),
    /// One JSON document, as its text without blanks: numbers and the order of keys stay as they were.
    Document(String),
    Text(String),
    Bytes(Vec<u8>),
}

/// An event or line of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: EventData,
    /// It came in the same piece as the one before.
    pub(super) joined: bool,
}

/// The data of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventData {
    /// JSON on one line, exactly as it came.
    Json(String),
    Text(String),
}

impl EventData {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

/// The end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnding {
    Whole,
    /// The connection broke.
    Cut,
    /// Whoever read it stopped.
    Dropped,
}

impl RecordedRequest {
    /// What is kept of a request.
    ///
    /// # Errors
    /// [`TransportFailure::Invalid`] if its address is none.
    pub(super) fn of(request: &HttpRequest, redactor: &Redactor) -> Result<Self, TransportError> {
        // The address is not shown: it may carry a password.
        let invalid = || TransportError::new(TransportFailure::Invalid, "the request's address is not valid");
        let uri: Uri = request.url.parse().map_err(|_| invalid())?;
        let scheme = uri.scheme_str().ok_or_else(invalid)?;
        let host = uri.host().ok_or_else(invalid)?;
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let query = uri.query().map(|query| format!("?{}", shown_query(query))).unwrap_or_default();
        Ok(Self {
            method: request.method.clone(),
            place: format!("{scheme}://{host}{port}"),
            path: redactor.text(&format!("{}{query}", uri.path())),
            body: RequestBody::of(&request.body, redactor),
        })
    }

    /// Whether they are the same request.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.method == other.method && self.path == other.path && self.body == other.body
    }
}

impl RequestBody {
    fn of(bytes: &[u8], redactor: &Redactor) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        if let Ok(mut value) = serde_json::from_slice::<Value>(bytes) {
            redactor.value(&mut value);
            return Self::Json(value);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(redactor.text(text)),
            Err(_) => Self::Bytes(redactor.bytes(bytes)),
        }
    }
}
