//! What goals cost when nothing is stored and the model answers at once: per goal, in workflows of several lengths.
//!
//! `cargo bench -p convoke --bench goals`
#![allow(missing_docs)]

use std::hint::black_box;

use convoke::goals::prelude::*;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

fn equipment() -> Equipment {
    let promise = json!({"interpretation": "it", "confidence": "high"});
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise))
        .when(Match::output("assessment"), Reply::json(json!({"met_commitment": true})))
        .otherwise("done")
        .build();
    Equipment::default().with_model(model).without_spawning()
}

/// Goals one after the other, each with what came before it in its prompt.
fn tree(goals: u64, change: fn(Goal) -> Goal) -> Workflow {
    let goal = |number: u64| change(Goal::new(format!("goal-{number}"), "Do the next thing"));
    Workflow::new("bench")
        .sequence((0..goals).fold(Sequence::new("main"), |all, number| all.goal(goal(number))))
}

fn run(criterion: &mut Criterion, name: &str, lengths: &[u64], change: fn(Goal) -> Goal) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20);
    for &goals in lengths {
        group.throughput(Throughput::Elements(goals));
        group.bench_with_input(BenchmarkId::from_parameter(goals), &goals, |bencher, _| {
            let convoke = Runtime::new();
            // The scripted model remembers what it was asked, so each round has one of its own.
            let fresh = || tree(goals, change).prepare(&equipment()).expect("it is valid").workflow();
            let start = |workflow: convoke::Workflow<GoalState>| {
                let convoke = &convoke;
                async move {
                    let outcome = convoke.start(&workflow, GoalState::default()).await.expect("it starts");
                    assert_eq!(black_box(outcome.state).outputs.len() as u64, goals);
                }
            };
            bencher.to_async(runtime()).iter_batched(fresh, start, criterion::BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn goals(criterion: &mut Criterion) {
    run(criterion, "goals", &[1, 10, 100, 1_000], |goal| goal);
    run(criterion, "supervised goals", &[100], Goal::supervised);
}

fn prepare(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prepare");
    for goals in [100, 1_000] {
        let (tree, equipment) = (tree(goals, |goal| goal), equipment());
        group.throughput(Throughput::Elements(goals));
        group.bench_with_input(BenchmarkId::from_parameter(goals), &goals, |bencher, _| {
            bencher.iter(|| black_box(tree.clone().prepare(&equipment).expect("it is valid")));
        });
    }
    group.finish();
}

criterion_group!(benches, goals, prepare);
criterion_main!(benches);
