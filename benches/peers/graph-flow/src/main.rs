//! graph-flow: a chain of tasks that do nothing, sessions in memory.

#[path = "../../measure.rs"]
mod measure;

use std::sync::Arc;

use async_trait::async_trait;
use graph_flow::{
    Context, FlowRunner, GraphBuilder, InMemorySessionStorage, NextAction, Session, SessionStorage, Task,
    TaskResult,
};
use measure::measure;

const LENGTH: usize = 100;

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
    let tasks = (0..LENGTH).map(|index| Arc::new(Count(format!("n{index}"), index == LENGTH - 1)));
    let graph = tasks.fold(GraphBuilder::new("chain"), |graph, task| graph.add_task(task));
    let edges = (1..LENGTH).map(|index| (format!("n{}", index - 1), format!("n{index}")));
    let graph = edges.fold(graph, |graph, (from, to)| graph.add_edge(from, to)).build()?;
    let storage = Arc::new(InMemorySessionStorage::new());
    let runner = FlowRunner::new(Arc::new(graph), storage.clone());
    measure("graph-flow 0.8.1", "chain", 100, |round| {
        let (runner, storage) = (&runner, &storage);
        async move {
            let id = format!("s{round}");
            storage.save(Session::new_from_task(id.clone(), "n0")).await.expect("it is kept");
            runner.run(&id).await.expect("it runs");
        }
    })
    .await;
    Ok(())
}
