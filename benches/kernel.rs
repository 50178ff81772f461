//! What the kernel costs when nothing is stored: steps, branches, agent turns, events, replay.
//!
//! `cargo bench -p convoke --bench kernel`
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use convoke::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// A chain of functions that do nothing, each with a name of its own.
fn chain(length: u64) -> Workflow<u64> {
    let empty = Chain::new("chain");
    let full = (0..length).fold(empty, |chain, index| {
        chain.then(func(format!("step {index}"), |count: &mut u64| {
            *count += 1;
            Ok::<_, Error>(())
        }))
    });
    Workflow::new(full)
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain of no-op steps");
    for length in [10, 100, 1_000, 10_000] {
        let workflow = chain(length);
        let convoke = Runtime::new();
        group.throughput(Throughput::Elements(length));
        group.bench_with_input(BenchmarkId::from_parameter(length), &length, |bencher, _| {
            bencher.to_async(runtime()).iter(|| async {
                let outcome = convoke.start(&workflow, 0).await.expect("it starts");
                assert_eq!(black_box(outcome.state), length);
            });
        });
    }
    group.finish();
}

fn fan_out(criterion: &mut Criterion) {
    const BRANCHES: u64 = 10_000;
    let body = func("double", |number: &mut u64| {
        *number *= 2;
        Ok::<_, Error>(())
    });
    let map = Map::new(
        "each",
        Join::all().cancel_rest(),
        |all: &Vec<u64>| all.clone(),
        body,
        |all, mapped| {
            *all = mapped.into_iter().filter_map(|item| item.result.ok()).collect();
        },
    );
    let workflow = Workflow::new(map);
    let convoke = Runtime::new();
    let mut group = criterion.benchmark_group("fan-out");
    group.throughput(Throughput::Elements(BRANCHES)).sample_size(20);
    group.bench_function("10,000 branches", |bencher| {
        bencher.to_async(runtime()).iter(|| async {
            let outcome = convoke.start(&workflow, (0..BRANCHES).collect()).await.expect("it starts");
            assert_eq!(black_box(outcome.state).len(), BRANCHES as usize);
        });
    });
    group.finish();
}

fn turns(criterion: &mut Criterion) {
    let convoke = Runtime::builder().model(tool_caller()).build();
    let tool = FunctionTool::new("add", "Adds one.", |number: Number| async move {
        Ok::<_, Error>(format!("{}", number.number + 1))
    });
    let agent = Agent::builder("agent").tool(tool).build().expect("a valid agent");
    let step = AgentStep::new("agent", agent, |question: &String| question.clone())
        .store(|answer: &mut String, result| *answer = result.text());
    let workflow = Workflow::new(step);
    let mut group = criterion.benchmark_group("agent");
    group.bench_function("turn with a tool call, then an answer (two model calls)", |bencher| {
        bencher.to_async(runtime()).iter(|| async {
            let outcome = convoke.start(&workflow, "add".to_owned()).await.expect("it starts");
            assert_eq!(black_box(outcome.state), "done");
        });
    });
    group.finish();
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    number: u64,
}

fn tool_caller() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("done"))
        .otherwise(Reply::tool("add", json!({"number": 1})))
        .forget_requests()
        .build()
}

fn events(criterion: &mut Criterion) {
    const STEPS: u64 = 5_000;
    let workflow = chain(STEPS);
    let convoke = Runtime::new();
    let mut group = criterion.benchmark_group("events");
    // A beginning and an end for each step, for the chain, and for the run.
    group.throughput(Throughput::Elements(2 * STEPS + 4)).sample_size(20);
    group.bench_function("through a stream", |bencher| {
        bencher.to_async(runtime()).iter(|| async {
            let mut stream = convoke.start(&workflow, 0).stream();
            let mut count = 0;
            while let Some(event) = stream.next().await {
                black_box(&event);
                count += 1;
            }
            assert_eq!(count, 2 * STEPS + 4);
        });
    });
    group.finish();
}

async fn ten_effects(scope: &Scope, sum: &mut u64) -> Result<(), Error> {
    for _ in 0..10 {
        *sum += scope.custom("one").repeatable().perform(|_| async { Ok::<_, Error>(1_u64) }).await?;
    }
    Ok(())
}

fn replay(criterion: &mut Criterion) {
    const STEPS: u64 = 1_000;
    let chain = (0..STEPS)
        .fold(Chain::new("chain"), |chain, index| chain.then(task(format!("step {index}"), ten_effects)));
    let workflow = Workflow::new(chain);
    let tokio = runtime();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let convoke = Runtime::builder().shared_store(store).build();
    let run = tokio.block_on(async { convoke.start(&workflow, 0).await.expect("it starts").run });
    let mut group = criterion.benchmark_group("replay");
    group
        .throughput(Throughput::Elements(10 * STEPS))
        .sample_size(20)
        .measurement_time(Duration::from_secs(8));
    group.bench_function("10,000 effects, journal read and indexed", |bencher| {
        bencher.to_async(runtime()).iter(|| async {
            let replay = convoke.replay(&workflow, &run).await.expect("it replays");
            assert_eq!((black_box(replay.state), replay.unused), (10 * STEPS, 0));
        });
    });
    group.finish();
}

criterion_group!(benches, steps, fan_out, turns, events, replay);
criterion_main!(benches);
