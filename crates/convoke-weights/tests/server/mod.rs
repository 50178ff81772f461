//! A file server for tests that can misbehave, and records its requests.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of it")]

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use tokio::task::AbortHandle;

/// A file the server has.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    content: Vec<u8>,
    kind: &'static str,
    ranges: bool,
    tag: Option<&'static str>,
    /// Where it is to be had instead.
    elsewhere: Option<String>,
    /// What the first requests get instead, in order.
    first: Vec<Fault>,
}

/// What can go wrong with one request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The connection breaks after so many bytes.
    Cut(usize),
    /// Nothing more comes after so many bytes.
    Hang(usize),
    /// The server refuses.
    Status(u16),
}

impl Served {
    pub(crate) fn new(content: impl Into<Vec<u8>>) -> Self {
        Self {
            content: content.into(),
            kind: "application/octet-stream",
            ranges: true,
            tag: None,
            elsewhere: None,
            first: Vec::new(),
        }
    }

    /// It is not here but at this address.
    pub(crate) fn elsewhere(address: impl Into<String>) -> Self {
        Self { elsewhere: Some(address.into()), ..Self::new("") }
    }

    pub(crate) fn kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    /// It is always sent from its beginning.
    pub(crate) fn without_ranges(mut self) -> Self {
        self.ranges = false;
        self
    }

    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.tag = Some(tag);
        self
    }

    pub(crate) fn first(mut self, fault: Fault) -> Self {
        self.first.push(fault);
        self
    }
}

/// A request for a file: its path and the range that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) range: Option<String>,
    pub(crate) authorization: Option<String>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<HashMap<String, Served>>,
    asked: Mutex<Vec<ReceivedRequest>>,
}

/// The server, which ends with the value.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }).abort_handle();
        Self { url, shared, task }
    }

    /// Puts a file there, or another in its place.
    pub(crate) fn put(&self, path: &str, file: Served) {
        self.shared.files.lock().unwrap().insert(path.to_owned(), file);
    }

    /// Everything it was asked so far.
    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The ranges that were asked of this file.
    pub(crate) fn ranges(&self, path: &str) -> Vec<Option<String>> {
        self.asked().into_iter().filter(|asked| asked.path == path).map(|asked| asked.range).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let path = request.uri().path().to_owned();
    let asked = ReceivedRequest {
        path: path.clone(),
        range: header("range"),
        authorization: header("authorization"),
    };
    let condition = header("if-range");
    shared.asked.lock().unwrap().push(asked.clone());
    let (file, fault) = {
        let mut files = shared.files.lock().unwrap();
        let Some(file) = files.get_mut(&path) else {
            return Response::builder().status(404).body(Body::empty()).unwrap();
        };
        let fault = if file.first.is_empty() { None } else { Some(file.first.remove(0)) };
        (file.clone(), fault)
    };
    if let Some(Fault::Status(status)) = fault {
        return Response::builder().status(status).header("retry-after", "0").body(Body::empty()).unwrap();
    }
    if let Some(address) = file.elsewhere {
        return Response::builder().status(302).header("location", address).body(Body::empty()).unwrap();
    }
    let fits = condition.is_none_or(|tag| Some(tag.as_str()) == file.tag);
    let start = asked.range.filter(|_| file.ranges && fits).map(|range| {
        range
            .strip_prefix("bytes=")
            .and_then(|range| range.strip_suffix('-'))
            .unwrap()
            .parse::<usize>()
            .unwrap()
    });
    if start.is_some_and(|start| start >= file.content.len()) {
        return Response::builder().status(416).body(Body::empty()).unwrap();
    }
    let rest = file.content[start.unwrap_or_default()..].to_vec();
    let mut response =
        Response::builder().header("content-type", file.kind).header("content-length", rest.len());
    if let Some(tag) = file.tag {
        response = response.header("etag", tag);
    }
    if let Some(start) = start {
        let whole = file.content.len();
        response =
            response.status(206).header("content-range", format!("bytes {start}-{}/{whole}", whole - 1));
    }
    response.body(body(rest, fault)).unwrap()
}

fn body(content: Vec<u8>, fault: Option<Fault>) -> Body {
    type Piece = Result<Bytes, std::io::Error>;
    let until = match fault {
        Some(Fault::Cut(bytes) | Fault::Hang(bytes)) => bytes,
        _ => content.len(),
    };
    let pieces: Vec<Piece> =
        content[..until].chunks(1000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    // What was sent must have left before the connection breaks.
    let pieces = stream::iter(pieces).then(async |piece| {
        tokio::task::yield_now().await;
        piece
    });
    match fault {
        Some(Fault::Cut(_)) => Body::from_stream(pieces.chain(stream::once(async {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            Err(std::io::Error::other("the server hangs up"))
        }))),
        Some(Fault::Hang(_)) => Body::from_stream(pieces.chain(stream::pending())),
        _ => Body::from_stream(pieces),
    }
}

/// Bytes that look like a model and like nothing else.
pub(crate) fn model(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let noise = std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((state >> 24) as u8)
    });
    b"GGUF".iter().copied().chain(noise).take(length).collect()
}

/// A wheel with these members, packed.
pub(crate) fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for (name, content) in members {
        let file = archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(content).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}
