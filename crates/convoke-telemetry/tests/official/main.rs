//! Reads what we send with the protocol's official classes.
//!
//! `scripts/counterparts` installs them and says where; this test looks for them in `CONVOKE_COUNTERPARTS` and is passed
//! over without, so that `cargo test` alone needs no other language. `scripts/test` always has them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test fails by panicking, its helpers too")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::work::{fan_out, model, notes};
use convoke_core::Runtime;
use convoke_telemetry::{Telemetry, TelemetryConfig};
use serde_json::Value;

const PLACE: &str = "CONVOKE_COUNTERPARTS";

#[tokio::test]
async fn a_fan_out_arrives_whole_and_nested_at_the_official_classes_that_refuse_at_first() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else {
        // Said loudly: a test that was passed over must not look like one that passed.
        let _ = writeln!(std::io::stderr(), "passed over: {PLACE} is not set (see scripts/counterparts)");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/official/sink.py");
    let mut sink = Command::new(place.join("python/bin/python"))
        .args([script.as_os_str(), "2".as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(sink.stdout.take().unwrap()).lines();
    let port = lines.next().unwrap().unwrap();

    let config = TelemetryConfig {
        shutdown_timeout: Duration::from_secs(60),
        ..TelemetryConfig::to(format!("http://127.0.0.1:{port}"))
    };
    let telemetry = Telemetry::start(&config).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let _ = runtime.start(&fan_out(), notes()).await.unwrap();
    let delivery = telemetry.shutdown_async().await;
    assert_eq!(delivery.dropped, 0);
    drop(sink.stdin.take());
    let items: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(sink.wait().unwrap().success());

    let spans: HashMap<&str, &Value> =
        items.iter().filter_map(|item| Some((item["span"].as_str()?, item))).collect();
    assert_eq!(spans.len() as u64, delivery.delivered);
    let roots: Vec<_> = spans.values().filter(|span| span["parent"] == "").collect();
    assert_eq!(roots.len(), 1);
    assert_eq!(roots[0]["name"], "invoke_workflow research");
    for span in spans.values().filter(|span| span["parent"] != "") {
        assert!(spans.contains_key(span["parent"].as_str().unwrap()), "{span}");
        assert_eq!(span["trace"], roots[0]["trace"]);
    }
    let names = |name: &str| spans.values().filter(|span| span["name"] == name).count();
    assert_eq!(
        (names("chat claude-test"), names("execute_tool search"), names("invoke_agent inner")),
        (7, 4, 1)
    );
    let metrics: BTreeSet<_> =
        items.iter().filter_map(|item| Some((item["metric"].as_str()?, item["kind"].as_str()?))).collect();
    for metric in [
        ("gen_ai.client.operation.duration", "histogram"),
        ("gen_ai.client.token.usage", "histogram"),
        ("convoke.runs", "sum"),
        ("convoke.cost", "sum"),
    ] {
        assert!(metrics.contains(&metric), "{metric:?} {metrics:?}");
    }
}
