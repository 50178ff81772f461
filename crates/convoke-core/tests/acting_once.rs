//! Idempotency: a later attempt does not do again what an earlier one has done.

use std::sync::Arc;
use std::time::Duration;

use crate::common::stored::{Home, echo, says};
use crate::common::tools::TestTool;
use crate::common::{Trail, millis};
use convoke_core::{
    Answer, Error, ModelError, Repeat, RunStatus, Scope, Tool, ToolCall, ToolEffect, ToolSpec, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Join, Parallel, Retry, RetryPolicy, task_boxed};
use serde_json::json;

fn payment(repeat: Repeat) -> TestTool {
    TestTool::new(ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(repeat), Ok("paid".into()))
}

async fn pay(scope: &Scope, tool: &TestTool, to: &str) -> Result<String, Error> {
    let tool: Arc<dyn Tool> = Arc::new(tool.clone());
    let call = ToolCall { id: "c".into(), name: "pay".into(), arguments: json!({"to": to}) };
    Ok(scope.tool_scope(&*tool, None).tool(&tool, &call).await?.content)
}

/// Pays the first when it is tried first and the second when it is tried again, then the last; the first attempt fails in the end.
fn pays(tool: &TestTool, first: &'static str, second: &'static str, last: &'static str) -> AsyncFunc<Trail> {
    let tool = tool.clone();
    task_boxed("pay", move |scope, trail: &mut Trail| {
        let tool = tool.clone();
        Box::pin(async move {
            trail.count += 1;
            let who = if trail.count == 1 { first } else { second };
            trail.text = pay(scope, &tool, who).await? + &pay(scope, &tool, last).await?;
            if trail.count == 1 { Err(overloaded()) } else { Ok(()) }
        })
    })
}

fn overloaded() -> Error {
    Error::from(ModelError::of_status(500, "overloaded"))
}

fn twice() -> RetryPolicy {
    RetryPolicy::attempts(2).unwrap().initial(millis(10)).jitter(0.0)
}

fn paid(tool: &TestTool) -> Vec<String> {
    tool.heard().iter().map(|call| call["to"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_not_done_again_and_its_result_is_what_it_was() {
    let (home, tool) = (Home::new(echo()), payment(Repeat::Never));
    let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "ann", "bob"), twice()));
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!((outcome.status, &*outcome.state.text), (RunStatus::Completed, "paidpaid"));
    assert_eq!(paid(&tool), ["ann", "bob"]);
    let replay = home.runtime().replay(&workflow, &outcome.run).await.unwrap();
    assert_eq!((replay.error.is_none(), replay.state), (true, outcome.state));
}

#[tokio::test(start_paused = true)]
async fn what_may_be_repeated_is() {
    let (home, tool) = (Home::new(echo()), payment(Repeat::Safe));
    let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "ann", "bob"), twice()));
    assert_eq!(home.start(&workflow, Trail::default()).await.status, RunStatus::Completed);
    assert_eq!(paid(&tool), ["ann", "bob", "ann", "bob"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_goes_another_way_acts_for_itself_from_there_on() {
    let (home, tool) = (Home::new(echo()), payment(Repeat::Never));
    let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "cat", "bob"), twice()));
    assert_eq!(home.start(&workflow, Trail::default()).await.status, RunStatus::Completed);
    assert_eq!(paid(&tool), ["ann", "bob", "cat", "bob"]);
}

#[tokio::test(start_paused = true)]
async fn what_another_branch_cut_off_is_asked_about_before_it_is_done_again() {
    let tool = payment(Repeat::Never).slow(Duration::from_secs(60));
    let busy = Reply::error(ModelError::of_status(500, "overloaded"));
    let home = Home::new(ScriptedModel::builder().otherwise([busy, Reply::text("fine")]).build());
    let paying = tool.clone();
    let pays = task_boxed("pay", move |scope, trail: &mut Trail| {
        let tool = paying.clone();
        Box::pin(async move {
            trail.text = pay(scope, &tool, "ann").await?;
            Ok(())
        })
    });
    let take = |trail: &mut Trail, done: Trail| *trail = done;
    let both = Parallel::builder("both", Join::all().cancel_rest())
        .branch(pays, take)
        .branch(says("fail once"), |_, _| {})
        .build()
        .unwrap();
    let workflow = Workflow::new(Retry::new(both, twice()));
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::Suspended, "{:?}", outcome.error);
    assert_eq!(paid(&tool), ["ann"]);
    let asked = home.asked(&outcome.run).await;
    assert!(asked.len() == 1 && asked[0].contains("may have acted already"), "{asked:?}");
    home.answer(&outcome.run, &asked[0], Answer::choose("done")).await;
    let resumed = home.resume(&workflow, &outcome.run).await;
    assert_eq!(paid(&tool), ["ann"], "a person has said that it was done: {:?}", resumed.error);
    assert_eq!(resumed.status, RunStatus::Completed, "{:?}", resumed.error);
}
