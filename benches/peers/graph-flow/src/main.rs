//! graph-flow: chains of tasks that do nothing, and one that fans out, sessions in memory.

#[path = "../../measure.rs"]
mod measure;

use std::sync::Arc;

use async_trait::async_trait;
use graph_flow::{
    Context, FanOutTask, FlowRunner, Graph, GraphBuilder, InMemorySessionStorage, NextAction, Session,
    SessionStorage, Task, TaskResult,
};
use measure::measure;

const BRANCHES: usize = 998;

struct Count(String, bool);

#[async_trait]
impl Task for Count {
    fn id(&self) -> &str {
        &self.0
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        let count: u64 = context.get("n").unwrap_or(0);
        context.set("n", count + 1)?;
        Ok(TaskResult::new(None, if self.1 { NextAction::End } else { NextAction::ContinueAndExecute }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> graph_flow::Result<()> {
    run("chain", chain(100)?, 100).await;
    run("graph", chain(10)?, 10).await;
    run("diamond", diamond()?, BRANCHES as u32 + 2).await;
    Ok(())
}

fn count(node: &str, is_last: bool) -> Arc<Count> {
    Arc::new(Count(node.to_owned(), is_last))
}

fn chain(length: usize) -> graph_flow::Result<Graph> {
    let tasks = (0..length).map(|index| count(&format!("n{index}"), index == length - 1));
    let graph = tasks.fold(GraphBuilder::new("chain"), |graph, task| graph.add_task(task));
    let edges = (1..length).map(|index| (format!("n{}", index - 1), format!("n{index}")));
    edges.fold(graph, |graph, (from, to)| graph.add_edge(from, to)).build()
}

/// Branches share one context here and are not merged: there is no sum of what they added.
fn diamond() -> graph_flow::Result<Graph> {
    let branches = (0..BRANCHES).map(|index| count(&format!("b{index}"), true) as Arc<dyn Task>);
    let fork = FanOutTask::new("fork", branches.collect()).with_next_action(NextAction::ContinueAndExecute);
    let tasks = GraphBuilder::new("diamond").add_task(count("n0", false)).add_task(fork);
    tasks.add_task(count("join", true)).add_edge("n0", "fork").add_edge("fork", "join").build()
}

async fn run(what: &str, graph: Graph, nodes: u32) {
    let storage = Arc::new(InMemorySessionStorage::new());
    let runner = FlowRunner::new(Arc::new(graph), storage.clone());
    measure("graph-flow 0.8.1", what, nodes, |round| {
        let (runner, storage) = (&runner, &storage);
        async move {
            let id = format!("s{round}");
            storage.save(Session::new_from_task(id.clone(), "n0")).await.expect("it is kept");
            runner.run(&id).await.expect("it runs");
        }
    })
    .await;
}
