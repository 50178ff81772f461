//! Tests of exporters: those of others in place of ours, and OTLP.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use common::work::{fan_out, model, notes};
use convoke_core::{RunStatus, Runtime};
use convoke_telemetry::{Headers, Telemetry, TelemetryConfig};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SpanData, SpanExporter};
use prost::Message;

async fn run(telemetry: &Telemetry) {
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let outcome = runtime.start(&fan_out(), notes()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
}

#[tokio::test]
async fn spans_go_to_the_exporter_of_a_host_program() {
    let exporter = InMemorySpanExporter::default();
    let config = TelemetryConfig { service_name: "weaver".to_owned(), ..TelemetryConfig::default() };
    let telemetry = Telemetry::with_exporter(&config, Keeping(exporter.clone())).unwrap();
    run(&telemetry).await;
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.dropped, 0);
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len() as u64, delivery.delivered);
    let roots = spans.iter().filter(|span| span.parent_span_id == opentelemetry::SpanId::INVALID);
    assert_eq!(roots.count(), 1);
    for span in &spans {
        assert_eq!(span.instrumentation_scope.name(), "convoke");
        assert_eq!(span.span_context.trace_id(), spans[0].span_context.trace_id());
    }
}

/// The SDK's own forgets everything when it is shut down.
#[derive(Debug)]
struct Keeping(InMemorySpanExporter);

impl SpanExporter for Keeping {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.export(batch).await
    }

    fn set_resource(&mut self, resource: &Resource) {
        let name = resource.get(&opentelemetry::Key::from("service.name")).unwrap();
        assert_eq!(name.as_str(), "weaver");
        self.0.set_resource(resource);
    }
}

#[derive(Debug)]
struct Hanging;

impl SpanExporter for Hanging {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        loop {
            std::thread::park();
        }
    }
}

#[derive(Debug)]
struct Panicking;

impl SpanExporter for Panicking {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        panic!("an exporter of somebody else's");
    }
}

#[tokio::test]
async fn an_exporter_that_hangs_or_panics_holds_up_nobody_and_what_it_has_is_counted() {
    let config =
        TelemetryConfig { shutdown_timeout: Duration::from_millis(200), ..TelemetryConfig::default() };
    let hanging = Telemetry::with_exporter(&config, Hanging).unwrap();
    let panicking = Telemetry::with_exporter(&config, Panicking).unwrap();
    for telemetry in [hanging, panicking] {
        run(&telemetry).await;
        let begun = Instant::now();
        let delivery = telemetry.shutdown_async().await;
        // Far more than it may take.
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(delivery.delivered, 0);
        assert!(delivery.dropped > 20, "{delivery:?}");
    }
}

#[tokio::test]
async fn nothing_is_exported_where_telemetry_is_off() {
    for config in [
        TelemetryConfig { enabled: false, ..TelemetryConfig::default() },
        TelemetryConfig { traces: false, ..TelemetryConfig::default() },
    ] {
        assert!(!Telemetry::with_exporter(&config, Hanging).unwrap().is_on());
    }
}

/// What came, by its headers and bodies.
type Seen = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// A collector that answers the requests by their number.
async fn collector(
    answer: impl Fn(usize, &Bytes) -> Response + Clone + Send + Sync + 'static,
) -> (String, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let take = post(async move |headers: HeaderMap, body: Bytes| {
        let mut kept = kept.lock().unwrap();
        kept.push((headers, body.clone()));
        answer(kept.len(), &body)
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/v1/traces", take);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (format!("http://{address}"), seen)
}

fn to(url: String) -> TelemetryConfig {
    let shutdown_timeout = Duration::from_secs(60);
    TelemetryConfig { metrics: false, shutdown_timeout, ..TelemetryConfig::to(url) }
}

#[tokio::test]
async fn requests_are_compressed_if_wanted() {
    let (url, seen) = collector(|_, _| StatusCode::OK.into_response()).await;
    let config =
        to(url).with_variables(|name| (name == "OTEL_EXPORTER_OTLP_COMPRESSION").then(|| "gzip".to_owned()));
    let telemetry = Telemetry::start(&config.unwrap()).unwrap();
    run(&telemetry).await;
    let delivery = telemetry.shutdown_async().await;
    let mut spans = 0;
    for (headers, body) in &*seen.lock().unwrap() {
        assert_eq!(headers["content-encoding"], "gzip");
        assert_eq!(headers["content-type"], "application/x-protobuf");
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
        let request = ExportTraceServiceRequest::decode(&plain[..]).unwrap();
        spans += request.resource_spans[0].scope_spans[0].spans.len() as u64;
    }
    assert_eq!((spans, 0), (delivery.delivered, delivery.dropped));
    let unknown = TelemetryConfig::default()
        .with_variables(|name| (name == "OTEL_EXPORTER_OTLP_COMPRESSION").then(|| "zstd".to_owned()));
    assert_eq!(unknown.unwrap_err().name, "OTEL_EXPORTER_OTLP_COMPRESSION");
}

#[tokio::test]
async fn the_time_a_collector_asks_for_is_waited_in_seconds_and_as_a_date() {
    let dated = || httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3));
    let busy = |after: String| (StatusCode::TOO_MANY_REQUESTS, [("retry-after", after)]).into_response();
    let at = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&at);
    let (url, _) = collector(move |number, _| {
        times.lock().unwrap().push(Instant::now());
        match number {
            1 => busy("1".to_owned()),
            2 => busy(dated()),
            _ => StatusCode::OK.into_response(),
        }
    })
    .await;
    let telemetry = Telemetry::start(&to(url)).unwrap();
    run(&telemetry).await;
    assert_eq!(telemetry.shutdown_async().await.dropped, 0);
    let at = at.lock().unwrap();
    // A date has whole seconds, and is rounded down twice.
    assert!(
        at[1] - at[0] >= Duration::from_secs(1) && at[2] - at[1] >= Duration::from_millis(1_900),
        "{at:?}"
    );
}

#[tokio::test]
async fn spans_that_a_collector_rejects_are_counted_as_dropped() {
    let (url, _) = collector(|_, _| {
        let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: "too old".to_owned() };
        ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec().into_response()
    })
    .await;
    let telemetry =
        Telemetry::start(&TelemetryConfig { batch_delay: Duration::from_secs(60), ..to(url) }).unwrap();
    run(&telemetry).await;
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.dropped, 3);
    assert!(delivery.delivered > 20, "{delivery:?}");
}

/// In a process of its own, for its environment.
#[tokio::test]
async fn a_collector_on_this_machine_is_not_behind_a_proxy_and_gets_no_headers_but_ours() {
    const HERE: &str = "CONVOKE_TEST_EXPORTER_CHILD";
    if std::env::var_os(HERE).is_none() {
        let name = "a_collector_on_this_machine_is_not_behind_a_proxy_and_gets_no_headers_but_ours";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .envs([(HERE, "1"), ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hush-hush")])
            .envs(["http_proxy", "HTTP_PROXY", "all_proxy"].map(|name| (name, "http://127.0.0.1:1")))
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        return;
    }
    let (url, seen) = collector(|_, _| StatusCode::OK.into_response()).await;
    let headers = Headers::from_iter([("x-ours", "1")]);
    let config = TelemetryConfig { headers, retry_for: Duration::ZERO, ..to(url) };
    let telemetry = Telemetry::start(&config).unwrap();
    run(&telemetry).await;
    assert_eq!(telemetry.shutdown_async().await.dropped, 0);
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty());
    assert!(
        seen.iter().all(|(headers, _)| headers["x-ours"] == "1" && !headers.contains_key("authorization"))
    );
}
