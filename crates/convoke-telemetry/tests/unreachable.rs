//! Nobody listens at the collector's address.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::Collector;
use common::work::{fan_out, model, notes};
use convoke_core::{RunStatus, Runtime};
use convoke_telemetry::logging::{self, LogConfig, LogOutput};
use convoke_telemetry::{Telemetry, TelemetryConfig};

#[tokio::test]
async fn without_a_collector_the_end_waits_no_longer_than_it_may_and_says_so_once() {
    let mut collector = Collector::start();
    let config = TelemetryConfig { shutdown_timeout: Duration::from_millis(300), ..collector.config() };
    collector.die();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let log = LogConfig { output: LogOutput::File(file.clone()), ..LogConfig::at("info") };
    // For all threads: the courier has one of its own. So this test has a process of its own.
    logging::init(&log).unwrap();
    assert!(matches!(logging::init(&log), Err(logging::LogError::Twice)));

    let telemetry = Telemetry::start(&config).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let outcome = runtime.start(&fan_out(), notes()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let begun = std::time::Instant::now();
    let delivery = telemetry.shutdown_async().await;
    // Far more than it may take, and far less than it would try.
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(delivery.delivered, 0);
    assert!(delivery.dropped > 20, "{delivery:?}");
    let log = std::fs::read_to_string(file).unwrap();
    let own = log.lines().filter(|line| line.contains("cannot be reached")).count();
    assert_eq!(own, 1, "{log}");
    assert!(log.contains(&format!("dropped={}", delivery.dropped)), "{log}");
}
