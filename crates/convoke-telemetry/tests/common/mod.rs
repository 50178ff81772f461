//! A collector for tests, on a thread of its own, that can be slow, refuse, and die.
#![allow(dead_code, unreachable_pub, reason = "each test file uses what it needs")]

pub mod work;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use convoke_telemetry::TelemetryConfig;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpSocket;
use tokio::sync::{oneshot, watch};

/// What the collector was given, and how it answers.
#[derive(Default)]
struct Desk {
    spans: Vec<Span>,
    metrics: Vec<Metric>,
    bodies: Vec<u8>,
    headers: Vec<HeaderMap>,
    resources: Vec<KeyValue>,
    /// Answers to give before any other, instead of taking what comes.
    refusals: Vec<StatusCode>,
    requests: usize,
}

#[derive(Clone)]
struct Shared {
    desk: Arc<Mutex<Desk>>,
    open: watch::Receiver<bool>,
    seen: watch::Sender<usize>,
}

pub struct Collector {
    pub address: SocketAddr,
    /// Bound to the address and never listening: nobody else gets it after the collector died.
    _reserved: TcpSocket,
    shared: Shared,
    gate: watch::Sender<bool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    pub fn start() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap())
    }

    pub fn at(address: SocketAddr) -> Self {
        let reserved = TcpSocket::new_v4().unwrap();
        reserved.set_reuseaddr(true).unwrap();
        reserved.bind(address).unwrap();
        let address = reserved.local_addr().unwrap();
        let (gate, open) = watch::channel(true);
        let (seen, _) = watch::channel(0);
        let shared = Shared { desk: Arc::default(), open, seen };
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let state = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind(address).await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let app = Router::new().route("/v1/{signal}", post(take)).with_state(state);
                tokio::select! {
                    served = axum::serve(listener, app) => served.unwrap(),
                    _ = stopped => {}
                }
            });
            // Whatever is connected is cut off here, as when a process dies.
            runtime.shutdown_timeout(Duration::ZERO);
        });
        let address = told.recv().unwrap();
        Self { address, _reserved: reserved, shared, gate, stop: Some(stop), thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends here, at once, and is patient at the end.
    pub fn config(&self) -> TelemetryConfig {
        TelemetryConfig {
            batch_delay: Duration::from_millis(1),
            metrics_interval: Duration::from_secs(3600),
            timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(60),
            ..TelemetryConfig::to(self.url())
        }
    }

    /// Lets requests wait, or go on.
    pub fn set_open(&self, open: bool) {
        self.gate.send_replace(open);
    }

    /// Answers the next requests like this.
    pub fn refuse(&self, statuses: impl IntoIterator<Item = StatusCode>) {
        self.shared.desk.lock().unwrap().refusals.extend(statuses);
    }

    /// Waits until so many requests have come.
    pub async fn requests(&self, count: usize) {
        self.shared.seen.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    pub fn request_count(&self) -> usize {
        self.shared.desk.lock().unwrap().requests
    }

    pub fn die(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub fn spans(&self) -> Spans {
        Spans(self.shared.desk.lock().unwrap().spans.clone())
    }

    pub fn metrics(&self) -> BTreeMap<String, Metric> {
        let desk = self.shared.desk.lock().unwrap();
        desk.metrics.iter().map(|metric| (metric.name.clone(), metric.clone())).collect()
    }

    pub fn resource(&self) -> HashMap<String, String> {
        self.shared
            .desk
            .lock()
            .unwrap()
            .resources
            .iter()
            .map(|pair| (pair.key.clone(), shown(pair)))
            .collect()
    }

    pub fn headers(&self) -> Vec<HeaderMap> {
        self.shared.desk.lock().unwrap().headers.clone()
    }

    /// Whether a text is anywhere in what came.
    pub fn has_seen(&self, text: &str) -> bool {
        let desk = self.shared.desk.lock().unwrap();
        desk.bodies.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.die();
    }
}

async fn take(
    State(shared): State<Shared>,
    Path(signal): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    {
        let mut desk = shared.desk.lock().unwrap();
        desk.requests += 1;
        desk.headers.push(headers);
        shared.seen.send_modify(|seen| *seen += 1);
        if !desk.refusals.is_empty() {
            return desk.refusals.remove(0);
        }
    }
    shared.open.clone().wait_for(|open| *open).await.unwrap();
    let mut desk = shared.desk.lock().unwrap();
    desk.bodies.extend_from_slice(&body);
    match signal.as_str() {
        "traces" => {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            for group in request.resource_spans {
                desk.resources = group.resource.unwrap().attributes;
                desk.spans.extend(group.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        "metrics" => {
            let request = ExportMetricsServiceRequest::decode(body).unwrap();
            let groups = request.resource_metrics.into_iter().flat_map(|group| group.scope_metrics);
            desk.metrics.extend(groups.flat_map(|scope| scope.metrics));
        }
        _ => return StatusCode::NOT_FOUND,
    }
    StatusCode::OK
}

pub fn shown(pair: &KeyValue) -> String {
    match pair.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(value)) => value.to_string(),
        Some(Value::IntValue(value)) => value.to_string(),
        Some(Value::DoubleValue(value)) => value.to_string(),
        Some(Value::ArrayValue(array)) => {
            let values = array.values.iter().map(|value| match &value.value {
                Some(Value::StringValue(text)) => text.clone(),
                other => format!("{other:?}"),
            });
            values.collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

/// Spans that came, with questions about them.
#[derive(Debug, Clone)]
pub struct Spans(pub Vec<Span>);

impl Spans {
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.iter().map(|span| span.name.as_str()).collect();
        names.sort_unstable();
        names
    }

    #[track_caller]
    pub fn named(&self, name: &str) -> &Span {
        let found = self.0.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no span `{name}` among {:?}", self.names()))
    }

    pub fn all_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Span> {
        self.0.iter().filter(move |span| span.name == name)
    }

    /// The names from the outermost span down to this one.
    pub fn lineage(&self, span: &Span) -> Vec<&str> {
        let mut names = Vec::new();
        let mut next = self.0.iter().find(|other| other.span_id == span.span_id);
        while let Some(current) = next {
            names.push(current.name.as_str());
            next = self.0.iter().find(|other| other.span_id == current.parent_span_id);
        }
        names.reverse();
        names
    }

    /// Insists that this is one whole tree: one root, everybody's parent is there, nobody outlives their parent.
    #[track_caller]
    pub fn assert_one_tree(&self) {
        let mut ids: Vec<_> = self.0.iter().map(|span| &span.span_id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), self.0.len(), "ids are unique: {:?}", self.names());
        let roots: Vec<_> = self.0.iter().filter(|span| span.parent_span_id.is_empty()).collect();
        assert_eq!(roots.len(), 1, "{:?}", self.names());
        for span in &self.0 {
            assert_eq!(span.trace_id, roots[0].trace_id);
            assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
            if span.parent_span_id.is_empty() {
                continue;
            }
            let parent = self.0.iter().find(|parent| parent.span_id == span.parent_span_id);
            let parent = parent.unwrap_or_else(|| panic!("the parent of `{}` is missing", span.name));
            let is_within = parent.start_time_unix_nano <= span.start_time_unix_nano
                && span.end_time_unix_nano <= parent.end_time_unix_nano;
            assert!(is_within, "`{}` is not within `{}`", span.name, parent.name);
        }
    }
}

/// An attribute of a span, as text.
pub fn attribute(span: &Span, key: &str) -> Option<String> {
    span.attributes.iter().find(|pair| pair.key == key).map(shown)
}

pub fn is_error(span: &Span) -> bool {
    span.status.as_ref().is_some_and(|status| status.code == 2)
}
