//! How many turns an agent makes, which of them is the last, and what a run that goes on makes of that.
use std::sync::Arc;

use crate::common::{Diary, agent, call, echo, result, results, streamed};
use convoke_agent::{AgentStop, AgentTool, Approval, ClientTool, Conversation};
use convoke_core::{
    Answer, BYTES_PER_TOKEN, EffectKind, Event, FinishReason, Fork, Limits, ModelRequest, RunStatus, Runtime,
    Store, ToolChoice, Usage, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

fn stored() -> (Arc<dyn Store>, Runtime) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    (Arc::clone(&store), Runtime::builder().shared_store(store).build())
}

/// An agent that would work on for ever: two turns, and so many once they are over.
fn restless(raised: Option<u32>) -> Workflow<Conversation> {
    let next = |request: &ModelRequest| call("echo", &request.messages.len().to_string());
    let model = ScriptedModel::builder()
        .when(Match::offers_tools(), Reply::with(next))
        .otherwise("My guess.")
        .build();
    let helper = agent(&model).tool(echo("echo", &Diary::default())).max_turns(2).raised_turns(raised);
    Workflow::new(helper.build().unwrap())
}

#[tokio::test]
async fn turns_that_are_raised_are_made_and_fewer_than_there_are_change_nothing() {
    for (raised, turns) in [(None, 2), (Some(1), 2), (Some(2), 2), (Some(4), 4)] {
        let (store, runtime) = stored();
        let outcome = runtime.start(&restless(raised), Conversation::from("go")).await.unwrap();
        let ended = outcome.state.result.clone().unwrap();
        assert_eq!(
            (ended.stop, ended.turns, ended.text().as_str()),
            (AgentStop::MaxTurns, turns, "My guess."),
            "{raised:?}"
        );
        let entries = store.entries(&outcome.run, 1, usize::MAX).await.unwrap();
        let decided = entries.iter().filter(|entry| entry.effect == EffectKind::Decision).count();
        assert_eq!(decided, usize::from(turns > 2), "only what changes anything is written down");
        // It was written down how many there are: what is said of that later changes nothing.
        for said_later in [None, Some(3), Some(9)] {
            let told = runtime.replay(&restless(said_later), &outcome.run).await.unwrap();
            assert_eq!(
                (told.unused, told.state.result),
                (0, Some(ended.clone())),
                "{raised:?}, {said_later:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_limit_that_is_raised_before_the_last_turn_counts_for_a_run_that_goes_on() {
    let (store, runtime) = stored();
    let whole = runtime.start(&restless(None), Conversation::from("go")).await.unwrap();
    let entries = store.entries(&whole.run, 1, usize::MAX).await.unwrap();
    let asked: Vec<u64> =
        entries.iter().filter(|entry| entry.effect == EffectKind::Model).map(|entry| entry.seq).collect();
    let cut = Fork::new(whole.run, asked[1]).create(&store).await.unwrap();
    let again = runtime.resume(&restless(Some(5)), cut).await.unwrap().completed().unwrap();
    assert_eq!(again.result.unwrap().turns, 5);
}

#[tokio::test]
async fn an_agent_without_tools_that_calls_one_in_its_only_turn_is_told_so_and_has_no_other() {
    let model = ScriptedModel::builder().otherwise(call("nothing", "x")).build();
    let result = result(agent(&model).max_turns(1).build().unwrap()).await;
    assert_eq!((result.stop, result.turns, model.calls()), (AgentStop::MaxTurns, 1, 1));
    assert_eq!(results(&result), [("tool `nothing` not found: there are no tools".to_owned(), true)]);
}

#[tokio::test]
async fn a_first_turn_that_only_the_client_would_have_work_in_is_no_last_one_and_a_second_one_may_be() {
    let show = || ClientTool::typed::<crate::common::Text>("show", "Shows");
    let model = ScriptedModel::builder().otherwise(call("show", "x")).build();
    let first = result(agent(&model).tool(show()).max_turns(1).build().unwrap()).await;
    assert_eq!((first.stop, first.pending_calls.len()), (AgentStop::ClientToolCalls, 1));

    let broken = ScriptedModel::builder().otherwise(Reply::tool("show", json!({"txt": 1}))).build();
    let second = result(agent(&broken).tool(show()).max_turns(2).build().unwrap()).await;
    assert_eq!((second.stop, second.turns, broken.calls()), (AgentStop::MaxTurns, 2, 2));
    let last = broken.last_request().unwrap();
    assert_eq!((last.tools.len(), last.tool_choice), (0, ToolChoice::None));
}

#[tokio::test]
async fn one_turn_without_tools_is_an_ordinary_one_for_a_budget_too() {
    for limits in [Limits::default().model_calls(1), Limits::default().turns(1)] {
        let model = ScriptedModel::replies(["Hello!"]);
        let workflow = Workflow::new(agent(&model).build().unwrap());
        let start = Runtime::new().start(&workflow, Conversation::from("go")).limits(limits);
        let result = start.await.unwrap().completed().unwrap().result.unwrap();
        assert_eq!(result.stop, AgentStop::Complete);
        assert_eq!(model.last_request().unwrap().messages.len(), 1, "it is told of nothing");
    }
}

/// Where steps were, in order.
fn steps(events: &[Event]) -> Vec<&str> {
    let started = events.iter().filter(|event| crate::common::kind(&event.kind) == "step_started");
    started.map(|event| event.path.as_str()).collect()
}

#[tokio::test]
async fn a_turn_that_nothing_is_left_for_is_not_begun() {
    let reply = call("echo", "x").usage(Usage::tokens(90, 90));
    let model = ScriptedModel::builder().otherwise(reply).build();
    let workflow = Workflow::new(agent(&model).tool(echo("echo", &Diary::default())).build().unwrap());
    let start =
        Runtime::new().start(&workflow, Conversation::from("go")).limits(Limits::default().tokens(120));
    let (events, outcome) = start.stream().collect().await;
    let result = outcome.unwrap().completed().unwrap().result.unwrap();
    assert_eq!((result.stop, result.turns), (AgentStop::BudgetExhausted, 1));
    assert_eq!(steps(&events), ["helper", "helper/turn"]);
}

#[tokio::test]
async fn a_call_that_a_budget_ends_has_a_result_as_those_beside_it_have() {
    let inner = ScriptedModel::replies(["never asked"]);
    let sage = convoke_agent::Agent::builder("sage").model(inner.clone()).build().unwrap();
    let calls = call("echo", "x").and_tool("sage", json!({"query": "?"})).usage(Usage::tokens(90, 90));
    let model = ScriptedModel::builder().otherwise(calls).build();
    let helper = agent(&model).tool(echo("echo", &Diary::default())).tool(AgentTool::new(sage));
    let workflow = Workflow::new(helper.build().unwrap());
    let start =
        Runtime::new().start(&workflow, Conversation::from("go")).limits(Limits::default().tokens(120));
    let result = start.await.unwrap().completed().unwrap().result.unwrap();
    assert_eq!((result.stop, inner.calls()), (AgentStop::BudgetExhausted, 0));
    let [(echoed, false), (refused, true)] = &results(&result)[..] else { panic!("{:?}", results(&result)) };
    assert!(echoed == "[x]" && refused.contains("tokens"), "{refused}");
}

#[tokio::test]
async fn turns_that_were_made_are_made_whatever_limit_the_run_goes_on_with() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("[a]"), call("echo", "b"))
        .when(Match::tool_result_contains("[b]"), call("pay", "c"))
        .when(Match::has_tool_result(), "done")
        .otherwise(call("echo", "a"))
        .build();
    let helper = agent(&model).tool(echo("echo", &diary)).tool(echo("pay", &diary));
    let workflow = Workflow::new(helper.approval(Approval::of(["pay"])).build().unwrap());
    let (store, runtime) = stored();
    let suspended = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
    assert_eq!(suspended.status, RunStatus::Suspended);
    let asked = suspended.questions()[0].id.clone();
    store.answer(&suspended.run, &asked, Answer::approve()).await.unwrap();
    let resumed = runtime.resume(&workflow, suspended.run).limits(Limits::default().turns(2));
    let result = resumed.await.unwrap().completed().unwrap().result.unwrap();
    assert_eq!((result.stop, result.turns), (AgentStop::BudgetExhausted, 3));
    assert_eq!(diary.entries(), ["echo(a)", "echo(b)", "pay(c)"]);
}

#[tokio::test]
async fn a_reply_was_cut_by_the_budget_if_no_more_is_left_than_reading_it_all_again_takes() {
    const LIMIT: u64 = 3_000;
    for (more, status) in [(0, RunStatus::Completed), (1, RunStatus::Failed)] {
        let reply = Reply::with(move |request: &ModelRequest| {
            let left = request.messages.encoded_len() as u64 / BYTES_PER_TOKEN + 1 + more;
            Reply::text("As far as I").usage(Usage::tokens(LIMIT - left - 1, 1)).finish(FinishReason::Length)
        });
        let model = ScriptedModel::builder().otherwise(reply).build();
        let workflow = Workflow::new(agent(&model).build().unwrap());
        let start = Runtime::new().start(&workflow, Conversation::from("x".repeat(1_000)));
        let outcome = start.limits(Limits::default().tokens(LIMIT)).await.unwrap();
        assert_eq!(outcome.status, status, "{more} more: {:?}", outcome.error);
    }
}

#[tokio::test]
async fn an_agent_without_tools_on_demand_has_nothing_to_open_them_with() {
    let model = crate::common::calls_then_done(Reply::tool("open_tools", json!({"names": ["echo"]})));
    let helper = agent(&model).tool(echo("echo", &Diary::default())).build().unwrap();
    let (_, outcome) = streamed(&Runtime::new(), helper).await;
    let told = results(&outcome.completed().unwrap().result.unwrap());
    assert_eq!(told, [("tool `open_tools` not found; the tools are: echo".to_owned(), true)]);
}
