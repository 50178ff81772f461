//! Agents whose time runs out, and what was begun before a limit was lowered.
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Diary, agent, call, call_events, echo, result, results, slow};
use convoke_agent::{AgentBuilder, AgentStop, Approval, Conversation};
use convoke_core::{Answer, Error, Message, RunId, RunStatus, Runtime, Store, ToolEffect, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);

fn keeping() -> Runtime {
    Runtime::builder().store(MemoryStore::new()).build()
}

/// An agent that has seven seconds for three calls of five, one after the other.
fn three_writes(model: &ScriptedModel, diary: &Diary) -> AgentBuilder {
    let write = slow("write", diary, SECOND * 5).effects([ToolEffect::Writes]);
    agent(model).tool(write).timeout(SECOND * 7)
}

fn three_calls() -> ScriptedModel {
    let more = |text: &str| json!({"text": text});
    let calls = call("write", "a").and_tool("write", more("b")).and_tool("write", more("c"));
    ScriptedModel::builder().otherwise(calls).build()
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_time_ran_out_on_is_told_again_as_it_was_told_live() {
    let (model, diary, runtime) = (three_calls(), Diary::default(), keeping());
    let workflow = Workflow::new(three_writes(&model, &diary).build().unwrap());
    let (live, outcome) = runtime.start(&workflow, Conversation::from("go")).stream().collect().await;
    let outcome = outcome.unwrap();
    let ended = outcome.state.result.clone().unwrap();
    assert_eq!(ended.stop, AgentStop::TimedOut);
    assert_eq!(diary.entries(), ["write(a) begins", "write(a) ends", "write(b) begins"]);
    let told = runtime.replay(&workflow, &outcome.run).await.unwrap();
    assert_eq!((told.unused, told.state.result.as_ref()), (0, Some(&ended)), "{:?}", told.error);
    let ids: Vec<String> =
        ended.transcript.iter().flat_map(Message::tool_calls).map(|call| call.id.to_string()).collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        assert_eq!(call_events(&told.events, &id), call_events(&live, &id));
    }
}

#[tokio::test(start_paused = true)]
async fn what_time_ran_out_on_is_not_left_out_under_a_lower_limit_of_calls() {
    let (model, diary, runtime) = (three_calls(), Diary::default(), keeping());
    let workflow = Workflow::new(three_writes(&model, &diary).build().unwrap());
    let outcome = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
    let bounded = Workflow::new(three_writes(&model, &diary).max_calls_per_reply(1).build().unwrap());
    let told = runtime.replay(&bounded, &outcome.run).await.unwrap();
    assert_eq!((told.unused, told.state.result), (0, outcome.state.result), "{:?}", told.error);
}

#[tokio::test]
async fn what_a_person_was_asked_about_is_not_left_out_under_a_lower_limit_of_calls() {
    let (diary, store) = (Diary::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let calls = call("pay", "ann").and_tool("pay", json!({"text": "bob"}));
    let model = crate::common::calls_then_done(calls);
    let payer = |most: u32| {
        let helper = agent(&model).tool(echo("pay", &diary)).approval(Approval::Always);
        Workflow::new(helper.max_calls_per_reply(most).build().unwrap())
    };
    let run: RunId = "the-run".parse().unwrap();
    let first = runtime.start(&payer(2), Conversation::from("go")).id(run.clone()).await.unwrap();
    assert_eq!((first.status, first.questions().len()), (RunStatus::Suspended, 2));
    for asked in first.questions() {
        store.answer(&run, &asked.id, Answer::approve()).await.unwrap();
    }
    runtime.resume(&payer(1), run).await.unwrap().completed().unwrap();
    let mut paid = diary.entries();
    paid.sort();
    assert_eq!(paid, ["pay(ann)", "pay(bob)"]);
}

#[tokio::test(start_paused = true)]
async fn time_that_ran_out_in_a_second_turn_leaves_the_first_as_it_was() {
    let (diary, runtime) = (Diary::default(), keeping());
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("Wait.").and_tool("slow", json!({"text": "b"})))
        .otherwise(call("quick", "a"))
        .build();
    let helper = agent(&model).tool(echo("quick", &diary)).tool(slow("slow", &diary, SECOND * 60));
    let workflow = Workflow::new(helper.timeout(SECOND).build().unwrap());
    let outcome = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
    let ended = outcome.state.result.clone().unwrap();
    assert_eq!((ended.stop, ended.turns), (AgentStop::TimedOut, 2));
    assert_eq!(results(&ended).iter().map(|(_, failed)| *failed).collect::<Vec<_>>(), [false, true]);
    let told = runtime.replay(&workflow, &outcome.run).await.unwrap();
    assert_eq!((told.unused, told.state.result), (0, outcome.state.result), "{:?}", told.error);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_further_in_is_an_error_and_not_the_agents_own() {
    let model = ScriptedModel::builder().otherwise(Reply::text("never").hangs()).build();
    let workflow = Workflow::new(agent(&model).timeout(SECOND * 3_600).build().unwrap());
    let bounded = Runtime::builder().leaf_timeout(Some(SECOND * 120)).build();
    let outcome = bounded.start(&workflow, Conversation::from("go")).await.unwrap();
    let Some(Error::TimedOut(timed_out)) = outcome.error else { panic!("{:?}", outcome.error) };
    assert_eq!(timed_out.owner.as_str(), "helper/turn/model");
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_may_take_as_long_as_it_says_within_the_agents_time() {
    let diary = Diary::default();
    let model = crate::common::calls_then_done(call("slow", "a"));
    let helper =
        agent(&model).tool(slow("slow", &diary, SECOND * 40)).tool_timeout(None).timeout(SECOND * 60);
    assert_eq!(result(helper.build().unwrap()).await.stop, AgentStop::Complete);
    assert_eq!(diary.entries(), ["slow(a) begins", "slow(a) ends"]);
}
