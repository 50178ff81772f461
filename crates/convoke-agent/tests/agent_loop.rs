//! The loop itself: replies, calls, results, and the ways to end.
use std::time::Duration;

use crate::common::{
    Diary, agent, call, call_events, calls_then_done, echo, kind, outcome, result, results, slow, streamed,
};
use convoke_agent::{Agent, AgentStop, ClientTool, Conversation, FunctionTool, ParallelCalls};
use convoke_core::{
    Canceller, Error, Event, EventKind, ModelError, ModelErrorKind, ModelRequest, Role, RunStatus, Runtime,
    StepEnd, ToolCall, ToolEffect, Usage, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

#[tokio::test]
async fn gains_156_one_reply_without_tools_completes() {
    let model = ScriptedModel::replies(["Hello!"]);
    let result = result(agent(&model).build().unwrap()).await;
    assert_eq!((result.turns, result.stop, result.text().as_str()), (1, AgentStop::Complete, "Hello!"));
}

#[tokio::test]
async fn gains_157_178_a_call_then_an_answer_and_the_history_has_both() {
    let diary = Diary::default();
    let model = calls_then_done(call("echo", "hi"));
    let result = result(agent(&model).system("Be kind.").tool(echo("echo", &diary)).build().unwrap()).await;
    assert_eq!((result.turns, result.stop), (2, AgentStop::Complete));
    assert_eq!(diary.entries(), ["echo(hi)"]);
    let roles: Vec<String> = result.transcript.iter().map(|m| format!("{:?}", m.role)).collect();
    assert_eq!(roles, ["System", "User", "Assistant", "Tool", "Assistant"]);
    let calls: Vec<&ToolCall> = result.transcript.iter().flat_map(|m| m.tool_calls()).collect();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].name.as_str(), &calls[0].arguments), ("echo", &json!({"text": "hi"})));
    assert_eq!(results(&result), [("[hi]".to_owned(), false)]);
    let answered: Vec<&str> =
        result.transcript.iter().flat_map(|m| m.results()).map(|result| result.call_id.as_str()).collect();
    assert_eq!(answered, [calls[0].id.as_str()]);
    assert_eq!(result.transcript.last().unwrap().text(), "done");
    assert!(result.pending_calls.is_empty());
}

#[tokio::test]
async fn gains_158_the_stream_of_a_call_then_an_answer() {
    let model = calls_then_done(call("echo", "hi"));
    let helper = agent(&model).tool(echo("echo", &Diary::default())).build().unwrap();
    let (events, _) = streamed(&Runtime::new(), helper).await;
    let mut told: Vec<String> =
        events.iter().map(|event| format!("{} {}", event.path.as_str(), kind(&event.kind))).collect();
    told.dedup();
    assert_eq!(
        told,
        [
            " run_started",
            "helper step_started",
            "helper agent_started",
            "helper/turn step_started",
            "helper/turn/model model_call_started",
            "helper/turn/model message_started",
            "helper/turn/model tool_call_started",
            "helper/turn/model tool_call_arguments",
            "helper/turn/model message_ended",
            "helper/turn/model model_call_ended",
            "helper/turn tool_call_approved",
            "helper/turn/echo tool_call_executing",
            "helper/turn/echo tool_call_ended",
            "helper/turn/echo tool_call_result",
            "helper/turn step_ended",
            "helper/turn#2 step_started",
            "helper/turn#2/model model_call_started",
            "helper/turn#2/model message_started",
            "helper/turn#2/model message_delta",
            "helper/turn#2/model message_ended",
            "helper/turn#2/model model_call_ended",
            "helper/turn#2 step_ended",
            "helper custom",
            "helper step_ended",
            " run_ended",
        ]
    );
    let ended = json!({"agent": "helper", "stop": "complete", "turns": 2, "pending_calls": []});
    assert_eq!(agents_ended(&events), [ended]);
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::StepStarted { kind } => Some(kind.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["agent", "turn", "turn"]);
}

#[test]
fn an_agent_is_printed_with_its_name_its_model_its_tools_and_its_turns() {
    let model = ScriptedModel::builder().name("small").otherwise("Hm.").build();
    let builder = agent(&model).system("The secret of the house.").tool(echo("repeat", &Diary::default()));
    let being_made = format!("{builder:?}");
    assert!(being_made.contains("helper") && being_made.contains("repeat"), "{being_made}");
    let made = format!("{:?}", builder.max_turns(7).build().unwrap());
    for part in ["helper", "small", "repeat", "max_turns: Some(7)"] {
        assert!(made.contains(part), "{part}: {made}");
    }
    assert!(!made.contains("secret"), "{made}");
    assert_eq!(AgentStop::HandedOff.to_string(), "handed_off");
}

