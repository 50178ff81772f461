//! A scripted HTTP server for tests, which records its requests.

#![allow(dead_code, reason = "each program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use convoke_core::{
    BoxFuture, CallContext, IdempotencyKey, Model, ModelError, ModelReply, ModelRequest, Path, ReplyBuilder,
    ReplyDelta, RunId,
};
use convoke_models::Transport;
use convoke_models::http::{HttpReply, HttpRequest, TransportError};
use convoke_models::provider::TimeLimits;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use tokio::task::AbortHandle;

/// What the server was asked.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// Limits that are noticed soon if nothing comes at all, and never once something came: however busy the machine is, it
/// is clear which of the two ends a wait.
pub(crate) const SOON_SILENT: TimeLimits =
    TimeLimits { first_token: Duration::from_millis(300), idle: Duration::from_hours(1) };

/// Limits that are noticed soon once something came, and never before.
pub(crate) const SOON_STALLED: TimeLimits =
    TimeLimits { first_token: Duration::from_hours(1), idle: Duration::from_millis(300) };

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    /// Sent one after the other, each in a piece of its own.
    pieces: Vec<Bytes>,
    ending: Ending,
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    /// The body ends as it should.
    Whole,
    /// The connection breaks in the middle of the body.
    Cut,
    /// Nothing more comes, for ever.
    Hang,
}

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self::new(status, "application/json", vec![body.to_string()])
    }

    /// Server-sent events without names; `[DONE]` is for the caller to add.
    pub(crate) fn events<T: ToString>(data: impl IntoIterator<Item = T>) -> Self {
        let frame = |data: T| format!("data: {}\n\n", data.to_string());
        Self::new(200, "text/event-stream", data.into_iter().map(frame).collect())
    }

    /// Server-sent events, each with the name its `type` has.
    pub(crate) fn typed_events(data: impl IntoIterator<Item = Value>) -> Self {
        let frame =
            |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("?"));
        Self::new(200, "text/event-stream", data.into_iter().map(frame).collect())
    }

    /// JSON line by line.
    pub(crate) fn lines(data: impl IntoIterator<Item = Value>) -> Self {
        let frame = |data: Value| format!("{data}\n");
        Self::new(200, "application/x-ndjson", data.into_iter().map(frame).collect())
    }

    pub(crate) fn new(status: u16, content_type: &str, pieces: Vec<String>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let pieces = pieces.into_iter().map(Bytes::from).collect();
        Self { status, headers, pieces, ending: Ending::Whole }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// All pieces as one: nothing can come between them, however busy the machine is. Some of what follows an answer is
    /// waited for a short time only.
    pub(crate) fn at_once(mut self) -> Self {
        self.pieces = vec![self.pieces.concat().into()];
        self
    }

    /// After the pieces, the connection breaks.
    pub(crate) fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// After the pieces, nothing more comes. With no pieces, not even the status comes.
    pub(crate) fn hang(mut self) -> Self {
        self.ending = Ending::Hang;
        self
    }

    fn body(self) -> Body {
        type Piece = Result<Bytes, std::io::Error>;
        let pieces = stream::iter(self.pieces.into_iter().map(Piece::Ok));
        // A pause between pieces makes them arrive apart.
        let pieces = pieces.then(async |piece| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            piece
        });
        match self.ending {
            Ending::Whole => Body::from_stream(pieces),
            Ending::Cut => Body::from_stream(
                pieces.chain(stream::iter([Err(std::io::Error::other("the server hangs up"))])),
            ),
            Ending::Hang => Body::from_stream(pieces.chain(stream::pending())),
        }
    }
}

/// The same answer without a network: all its pieces are there already, and no wait between them can be too long.
impl Transport for Answer {
    fn send<'a>(&'a self, _: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        assert!(matches!(self.ending, Ending::Whole), "breaks and silence need a network");
        let header = |(name, value): &(String, String)| {
            (HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap())
        };
        let reply = HttpReply {
            status: StatusCode::from_u16(self.status).unwrap(),
            headers: self.headers.iter().map(header).collect(),
            body: Box::pin(stream::iter(self.pieces.clone().into_iter().map(Ok))),
        };
        Box::pin(async { Ok(reply) })
    }
}

type Queue = Mutex<VecDeque<Answer>>;

struct Shared {
    answers: Queue,
    asked: Mutex<Vec<ReceivedRequest>>,
}

/// A server on this machine. It gives its answers in order, the last one again and again, and ends with the value.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Server {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let shared =
            Arc::new(Shared { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }).abort_handle();
        Self { url, shared, task }
    }

    /// Everything it was asked so far.
    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The last thing it was asked.
    pub(crate) fn last(&self) -> ReceivedRequest {
        self.asked().pop().expect("the server was asked nothing")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, Infallible> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    shared.asked.lock().unwrap().push(ReceivedRequest {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    let next = {
        let mut answers = shared.answers.lock().unwrap();
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    };
    let next = next.expect("the test gave the server no answers");
    if next.pieces.is_empty() && matches!(next.ending, Ending::Hang) {
        std::future::pending::<()>().await;
    }
    let mut response = Response::builder().status(next.status);
    for (name, value) in &next.headers {
        response = response.header(name, value);
    }
    Ok(response.body(next.body()).unwrap())
}

/// The pieces of a reply, up to its end or first error.
pub(crate) async fn pieces(model: &dyn Model, request: ModelRequest) -> Vec<Result<ReplyDelta, ModelError>> {
    model.reply(request, context()).collect().await
}

/// A whole reply.
pub(crate) async fn ask(model: &dyn Model, request: ModelRequest) -> Result<ModelReply, ModelError> {
    let mut builder = ReplyBuilder::new(model.name(), "m1");
    let mut stream = model.reply(request, context());
    while let Some(piece) = stream.next().await {
        builder.add(&piece?);
    }
    builder.finish()
}

/// A call that belongs to no run.
pub(crate) fn context() -> CallContext {
    let run = "test".parse::<RunId>().unwrap();
    CallContext { key: IdempotencyKey::derive(&run, &Path::from("test"), 0) }
}
