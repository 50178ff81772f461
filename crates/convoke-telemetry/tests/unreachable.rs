//! Tests with an unreachable collector.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::path::Path;
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
    // For all threads: the exporter has one of its own. So this test has a process of its own.
    logging::init(&log).unwrap();
    assert!(matches!(logging::init(&log), Err(logging::LogError::Twice)));

    // What is not tried again is lost, and said to be, while the run goes on; then more is lost at the end.
    let hasty = TelemetryConfig { retry_for: Duration::ZERO, ..config.clone() };
    let telemetry = Telemetry::start(&hasty).unwrap();
    run(&telemetry).await;
    let told = until(&file, |log| losses(log) > 0).await;
    assert!(told.contains("cannot be reached"), "{told}");
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.delivered, 0);
    assert!(delivery.dropped > 20, "{delivery:?}");
    let log = std::fs::read_to_string(&file).unwrap();
    assert_eq!(losses(&log), 1, "{log}");
    assert!(log.contains(&format!("dropped={}", delivery.dropped)), "{log}");

    // What is tried again is tried until the end, which does not wait for it.
    let telemetry = Telemetry::start(&config).unwrap();
    run(&telemetry).await;
    let begun = std::time::Instant::now();
    let delivery = telemetry.shutdown_async().await;
    // Far more than it may take, and far less than it would try.
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(delivery.delivered, 0);
    assert!(delivery.dropped > 20, "{delivery:?}");
    let log = std::fs::read_to_string(file).unwrap();
    assert_eq!(losses(&log), 2, "{log}");
    assert!(log.contains(&format!("dropped={}", delivery.dropped)), "{log}");
}

async fn run(telemetry: &Telemetry) {
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let outcome = runtime.start(&fan_out(), notes()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
}

/// How often a log says that something is lost.
fn losses(log: &str) -> usize {
    log.lines().filter(|line| line.contains("telemetry is being lost")).count()
}

/// The log once it is like this, which another thread sees to in its own time.
async fn until(file: &Path, is_so: impl Fn(&str) -> bool) -> String {
    for _ in 0..3_000 {
        let log = std::fs::read_to_string(file).unwrap_or_default();
        if is_so(&log) {
            return log;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing was said: {:?}", std::fs::read_to_string(file));
}
