//! Convoke: a chain of steps that do nothing, the same as a graph, a graph that forks, an agent's turn, and durable steps.

#[path = "../../measure.rs"]
mod measure;

use convoke::agent::Conversation;
use convoke::graph::{Board, CompiledGraph, Graph, GraphDefinition, GraphEquipment, NodeTypes, Reducer};
use convoke::prelude::*;
use measure::measure;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

const BRANCHES: usize = 998;

/// A graph whose nodes each add one to `n`.
fn graph(definition: GraphDefinition) -> Graph {
    let add = func("add", |board: &mut Board| {
        let count = board.get("n").and_then(serde_json::Value::as_u64).unwrap_or(0);
        board.set("n", count + 1).expect("a name of ours");
    });
    let equipment = GraphEquipment::default().with_step("add", std::sync::Arc::new(add));
    let compiled = CompiledGraph::new(definition, &NodeTypes::standard()).expect("it can be run");
    compiled.equip(equipment).expect("it lacks nothing")
}

fn chain() -> Graph {
    let nodes = (0..10).fold(GraphDefinition::new("chain", "n0"), |graph, index| {
        graph.node(format!("n{index}"), "step", adds_one())
    });
    graph((1..10).fold(nodes, |graph, index| graph.edge(format!("n{}", index - 1), format!("n{index}"))))
}

fn diamond() -> Graph {
    let start = GraphDefinition::new("diamond", "start").node("start", "passthrough", serde_json::json!({}));
    let mut forked = (0..BRANCHES).fold(start, |graph, index| {
        let node = format!("n{index}");
        graph.node(&node, "step", adds_one()).edge("start", &node).edge(node, "join")
    });
    forked.max_nodes = BRANCHES as u64 + 2;
    forked.max_branches = BRANCHES;
    graph(forked.node("join", "passthrough", serde_json::json!({})).merge("n", Reducer::Sum))
}

fn adds_one() -> serde_json::Value {
    serde_json::json!({"step": "add"})
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let steps = (0..100).fold(Chain::new("chain"), |chain, index| {
        chain.then(func(format!("n{index}"), |count: &mut u64| *count += 1))
    });
    let (workflow, runtime) = (Workflow::new(steps), Runtime::new());
    measure("Convoke", "chain", 100, |_| async {
        let outcome = runtime.start(&workflow, 0).await.expect("it runs");
        assert_eq!(outcome.completed().expect("it completes"), 100);
    })
    .await;

    for (what, graph, nodes) in [("graph", chain(), 10), ("diamond", diamond(), BRANCHES + 2)] {
        let workflow = graph.workflow();
        measure("Convoke", what, nodes as u32, |_| async {
            let outcome = runtime.start(&workflow, Board::new()).await.expect("it runs");
            let board = outcome.completed().expect("it completes");
            assert_eq!(board.get("n"), Some(&nodes.min(BRANCHES).into()));
        })
        .await;
    }

    let weather = FunctionTool::new("weather", "Looks up the weather", |args: City| async move {
        Ok::<_, Error>(format!("sunny in {}", args.city))
    });
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "Take your sunglasses.")
        .otherwise(Reply::tool("weather", serde_json::json!({"city": "Oslo"})))
        .build();
    let workflow = Workflow::new(Agent::builder("guide").model(model).tool(weather).build()?);
    measure("Convoke", "turn", 1, |_| async {
        let outcome =
            runtime.start(&workflow, Conversation::from("What should I pack?")).await.expect("it runs");
        assert_eq!(outcome.completed().expect("it completes").text(), "Take your sunglasses.");
    })
    .await;

    let folder = tempfile::tempdir_in(".")?;
    let runtime = Runtime::builder().store(SqliteStore::open(folder.path().join("runs.db"))?).build();
    let steps = (0..10).fold(Chain::new("durable"), |chain, index| {
        chain.then(task_boxed(format!("s{index}"), |scope, sum: &mut u64| {
            Box::pin(async move {
                let effect = scope.custom("one").repeatable();
                *sum += effect.perform(|_| async { Ok::<_, Error>(1_u64) }).await?;
                Ok::<_, Error>(())
            })
        }))
    });
    let workflow = Workflow::new(steps);
    measure("Convoke, SQLite", "durable", 10, |_| async {
        let outcome = runtime.start(&workflow, 0).await.expect("it runs");
        assert_eq!(outcome.completed().expect("it completes"), 10);
    })
    .await;
    Ok(())
}