/// What is told of agents that ended.
fn agents_ended(events: &[Event]) -> Vec<Value> {
    let ended = events.iter().filter_map(|event| match &event.kind {
        EventKind::Custom { name, value } if name == "agent_ended" => Some(value.clone()),
        _ => None,
    });
    ended.collect()
}

#[tokio::test(start_paused = true)]
async fn gains_160_a_timeout_during_a_tool_ends_with_what_there_is() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .otherwise(Reply::text("Wait.").and_tool("slow", json!({"text": "x"})))
        .build();
    let tool = slow("slow", &diary, Duration::from_secs(5));
    let result = result(agent(&model).tool(tool).timeout(Duration::from_millis(50)).build().unwrap()).await;
    assert_eq!((result.stop, result.turns, result.text().as_str()), (AgentStop::TimedOut, 1, "Wait."));
    assert_eq!(diary.entries(), ["slow(x) begins"]);
    let [(content, true)] = &results(&result)[..] else {
        panic!("one failed result: {:?}", results(&result))
    };
    assert!(content.contains("did not finish before the time was up"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_leaves_the_clients_calls_to_the_client() {
    let model =
        ScriptedModel::builder().otherwise(call("show", "x").and_tool("slow", json!({"text": "y"}))).build();
    let builder = agent(&model)
        .tool(slow("slow", &Diary::default(), Duration::from_secs(5)))
        .tool(ClientTool::typed::<crate::common::Text>("show", "Shows"));
    let result = result(builder.timeout(Duration::from_millis(50)).build().unwrap()).await;
    assert_eq!(
        (result.stop, result.pending_calls.len(), results(&result).len()),
        (AgentStop::TimedOut, 1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn gains_161_a_timeout_while_the_model_speaks_is_no_error() {
    let model = ScriptedModel::builder().otherwise(Reply::text("I was about to say").hangs_after(2)).build();
    let result = result(agent(&model).timeout(Duration::from_millis(50)).build().unwrap()).await;
    assert_eq!((result.stop, result.turns, result.reply), (AgentStop::TimedOut, 0, None));
}

#[tokio::test(start_paused = true)]
async fn gains_161_a_cancelled_run_is_cancelled_and_not_failed() {
    let model = ScriptedModel::builder().otherwise(Reply::text("I was about to say").hangs_after(2)).build();
    let canceller = Canceller::new();
    let workflow = Workflow::new(agent(&model).build().unwrap());
    let start = Runtime::new().start(&workflow, Conversation::from("go")).canceller(&canceller);
    let (outcome, ()) = tokio::join!(async { start.await.unwrap() }, async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        canceller.cancel("enough");
    });
    assert_eq!(outcome.status, RunStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_further_out_is_an_error_and_not_the_agents_own() {
    let model = ScriptedModel::builder().otherwise(Reply::text("never").hangs()).build();
    let workflow = Workflow::new(agent(&model).timeout(Duration::from_secs(60)).build().unwrap());
    let start = Runtime::new().start(&workflow, Conversation::from("go")).timeout(Duration::from_secs(1));
    assert_eq!(start.await.unwrap().status, RunStatus::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_is_bounded_like_any_leaf() {
    let model = ScriptedModel::builder().otherwise(Reply::text("never").hangs()).build();
    let bounded = Runtime::builder().leaf_timeout(Some(Duration::from_secs(120))).build();
    let outcome = outcome(&bounded, agent(&model).build().unwrap()).await;
    let Some(Error::TimedOut(timed_out)) = outcome.error else { panic!("{:?}", outcome.error) };
    assert_eq!(timed_out.owner.as_str(), "helper/turn/model");
}

#[tokio::test]
async fn gains_162_a_stop_predicate_ends_before_any_call() {
    let diary = Diary::default();
    let model = calls_then_done(call("echo", "hi"));
    let builder = agent(&model).tool(echo("echo", &diary));
    let result =
        result(builder.stop_when(|turn, reply| turn == 1 && !reply.tool_calls().is_empty()).build().unwrap())
            .await;
    assert_eq!((result.stop, result.turns), (AgentStop::Custom, 1));
    assert!(diary.entries().is_empty());
    assert_eq!(result.pending_calls.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn gains_168_three_calls_run_side_by_side_and_results_keep_call_order() {
    let diary = Diary::default();
    let model = calls_then_done(
        call("long", "a").and_tool("short", json!({"text": "b"})).and_tool("long", json!({"text": "c"})),
    );
    let builder = agent(&model).tool(slow("long", &diary, Duration::from_secs(2))).tool(slow(
        "short",
        &diary,
        Duration::from_secs(1),
    ));
    let result = result(builder.build().unwrap()).await;
    assert_eq!(
        diary.entries(),
        [
            "long(a) begins",
            "short(b) begins",
            "long(c) begins",
            "short(b) ends",
            "long(a) ends",
            "long(c) ends"
        ]
    );
    let contents: Vec<String> = results(&result).into_iter().map(|(content, _)| content).collect();
    assert_eq!(contents, ["[a]", "[b]", "[c]"]);
    let seen: Vec<String> = model
        .last_request()
        .unwrap()
        .messages
        .iter()
        .flat_map(|m| m.results())
        .map(|r| r.content.clone())
        .collect();
    assert_eq!(seen, ["[a]", "[b]", "[c]"]);
}

#[tokio::test(start_paused = true)]
async fn gains_169_one_by_one_means_in_call_order() {
    let diary = Diary::default();
    let model = calls_then_done(call("slow", "a").and_tool("slow", json!({"text": "b"})));
    let builder = agent(&model).tool(slow("slow", &diary, Duration::from_secs(20)));
    // Each call has 30 seconds of its own: waiting for another does not count.
    let result = result(builder.parallel_tool_calls(ParallelCalls::OneByOne).build().unwrap()).await;
    assert_eq!(diary.entries(), ["slow(a) begins", "slow(a) ends", "slow(b) begins", "slow(b) ends"]);
    assert_eq!(results(&result), [("[a]".to_owned(), false), ("[b]".to_owned(), false)]);
}

#[tokio::test]
async fn gains_170_a_tools_error_is_a_result_and_the_run_goes_on() {
    let model = calls_then_done(call("broken", "x"));
    let broken = FunctionTool::new("broken", "Fails", |_: crate::common::Text| async {
        Err::<String, _>("out of paper")
    });
    let result = result(agent(&model).tool(broken).build().unwrap()).await;
    assert_eq!(results(&result), [("out of paper".to_owned(), true)]);
    assert_eq!((result.stop, result.text().as_str()), (AgentStop::Complete, "done"));
}

#[tokio::test]
async fn a_fatal_tools_error_ends_the_agent() {
    let model = calls_then_done(call("broken", "x"));
    let broken =
        FunctionTool::new("broken", "Fails", |_: crate::common::Text| async { Err::<String, _>("on fire") })
            .fatal();
    let outcome = outcome(&Runtime::new(), agent(&model).tool(broken).build().unwrap()).await;
    assert_eq!(outcome.error.unwrap().to_string(), "tool `broken` failed: on fire");
}

#[tokio::test]
async fn gains_171_191_an_unknown_tool_is_a_result_that_names_the_tools_there_are() {
    let model = calls_then_done(call("ecko", "x"));
    let helper = agent(&model).tool(echo("echo", &Diary::default())).build().unwrap();
    let (events, outcome) = streamed(&Runtime::new(), helper).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!(results(&result), [("tool `ecko` not found; the tools are: echo".to_owned(), true)]);
    assert_eq!(result.stop, AgentStop::Complete);
    let told = call_events(
        &events,
        &model.requests()[1].messages.iter().flat_map(|m| m.tool_calls()).next().unwrap().id,
    );
    assert_eq!(told, ["tool_call_started", "tool_call_arguments", "tool_call_ended", "tool_call_result"]);
}

#[tokio::test]
async fn gains_172_a_tools_panic_is_a_result() {
    let model = calls_then_done(call("shaky", "x"));
    let shaky = FunctionTool::new("shaky", "Panics", |_: crate::common::Text| async {
        if true {
            panic!("dropped it");
        }
        Ok::<_, Error>("never")
    });
    let result = result(agent(&model).tool(shaky).build().unwrap()).await;
    let [(content, true)] = &results(&result)[..] else { panic!("one failed result") };
    assert!(content.contains("panicked: dropped it"), "{content}");
    assert_eq!(result.stop, AgentStop::Complete);
}

#[tokio::test(start_paused = true)]
async fn gains_173_a_tool_that_takes_too_long_is_a_result() {
    let diary = Diary::default();
    let model = calls_then_done(call("slow", "x"));
    let builder = agent(&model).tool(slow("slow", &diary, Duration::from_secs(9)));
    let result = result(builder.tool_timeout(Duration::from_millis(10)).build().unwrap()).await;
    let [(content, true)] = &results(&result)[..] else { panic!("one failed result") };
    assert!(content.contains("did not finish within 10ms"), "{content}");
    assert_eq!(result.stop, AgentStop::Complete);
}

#[tokio::test]
async fn gains_174_177_a_client_tool_is_handed_over() {
    let model = calls_then_done(call("show", "x"));
    let helper =
        agent(&model).tool(ClientTool::typed::<crate::common::Text>("show", "Shows")).build().unwrap();
    let unheard = result(helper.clone()).await;
    let (events, outcome) = streamed(&Runtime::new(), helper).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!(result, unheard);
    assert_eq!((result.stop, result.turns), (AgentStop::ClientToolCalls, 1));
    let pending = &result.pending_calls[..];
    assert_eq!(
        (pending.len(), pending[0].name.as_str(), &pending[0].arguments),
        (1, "show", &json!({"text": "x"}))
    );
    let last = result.transcript.last().unwrap();
    assert_eq!((last.role, last.tool_calls().collect::<Vec<_>>()), (Role::Assistant, vec![&pending[0]]));
    let ended = json!({"agent": "helper", "stop": "client_tool_calls", "turns": 1, "pending_calls": pending});
    assert_eq!(agents_ended(&events), [ended]);
    assert_eq!(
        call_events(&events, &pending[0].id),
        ["tool_call_started", "tool_call_arguments", "tool_call_approved", "tool_call_ended"]
    );
}

#[tokio::test]
async fn gains_175_calls_of_ours_are_made_before_the_clients_are_handed_over() {
    let diary = Diary::default();
    let model = calls_then_done(call("show", "x").and_tool("echo", json!({"text": "y"})));
    let builder = agent(&model)
        .tool(echo("echo", &diary))
        .tool(ClientTool::typed::<crate::common::Text>("show", "Shows"));
    let result = result(builder.build().unwrap()).await;
    assert_eq!(result.stop, AgentStop::ClientToolCalls);
    assert_eq!(diary.entries(), ["echo(y)"]);
    assert_eq!(results(&result), [("[y]".to_owned(), false)]);
    assert_eq!(result.pending_calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["show"]);
}

#[tokio::test]
async fn invalid_arguments_of_a_client_tool_go_back_to_the_model() {
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("\"text\" is missing"), call("show", "better"))
        .otherwise(Reply::tool("show", json!({"txt": 1})))
        .build();
    let result = result(
        agent(&model).tool(ClientTool::typed::<crate::common::Text>("show", "Shows")).build().unwrap(),
    )
    .await;
    assert_eq!((result.stop, result.turns), (AgentStop::ClientToolCalls, 2));
    assert_eq!(result.pending_calls[0].arguments, json!({"text": "better"}));
}

#[tokio::test]
async fn gains_179_a_models_error_is_the_runs_error() {
    let busy = Reply::error(ModelError::new(ModelErrorKind::Overloaded, "busy"));
    let helper = agent(&ScriptedModel::builder().otherwise(busy).build()).build().unwrap();
    let unheard = outcome(&Runtime::new(), helper.clone()).await;
    let (events, heard) = streamed(&Runtime::new(), helper).await;
    for outcome in [unheard, heard] {
        assert_eq!(outcome.status, RunStatus::Failed);
        let Some(Error::Model(error)) = outcome.error else { panic!("{:?}", outcome.error) };
        assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::Overloaded, "busy"));
    }
    let Some(EventKind::RunEnded(end)) = events.last().map(|event| &event.kind) else { panic!("no end") };
    assert_eq!((end.status, end.error.as_deref()), (RunStatus::Failed, Some("model call failed: busy")));
    let failed =
        events.iter().filter(|event| matches!(event.kind, EventKind::StepEnded(StepEnd::Failed { .. })));
    assert_eq!(failed.map(|event| event.path.as_str()).collect::<Vec<_>>(), ["helper/turn", "helper"]);
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let model = ScriptedModel::replies([Reply::text("I was abo").finish(convoke_core::FinishReason::Length)]);
    let outcome = outcome(&Runtime::new(), agent(&model).build().unwrap()).await;
    assert!(matches!(outcome.error, Some(Error::Model(error)) if error.kind == ModelErrorKind::Truncated));
}

#[tokio::test]
async fn gains_180_usage_is_the_sum_over_the_turns() {
    let usage = Usage::tokens(10, 20);
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("done").usage(usage))
        .otherwise(call("echo", "hi").usage(usage))
        .build();
    let result = result(agent(&model).tool(echo("echo", &Diary::default())).build().unwrap()).await;
    assert_eq!((result.usage.input_tokens, result.usage.output_tokens), (20, 40));
}

#[tokio::test(start_paused = true)]
async fn gains_181_the_defaults() {
    let helper = Agent::builder("helper").build().unwrap();
    assert_eq!(helper.max_turns(), Some(10));
    assert_eq!(helper.tool_timeout(), Some(Duration::from_secs(30)));
    assert_eq!(helper.parallel_tool_calls(), ParallelCalls::ByEffects);
    let builder = Agent::builder("helper").parallel_tool_calls(ParallelCalls::OneByOne);
    assert_eq!(builder.build().unwrap().parallel_tool_calls(), ParallelCalls::OneByOne);

    let next = |request: &ModelRequest| call("echo", &request.messages.len().to_string());
    let eager =
        ScriptedModel::builder().when(Match::offers_tools(), Reply::with(next)).otherwise("Enough.").build();
    let ended = result(agent(&eager).tool(echo("echo", &Diary::default())).build().unwrap()).await;
    assert_eq!((ended.stop, ended.turns, eager.calls()), (AgentStop::MaxTurns, 10, 10));

    let diary = Diary::default();
    let model = calls_then_done(call("late", "a").and_tool("just", json!({"text": "b"})));
    let builder = agent(&model).tool(slow("late", &diary, Duration::from_secs(31))).tool(slow(
        "just",
        &diary,
        Duration::from_secs(29),
    ));
    let ended = result(builder.build().unwrap()).await;
    assert_eq!(diary.entries(), ["late(a) begins", "just(b) begins", "just(b) ends"]);
    let [(late, true), (just, false)] = &results(&ended)[..] else { panic!("{:?}", results(&ended)) };
    assert!(late.contains("did not finish within 30s"), "{late}");
    assert_eq!(just, "[b]");
}

#[tokio::test(start_paused = true)]
async fn calls_that_conflict_run_in_call_order_beside_those_that_do_not() {
    use convoke_core::{Access, AccessMode};
    let diary = Diary::default();
    let write = slow("write", &diary, Duration::from_secs(2))
        .effects([ToolEffect::Writes])
        .accesses(|args: crate::common::Text| vec![Access { resource: args.text, mode: AccessMode::Write }]);
    let calls =
        call("write", "a").and_tool("write", json!({"text": "a"})).and_tool("write", json!({"text": "b"}));
    let result = result(agent(&calls_then_done(calls)).tool(write).build().unwrap()).await;
    let entries = diary.entries();
    assert_eq!(entries[..2], ["write(a) begins", "write(b) begins"]);
    let of_a: Vec<_> = entries.iter().filter(|entry| entry.contains("(a)")).collect();
    assert_eq!(of_a, ["write(a) begins", "write(a) ends", "write(a) begins", "write(a) ends"]);
    assert_eq!(results(&result).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_of_the_run_holds_for_calls_too() {
    let diary = Diary::default();
    let model = calls_then_done(call("slow", "a").and_tool("slow", json!({"text": "b"})));
    let helper = agent(&model).tool(slow("slow", &diary, Duration::from_secs(1))).build().unwrap();
    let runtime = Runtime::builder().max_concurrency(std::num::NonZeroUsize::MIN).build();
    outcome(&runtime, helper).await.completed().unwrap();
    assert_eq!(diary.entries(), ["slow(a) begins", "slow(a) ends", "slow(b) begins", "slow(b) ends"]);
}

#[tokio::test]
async fn a_conversation_may_go_on_and_has_its_instructions_once() {
    let model = ScriptedModel::builder().otherwise("Yes.").build();
    let helper = agent(&model).system("Be brief.").build().unwrap();
    let first = result(helper.clone()).await;
    let mut more = first.transcript.clone();
    more.push(convoke_core::Message::user("Sure?"));
    let talk = Runtime::new().start(&Workflow::new(helper), Conversation::from(more)).await.unwrap();
    let roles: Vec<String> = talk
        .completed()
        .unwrap()
        .result
        .unwrap()
        .transcript
        .iter()
        .map(|m| format!("{:?}", m.role))
        .collect();
    assert_eq!(roles, ["System", "User", "Assistant", "User", "Assistant"]);
}
