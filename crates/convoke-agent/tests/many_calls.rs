//! Replies that ask for very many calls at once.
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Diary, agent, call, echo, results, slow};
use convoke_agent::{Agent, AgentBuilder, AgentStop, Conversation, InvalidAgent, ParallelCalls};
use convoke_core::{Canceller, Limits, RunStatus, Runtime, Store, ToolEffect, Workflow};
use convoke_models::{Match, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

const MANY: usize = 1_000;

/// One reply with so many calls, and then an answer.
fn asking_for(calls: usize) -> ScriptedModel {
    let all =
        (1..calls).fold(call("note", "0"), |reply, n| reply.and_tool("note", json!({"text": n.to_string()})));
    ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(all).build()
}

/// An agent whose calls all conflict with each other.
fn writer(model: &ScriptedModel, diary: &Diary) -> AgentBuilder {
    agent(model).tool(echo("note", diary).effects([ToolEffect::Writes]))
}

fn unbounded(model: &ScriptedModel, diary: &Diary) -> Agent {
    writer(model, diary).max_calls_per_reply(None).build().unwrap()
}

fn in_order(calls: usize) -> Vec<String> {
    (0..calls).map(|n| format!("note({n})")).collect()
}

#[tokio::test]
async fn a_thousand_conflicting_calls_in_one_reply_are_made_one_after_the_other() {
    let (model, diary) = (asking_for(MANY), Diary::default());
    let result = crate::common::result(unbounded(&model, &diary)).await;
    assert_eq!(result.stop, AgentStop::Complete);
    assert_eq!(diary.entries(), in_order(MANY));
    assert!(results(&result).iter().map(|(text, _)| text.clone()).eq((0..MANY).map(|n| format!("[{n}]"))));
}

#[tokio::test]
async fn a_thousand_calls_one_by_one_need_no_more_than_that() {
    let (model, diary) = (asking_for(MANY), Diary::default());
    let pure = agent(&model).tool(echo("note", &diary).pure()).max_calls_per_reply(None);
    crate::common::result(pure.parallel_tool_calls(ParallelCalls::OneByOne).build().unwrap()).await;
    assert_eq!(diary.entries(), in_order(MANY));
}

#[tokio::test]
async fn a_run_with_a_thousand_calls_in_one_reply_is_replayed_without_making_any() {
    let (model, diary) = (asking_for(MANY), Diary::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(store).build();
    let workflow = Workflow::new(unbounded(&model, &diary));
    let whole = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
    let replay = runtime.replay(&workflow, &whole.run).await.unwrap();
    assert!(replay.error.is_none(), "{:?}", replay.error);
    assert_eq!((replay.unused, diary.entries().len()), (0, MANY));
    assert_eq!(replay.state.result, whole.state.result);
    // What was made under another limit is not left out when the limit is a lower one.
    let bounded = Workflow::new(writer(&model, &diary).build().unwrap());
    let replay = runtime.replay(&bounded, &whole.run).await.unwrap();
    assert_eq!(replay.state.result, whole.state.result, "{:?}", replay.error);
}

/// An agent that would need 5,000 seconds for its calls.
fn slow_writer(model: &ScriptedModel, diary: &Diary) -> AgentBuilder {
    let note = slow("note", diary, Duration::from_secs(5)).effects([ToolEffect::Writes]);
    agent(model).tool(note).max_calls_per_reply(None)
}

#[tokio::test(start_paused = true)]
async fn many_calls_are_ended_by_cancelling_the_run() {
    let (model, diary, canceller) = (asking_for(MANY), Diary::default(), Canceller::new());
    let workflow = Workflow::new(slow_writer(&model, &diary).build().unwrap());
    let run = Runtime::new().start(&workflow, Conversation::from("go")).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        canceller.cancel("enough");
    };
    let outcome = tokio::join!(run.into_future(), cancel).0.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert_eq!(diary.entries().len(), 5, "two calls, and the beginning of a third");
}

#[tokio::test(start_paused = true)]
async fn many_calls_are_ended_by_time() {
    let (model, diary) = (asking_for(MANY), Diary::default());
    let limited = slow_writer(&model, &diary).timeout(Duration::from_secs(12)).build().unwrap();
    assert_eq!(crate::common::result(limited).await.stop, AgentStop::TimedOut);
    let workflow = Workflow::new(slow_writer(&model, &diary).build().unwrap());
    let run = Runtime::new().start(&workflow, Conversation::from("go")).timeout(Duration::from_secs(12));
    assert_eq!(run.await.unwrap().status, RunStatus::TimedOut);
    assert_eq!(diary.entries().len(), 10);
}

#[tokio::test]
async fn many_calls_are_ended_by_a_budget() {
    let (model, diary) = (asking_for(MANY), Diary::default());
    let workflow = Workflow::new(unbounded(&model, &diary));
    let run =
        Runtime::new().start(&workflow, Conversation::from("go")).limits(Limits::default().tool_calls(7));
    let result = run.await.unwrap().completed().unwrap().result.unwrap();
    assert_eq!(diary.entries(), in_order(7));
    assert_eq!(results(&result).iter().filter(|(_, is_error)| *is_error).count(), MANY - 7);
}

#[tokio::test]
async fn calls_beyond_the_limit_of_a_reply_are_not_made_and_the_model_reads_why() {
    let (model, diary) = (asking_for(130), Diary::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(store).build();
    let workflow = Workflow::new(writer(&model, &diary).build().unwrap());
    let outcome = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
    assert_eq!(diary.entries(), in_order(Agent::DEFAULT_MAX_CALLS_PER_REPLY as usize));
    let result = outcome.state.result.clone().unwrap();
    let told = &results(&result)[127..];
    assert_eq!(told[0], ("[127]".to_owned(), false));
    for (text, is_error) in &told[1..] {
        assert!(*is_error && text.contains("was not called: one reply may ask for 128 calls"), "{text}");
    }
    assert_eq!(told.len(), 3);
    let replay = runtime.replay(&workflow, &outcome.run).await.unwrap();
    assert_eq!(replay.state.result, outcome.state.result, "{:?}", replay.error);
}

#[test]
fn an_agent_that_may_make_no_calls_is_refused() {
    let built = Agent::builder("idle").max_calls_per_reply(0).build();
    assert!(matches!(built, Err(InvalidAgent::NoCalls { .. })));
}
