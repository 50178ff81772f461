//! What it costs to be watched: the same agent with nobody watching, with telemetry that is off, with telemetry that is sent
//! to a collector on this machine, and with log lines that nobody wants.
//!
//! `cargo bench -p convoke-telemetry --bench telemetry`
#![allow(missing_docs, clippy::print_stdout)]

use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use convoke_agent::{Agent, FunctionTool};
use convoke_core::{Error, Runtime, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::AgentStep;
use convoke_telemetry::logging::RunLog;
use convoke_telemetry::{Telemetry, TelemetryConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Runs in a round; rounds take turns, so that whatever else the machine does hits all alike.
const RUNS: u32 = 500;
const ROUNDS: usize = 31;

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: u64,
}

/// An agent that calls a tool and answers: two calls of the model, one of the tool.
fn workflow() -> Workflow<String> {
    let tool = FunctionTool::new("add", "Adds one.", |number: Number| async move {
        Ok::<_, Error>(format!("{}", number.number + 1))
    });
    let agent = Agent::builder("agent").tool(tool).build().expect("a valid agent");
    let step = AgentStep::new("agent", agent, |question: &String| question.clone());
    Workflow::new(step.store(|state, result| *state = result.text()))
}

fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::has_tool_result(), "2")
        .otherwise(Reply::tool("add", json!({"number": 1})))
        .forget_requests()
        .build()
}

/// A collector that throws everything away.
fn collector() -> String {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
            let app = Router::new().route("/v1/{signal}", post(async |_: axum::body::Bytes| ""));
            axum::serve(listener, app).await.expect("it serves");
        });
    });
    format!("http://{}", told.recv().expect("it listens"))
}

fn main() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = TelemetryConfig { queue_size: 1 << 20, ..TelemetryConfig::to(collector()) };
    let on = Telemetry::start(&config).expect("it starts");
    let off = Telemetry::start(&TelemetryConfig::default()).expect("it starts");
    let unsampled = Telemetry::start(&TelemetryConfig { sample_ratio: 0.0, ..config }).expect("it starts");
    let watched = [
        ("nobody watches", Runtime::builder()),
        ("telemetry off", off.watch(Runtime::builder())),
        ("an observer that does nothing", Runtime::builder().observer(|_: &convoke_core::Event| {})),
        ("log lines nobody wants", Runtime::builder().observer(RunLog)),
        ("metrics, and traces not sampled", unsampled.watch(Runtime::builder())),
        ("traces and metrics sent", on.watch(Runtime::builder())),
    ];
    let watched = watched.map(|(name, builder)| (name, builder.model(model()).build()));
    let workflow = workflow();
    let mut times: [Vec<Duration>; 6] = Default::default();
    for _ in 0..ROUNDS {
        for ((_, runtime), times) in watched.iter().zip(&mut times) {
            let begun = Instant::now();
            tokio.block_on(async {
                for _ in 0..RUNS {
                    let outcome = runtime.start(&workflow, "1".to_owned()).await.expect("it starts");
                    assert_eq!(outcome.state, "2");
                }
            });
            times.push(begun.elapsed() / RUNS);
        }
    }
    let medians = times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2]
    });
    for ((name, _), median) in watched.iter().zip(&medians) {
        let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
        println!("{name:<34} {:>8.1} µs a run   {ratio:.3}", median.as_secs_f64() * 1e6);
    }
    println!("delivery: {:?}", on.shutdown());
    unsampled.shutdown();
}
