//! Convoke: a chain of steps that do nothing, an agent's turn, and durable steps.

#[path = "../../measure.rs"]
mod measure;

use convoke::agent::Conversation;
use convoke::prelude::*;
use measure::measure;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
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
