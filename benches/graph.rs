//! How fast graphs are: a chain, a wide diamond, more and more branches, and boards that fork.

use std::hint::black_box;

use convoke_core::Runtime;
use convoke_graph::{Board, CompiledGraph, Graph, GraphDefinition, GraphEquipment, NodeTypes, Reducer};
use convoke_store::MemoryStore;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;

fn equipped(definition: GraphDefinition) -> Graph {
    let compiled = CompiledGraph::new(definition, &NodeTypes::standard()).expect("it can be run");
    compiled.equip(GraphEquipment::default()).expect("it lacks nothing")
}

fn chain(nodes: usize) -> Graph {
    let mut graph = GraphDefinition::new("chain", "n0");
    for node in 0..nodes {
        let sets = json!({"assignments": [{"target": format!("v{node}"), "value": node}]});
        graph = graph.node(format!("n{node}"), "assigner", sets);
        if node > 0 {
            graph = graph.edge(format!("n{}", node - 1), format!("n{node}"));
        }
    }
    equipped(graph)
}

/// A node that forks into as many branches as there are nodes but two, and one where all of them meet.
fn diamond(nodes: usize) -> Graph {
    let mut graph = GraphDefinition::new("diamond", "start").node("start", "passthrough", json!({}));
    for node in 0..nodes - 2 {
        let adds = json!({"assignments": [{"target": "sum", "expression": "(sum ?? 0) + 1"}]});
        graph = graph.node(format!("n{node}"), "assigner", adds);
        graph = graph.edge("start", format!("n{node}")).edge(format!("n{node}"), "join");
    }
    graph.max_nodes = nodes as u64;
    graph.max_branches = nodes;
    equipped(graph.node("join", "passthrough", json!({})).merge("sum", Reducer::Sum))
}

fn graphs(criterion: &mut Criterion) {
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let mut group = criterion.benchmark_group("graph");
    for (name, graph, nodes) in [("chain of 10", chain(10), 10), ("diamond of 1,000", diamond(1_000), 1_000)]
    {
        let workflow = graph.workflow();
        group.throughput(Throughput::Elements(nodes));
        group.bench_function(name, |bencher| {
            bencher.to_async(&tokio).iter(|| async {
                let outcome = runtime.start(&workflow, Board::new()).await.expect("it runs");
                black_box(outcome.completed().expect("it completes"))
            });
        });
    }
    group.finish();
}

/// Branches that each write a variable of their own and add to a sum, put together: what that costs each of them must not depend on
/// how many there are.
fn branches(criterion: &mut Criterion) {
    let tokio = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let mut group = criterion.benchmark_group("branches");
    group.sample_size(10);
    for count in [100, 1_000, 10_000] {
        let mut graph = GraphDefinition::new("fan", "start").node("start", "passthrough", json!({}));
        for branch in 0..count {
            let own = json!({"target": format!("v{branch}"), "value": branch});
            let sum = json!({"target": "sum", "expression": "(sum ?? 0) + 1"});
            graph = graph.node(format!("n{branch}"), "assigner", json!({"assignments": [own, sum]}));
            graph = graph.edge("start", format!("n{branch}")).edge(format!("n{branch}"), "join");
        }
        (graph.max_nodes, graph.max_branches) = (count + 2, count as usize);
        let graph = equipped(graph.node("join", "passthrough", json!({})).merge("sum", Reducer::Sum));
        let workflow = graph.workflow();
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("{count}"), |bencher| {
            bencher.to_async(&tokio).iter(|| async {
                let outcome = runtime.start(&workflow, Board::new()).await.expect("it runs");
                black_box(outcome.completed().expect("it completes"))
            });
        });
    }
    group.finish();
}

/// The memory of this process in kilobytes, where the system says it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[expect(clippy::print_stderr, reason = "a figure that criterion has no place for")]
fn forks(criterion: &mut Criterion) {
    let mut board = Board::new();
    for number in 0..100 {
        board.set(&format!("document{number}"), "x".repeat(100 * 1024)).expect("a name of ours");
    }
    let fork = || {
        let branches = (0..1_000).map(|number| {
            let mut branch = board.clone();
            branch.set("branch", number).expect("a name of ours");
            branch
        });
        branches.collect::<Vec<Board>>()
    };
    let before = memory();
    let kept = fork();
    if let (Some(before), Some(after)) = (before, memory()) {
        let each = after.saturating_sub(before) as f64 / kept.len() as f64;
        eprintln!("10 MB forked into {} branches: {each:.1} kB each", kept.len());
    }
    drop(kept);
    criterion.bench_function("board of 10 MB, 1,000 forks that write", |bencher| {
        bencher.iter(|| black_box(fork()))
    });
}

criterion_group!(benches, graphs, branches, forks);
criterion_main!(benches);
