//! Tests with a collector that is slow, refuses, or dies: runs do not notice, and losses are counted and logged once.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use axum::http::StatusCode;
use common::Collector;
use common::work::{fan_out, model, notes};
use convoke_core::{RunStatus, Runtime};
use convoke_telemetry::{Headers, Telemetry, TelemetryConfig, TelemetryError};

async fn run(telemetry: &Telemetry) {
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let outcome = runtime.start(&fan_out(), notes()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_slow_collector_holds_up_no_run_and_gets_everything() {
    let collector = Collector::start();
    collector.set_open(false);
    let telemetry = Telemetry::start(&TelemetryConfig { batch_size: 4, ..collector.config() }).unwrap();
    run(&telemetry).await;
    // The collector has the first request, and sits on it.
    collector.requests(1).await;
    assert!(collector.spans().0.is_empty());
    run(&telemetry).await;
    collector.set_open(true);
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.dropped, 0);
    let spans = collector.spans();
    assert_eq!(spans.0.len() as u64, delivery.delivered);
    let root = &spans.0.iter().find(|span| span.parent_span_id.is_empty()).unwrap().trace_id;
    let (one, other): (Vec<_>, Vec<_>) = spans.0.iter().cloned().partition(|span| span.trace_id == *root);
    assert_eq!(one.len(), other.len());
    common::Spans(one).assert_one_tree();
    common::Spans(other).assert_one_tree();
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_until_it_has_everything() {
    let collector = Collector::start();
    collector.refuse([
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
    ]);
    let telemetry = Telemetry::start(&TelemetryConfig { metrics: false, ..collector.config() }).unwrap();
    run(&telemetry).await;
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.dropped, 0);
    collector.spans().assert_one_tree();
    assert!(collector.request_count() >= 4);
}

#[tokio::test]
async fn what_the_collector_refuses_for_good_is_dropped_and_counted() {
    let collector = Collector::start();
    collector.refuse([StatusCode::INTERNAL_SERVER_ERROR; 100]);
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    run(&telemetry).await;
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.delivered, 0);
    assert!(delivery.dropped > 20, "{delivery:?}");
}

#[tokio::test]
async fn a_collector_that_dies_and_comes_back_gets_what_it_missed() {
    let mut first = Collector::start();
    let telemetry = Telemetry::start(&TelemetryConfig { metrics: false, ..first.config() }).unwrap();
    run(&telemetry).await;
    let address = first.address;
    first.requests(1).await;
    first.die();
    let before = first.spans();
    run(&telemetry).await;
    let second = Collector::at(address);
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.dropped, 0);
    let mut all = before.0;
    all.extend(second.spans().0);
    // What was under way when it died may have come twice.
    all.sort_by(|one, other| one.span_id.cmp(&other.span_id));
    all.dedup_by(|one, other| one.span_id == other.span_id);
    assert_eq!(all.len() as u64, delivery.delivered);
    let root = all[0].trace_id.clone();
    let (one, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|span| span.trace_id == root);
    common::Spans(one).assert_one_tree();
    common::Spans(other).assert_one_tree();
}

#[tokio::test]
async fn more_than_can_wait_is_dropped_and_counted() {
    let collector = Collector::start();
    collector.set_open(false);
    let config = TelemetryConfig { queue_size: 3, batch_size: 1, metrics: false, ..collector.config() };
    let telemetry = Telemetry::start(&config).unwrap();
    run(&telemetry).await;
    assert!(telemetry.delivery().dropped > 10);
    collector.set_open(true);
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(collector.spans().0.len() as u64, delivery.delivered);
    assert!(delivery.delivered >= 3);
}

#[tokio::test]
async fn headers_are_sent_and_never_shown() {
    let collector = Collector::start();
    let headers = Headers::from_iter([("authorization", "Bearer hush-hush")]);
    let config = TelemetryConfig { headers, ..collector.config() };
    assert!(!format!("{config:?}").contains("hush-hush"));
    let telemetry = Telemetry::start(&config).unwrap();
    assert!(!format!("{telemetry:?}").contains("hush-hush"));
    run(&telemetry).await;
    telemetry.shutdown_async().await;
    let sent = collector.headers();
    assert!(!sent.is_empty() && sent.iter().all(|headers| headers["authorization"] == "Bearer hush-hush"));

    let headers = Headers::from_iter([("authorization", "Bearer\nhush-hush")]);
    let error = Telemetry::start(&TelemetryConfig { headers, ..collector.config() }).unwrap_err();
    assert!(matches!(error, TelemetryError::Header { .. }));
    assert!(!format!("{error} {error:?}").contains("hush-hush"));
}

#[test]
fn an_address_that_is_none_is_refused_without_showing_what_is_in_it() {
    for address in ["grpc://user:hush-hush@collector:4317", "collector hush-hush"] {
        let error = Telemetry::start(&TelemetryConfig::to(address)).unwrap_err();
        assert!(matches!(error, TelemetryError::Address { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("hush-hush"), "{error}");
    }
}

#[test]
fn blocking_code_may_end_it_too() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&telemetry));
    assert_eq!(telemetry.shutdown().dropped, 0);
    assert_eq!(telemetry.shutdown().dropped, 0, "a second time does nothing");
    collector.spans().assert_one_tree();
}
