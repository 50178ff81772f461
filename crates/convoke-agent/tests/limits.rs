//! Limits end in an answer: turns, budgets, repetition.
use crate::common::{Diary, agent, call, echo, outcome, result, results, streamed};
use convoke_agent::{Agent, AgentResult, AgentStop, Conversation, FunctionTool, InvalidAgent};
use convoke_core::{
    Error, FinishReason, Limits, Message, ModelParams, ModelRequest, Money, Price, Resource, RunStatus,
    Runtime, ToolChoice, Usage, Workflow,
};
use convoke_models::scripted::Replies;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

/// A model that calls a tool, always with other arguments, as long as it may; and then answers.
fn eager() -> ScriptedModel {
    let next = |request: &ModelRequest| call("echo", &request.messages.len().to_string());
    ScriptedModel::builder()
        .when(Match::offers_tools(), Reply::with(next).usage(Usage::tokens(80, 20)))
        .otherwise(Reply::text("My best guess.").usage(Usage::tokens(80, 20)))
        .build()
}

async fn within(limits: Limits, agent: Agent) -> AgentResult {
    let start = Runtime::new().start(&Workflow::new(agent), Conversation::from("go")).limits(limits);
    start.await.unwrap().completed().unwrap().result.unwrap()
}

/// The case counts model calls: with two turns the model is called exactly twice. Ours makes the second one without
/// tools, so that there is an answer; a model that calls a tool nevertheless is not obeyed.
#[tokio::test]
async fn gains_159_endless_calls_end_at_the_last_turn() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .otherwise(Reply::text("Once more.").and_tool("echo", json!({"text": "x"})))
        .build();
    let helper = agent(&model).tool(echo("echo", &diary)).max_turns(2).build().unwrap();
    let (events, outcome) = streamed(&Runtime::new(), helper).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!((result.stop, result.turns, model.calls()), (AgentStop::MaxTurns, 2, 2));
    assert_eq!(result.text(), "Once more.");
    assert_eq!(diary.entries().len(), 1);
    // Every call in the conversation has its result, the last one that it was not made.
    assert_eq!(results(&result).len(), 2);
    assert!(results(&result)[1].1);
    let (started, ended) = ("tool_call_started", "tool_call_ended");
    let count = |name: &str| events.iter().filter(|event| crate::common::kind(&event.kind) == name).count();
    assert_eq!((count(started), count(ended)), (2, 2));
}

#[tokio::test]
async fn the_last_turn_is_made_without_tools_and_says_so() {
    let model = eager();
    let result =
        result(agent(&model).tool(echo("echo", &Diary::default())).max_turns(3).build().unwrap()).await;
    assert_eq!(
        (result.stop, result.turns, result.text().as_str()),
        (AgentStop::MaxTurns, 3, "My best guess.")
    );
    let last = model.last_request().unwrap();
    assert!(last.tools.is_empty());
    assert_eq!(last.tool_choice, ToolChoice::None);
    assert!(last.messages.last().unwrap().text().contains("last turn"));
    assert!(model.requests()[..2].iter().all(|request| request.tools.len() == 1));
    assert_eq!(result.transcript.last().unwrap().text(), "My best guess.");
}

#[tokio::test]
async fn one_turn_without_tools_is_an_ordinary_one() {
    let model = ScriptedModel::replies(["Hello!"]);
    let result = result(agent(&model).max_turns(1).build().unwrap()).await;
    assert_eq!(result.stop, AgentStop::Complete);
    assert_eq!(model.last_request().unwrap().messages.len(), 1);
}

#[tokio::test]
async fn no_turns_at_all_is_refused_when_the_agent_is_built() {
    let built = Agent::builder("helper").max_turns(0).build();
    assert!(matches!(built, Err(InvalidAgent::NoTurns { .. })), "{built:?}");
    assert_eq!(Agent::builder("helper").max_turns(None).build().unwrap().max_turns(), None);
    assert!(matches!(Agent::builder("").build(), Err(InvalidAgent::NoName)));
    assert!(matches!(
        Agent::builder("helper").repeat_limit(1).build(),
        Err(InvalidAgent::RepeatLimit { .. })
    ));
}

#[tokio::test]
async fn the_last_model_call_of_a_budget_is_an_answer() {
    for limits in [Limits::default().model_calls(3), Limits::default().turns(3)] {
        let model = eager();
        let result =
            within(limits, agent(&model).tool(echo("echo", &Diary::default())).build().unwrap()).await;
        assert_eq!((result.stop, result.turns), (AgentStop::BudgetExhausted, 3));
        assert_eq!((result.text().as_str(), model.calls()), ("My best guess.", 3));
    }
}

#[tokio::test]
async fn scarce_tokens_and_money_end_in_an_answer() {
    let price = Price::new(Money::from_dollars(1), Money::from_dollars(1));
    for limits in [Limits::default().tokens(1_000), Limits::default().cost(Money::from_micros(450))] {
        let reply = |request: &ModelRequest| match request.tool_choice {
            ToolChoice::None => Reply::text("My best guess."),
            _ => call("echo", &request.messages.len().to_string()),
        };
        let reply = Reply::with(reply).usage(Usage::tokens(80, 20));
        let model = ScriptedModel::builder().price(price).otherwise(reply).build();
        let helper = agent(&model)
            .tool(echo("echo", &Diary::default()))
            .params(ModelParams::default().max_tokens(40))
            .max_turns(None)
            .build()
            .unwrap();
        let result = within(limits, helper).await;
        assert_eq!((result.stop, result.text().as_str()), (AgentStop::BudgetExhausted, "My best guess."));
        assert!(result.turns > 1);
    }
}

#[tokio::test]
async fn the_turn_after_a_call_that_no_tool_calls_were_left_for_is_the_last() {
    for (limit, turns) in [(2, 4), (0, 2)] {
        let (diary, model) = (Diary::default(), eager());
        let helper = agent(&model).tool(echo("echo", &diary)).build().unwrap();
        let result = within(Limits::default().tool_calls(limit), helper).await;
        let made = diary.entries().len() as u64;
        assert_eq!((result.stop, result.turns, made), (AgentStop::BudgetExhausted, turns, limit));
        assert_eq!(result.text(), "My best guess.");
        let (content, is_error) = results(&result).pop().unwrap();
        assert!(is_error && content.contains(&format!("{limit} of {limit} tool calls")), "{content}");
    }
}

#[tokio::test]
async fn whoever_wants_no_more_called_than_there_are_calls_is_done() {
    for (limit, turns) in [(1, 2), (0, 1)] {
        let (diary, model) = (Diary::default(), crate::common::calls_then_done(call("echo", "a")));
        let content = ScriptedModel::replies(["Done."]);
        let model = if limit == 0 { content } else { model };
        let helper = agent(&model).tool(echo("echo", &diary)).build().unwrap();
        let result = within(Limits::default().tool_calls(limit), helper).await;
        assert_eq!((result.stop, result.turns), (AgentStop::Complete, turns));
        assert_eq!((result.limit, diary.entries().len() as u64), (None, limit));
    }
}

#[tokio::test]
async fn a_tool_whose_calls_are_used_up_says_so_and_the_agent_goes_on() {
    let diary = Diary::default();
    let calls =
        call("echo", "a").and_tool("echo", json!({"text": "b"})).and_tool("other", json!({"text": "c"}));
    let model = crate::common::calls_then_done(calls);
    let helper = agent(&model).tool(echo("echo", &diary)).tool(echo("other", &diary)).build().unwrap();
    let result = within(Limits::default().calls_of("echo", 1), helper).await;
    assert_eq!(
        (result.stop, diary.entries()),
        (AgentStop::Complete, vec!["echo(a)".to_owned(), "other(c)".to_owned()])
    );
    let (content, is_error) = results(&result).swap_remove(1);
    assert!(is_error && content.contains("1 of 1 calls of `echo`"), "{content}");
}

#[tokio::test]
async fn a_call_that_the_budget_refuses_is_never_told_as_made_not_when_replayed_either() {
    let model = crate::common::calls_then_done(call("echo", "a").and_tool("echo", json!({"text": "b"})));
    let workflow = Workflow::new(agent(&model).tool(echo("echo", &Diary::default())).build().unwrap());
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let start =
        runtime.start(&workflow, Conversation::from("go")).limits(Limits::default().calls_of("echo", 1));
    let (live, outcome) = start.stream().collect().await;
    let outcome = outcome.unwrap();
    let made = live.iter().filter(|event| crate::common::kind(&event.kind) == "tool_call_executing").count();
    assert_eq!(made, 1);

    let replayed = runtime.replay(&workflow, &outcome.run).await.unwrap().events;
    let result = outcome.completed().unwrap().result.unwrap();
    let ids: Vec<String> =
        result.transcript.iter().flat_map(Message::tool_calls).map(|c| c.id.to_string()).collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        assert_eq!(crate::common::call_events(&replayed, &id), crate::common::call_events(&live, &id));
    }
}

#[tokio::test]
async fn an_agent_that_cannot_even_begin_fails_with_the_budgets_error() {
    for (limits, resource) in [
        (Limits::default().model_calls(0), Resource::ModelCalls),
        (Limits::default().turns(0), Resource::Turns),
        (Limits::default().tokens(0), Resource::Tokens),
    ] {
        let workflow = Workflow::new(agent(&eager()).tool(echo("echo", &Diary::default())).build().unwrap());
        let outcome = Runtime::new().start(&workflow, Conversation::from("go")).limits(limits).await.unwrap();
        assert_eq!(outcome.status, RunStatus::BudgetExhausted);
        assert!(matches!(outcome.error, Some(Error::Budget(spent)) if spent.resource == resource));
    }
}

#[tokio::test]
async fn a_reply_the_budget_cuts_off_is_a_partial_result() {
    // The kernel lets no reply be longer than what is left; this one is as long as that.
    let reply = Reply::with(|request| {
        let allowed = u64::from(request.params.max_tokens.unwrap());
        Reply::text("As far as I").usage(Usage::tokens(1, allowed)).finish(FinishReason::Length)
    });
    let model = ScriptedModel::builder().otherwise(reply).build();
    let result = within(Limits::default().tokens(200), agent(&model).build().unwrap()).await;
    assert_eq!((result.stop, result.text().as_str()), (AgentStop::BudgetExhausted, "As far as I"));
}

/// How many turns an agent makes that would work on for ever, given so much to read, whose every reply has used this much.
async fn turns_within(limits: Limits, to_read: usize, usage: Usage) -> u32 {
    let reply = |request: &ModelRequest| match request.tool_choice {
        ToolChoice::None => Reply::text("My best guess."),
        _ => call("echo", &request.messages.len().to_string()),
    };
    let price = Price::new(Money::from_dollars(1), Money::from_dollars(1));
    let model = ScriptedModel::builder().price(price).otherwise(Reply::with(reply).usage(usage)).build();
    let helper = agent(&model).tool(echo("echo", &Diary::default())).max_turns(None);
    let helper = helper.params(ModelParams::default().max_tokens(40)).build().unwrap();
    let start = Runtime::new().start(&Workflow::new(helper), Conversation::from("x".repeat(to_read)));
    let result = start.limits(limits).await.unwrap().completed().unwrap().result.unwrap();
    assert_eq!((result.stop, result.text().as_str()), (AgentStop::BudgetExhausted, "My best guess."));
    result.turns
}

#[tokio::test]
async fn a_turn_is_the_last_as_soon_as_there_is_less_left_than_it_and_an_answer_took() {
    let thousand = Usage::tokens(500, 500);
    for (limit, turns) in [(2_999, 2), (3_000, 3), (3_999, 3), (4_000, 4)] {
        let tokens = Limits::default().tokens(limit);
        assert_eq!(turns_within(tokens, 1, thousand).await, turns, "{limit} tokens");
        let money = Limits::default().cost(Money::from_micros(limit));
        assert_eq!(turns_within(money, 1, thousand).await, turns, "${limit}/1,000,000");
    }
}

#[tokio::test]
async fn what_there_is_to_read_counts_where_replies_use_less() {
    // 16,000 bytes are about 4,000 tokens.
    let little = Usage::tokens(1, 1);
    for (limit, turns) in [(7_000, 2..=2), (12_000, 3..=u32::MAX)] {
        let made = turns_within(Limits::default().tokens(limit), 16_000, little).await;
        assert!(turns.contains(&made), "{made} turns with {limit} tokens");
    }
}

#[tokio::test]
async fn a_reply_that_is_cut_off_while_there_is_enough_left_is_no_partial_result() {
    let reply = Reply::text("As far as I").usage(Usage::tokens(1, 1)).finish(FinishReason::Length);
    let model = ScriptedModel::builder().otherwise(reply).build();
    let helper = agent(&model).params(ModelParams::default().max_tokens(40)).build().unwrap();
    let start = Runtime::new().start(&Workflow::new(helper), Conversation::from("x".repeat(4_000)));
    let outcome = start.limits(Limits::default().tokens(3_000)).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Failed, "about 1,000 would pay for reading it again");
}

/// A tool that gives the same whatever happens.
fn stubborn(diary: &Diary) -> FunctionTool {
    let diary = diary.clone();
    FunctionTool::new("search", "Searches", move |args: crate::common::Text| {
        diary.note(args.text);
        async { Ok::<_, Error>("nothing found") }
    })
}

#[tokio::test]
async fn the_fourth_identical_call_is_refused_and_the_model_told() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("not called again"), "I give up.")
        .otherwise(call("search", "x"))
        .build();
    let result = result(agent(&model).tool(stubborn(&diary)).build().unwrap()).await;
    assert_eq!((result.stop, result.text().as_str()), (AgentStop::Complete, "I give up."));
    assert_eq!((diary.entries().len(), result.turns), (3, 5));
}

#[tokio::test]
async fn a_model_that_insists_is_stopped_and_still_answers() {
    let diary = Diary::default();
    let model = ScriptedModel::builder()
        .when(!Match::offers_tools(), "There is nothing to be found.")
        .otherwise(call("search", "x"))
        .build();
    let result = result(agent(&model).tool(stubborn(&diary)).max_turns(None).build().unwrap()).await;
    assert_eq!((result.stop, result.text().as_str()), (AgentStop::Looping, "There is nothing to be found."));
    assert_eq!((diary.entries().len(), result.turns), (3, 6));
    assert!(model.last_request().unwrap().messages.last().unwrap().text().contains("the same call"));
}

#[tokio::test]
async fn the_limit_on_repetition_can_be_set_and_taken_off() {
    for (limit, made) in [(Some(2), 1), (None, 9)] {
        let diary = Diary::default();
        let model = ScriptedModel::builder()
            .when(Match::offers_tools(), call("search", "x"))
            .otherwise("Well.")
            .build();
        let result = result(agent(&model).tool(stubborn(&diary)).repeat_limit(limit).build().unwrap()).await;
        assert_eq!(diary.entries().len(), made, "{limit:?}: {}", result.stop);
    }
}

#[tokio::test]
async fn other_arguments_or_other_results_are_no_repetition() {
    let diary = Diary::default();
    let replies = ["a", "a", "a", "b", "a", "a", "a"].map(|text| call("search", text));
    let model = ScriptedModel::builder()
        .when(Match::any(), Replies::in_turn(replies).once())
        .otherwise("done")
        .build();
    let result = result(agent(&model).tool(stubborn(&diary)).build().unwrap()).await;
    assert_eq!((result.stop, diary.entries().len()), (AgentStop::Complete, 7));
    let outcome =
        outcome(&Runtime::new(), agent(&eager()).tool(stubborn(&diary)).max_turns(6).build().unwrap()).await;
    assert_eq!(outcome.completed().unwrap().result.unwrap().stop, AgentStop::MaxTurns);
}

/// A model that says something, calls a tool, and has used this much.
fn talkative(usage: Usage) -> ScriptedModel {
    let reply = Reply::text("So far so good.").and_tool("echo", json!({"text": "x"})).usage(usage);
    ScriptedModel::builder().when(Match::any(), reply).build()
}

#[tokio::test]
async fn an_agent_whose_reply_used_up_more_than_there_was_ends_with_that_reply() {
    let model = talkative(Usage::tokens(90, 90));
    let helper = agent(&model).tool(echo("echo", &Diary::default())).build().unwrap();
    let result = within(Limits::default().tokens(120), helper).await;
    assert_eq!((result.stop, model.calls()), (AgentStop::BudgetExhausted, 1));
    assert_eq!(result.text(), "So far so good.");
}

#[tokio::test]
async fn a_turn_that_there_is_too_little_left_for_ends_the_agent_with_what_it_has() {
    let model = talkative(Usage::tokens(20, 20));
    let long = FunctionTool::new("echo", "Gives much", |_: crate::common::Text| async {
        Ok::<_, Error>("much ".repeat(800))
    });
    let result = within(Limits::default().tokens(150), agent(&model).tool(long).build().unwrap()).await;
    assert_eq!((result.stop, model.calls()), (AgentStop::BudgetExhausted, 1));
    assert_eq!(result.text(), "So far so good.");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_out_of_time_comes_to_the_same_when_it_is_told_again() {
    use std::time::Duration;
    let hour = Duration::from_secs(3_600);
    let diary = Diary::default();
    for (first, second) in [(Duration::ZERO, hour), (hour, Duration::ZERO)] {
        // Out of time in the second turn's reply, or in a call of the first turn.
        let calls = Reply::text("Wait.").and_tool("slow", json!({"text": "x"}));
        let model = ScriptedModel::builder()
            .when(Match::has_tool_result(), Reply::text("late").delay(second))
            .otherwise(calls)
            .build();
        let tool = crate::common::slow("slow", &diary, first).unbounded();
        let helper = agent(&model).tool(tool).timeout(Duration::from_secs(5)).build().unwrap();
        let (workflow, runtime) =
            (Workflow::new(helper), Runtime::builder().store(MemoryStore::new()).build());
        let ended = runtime.start(&workflow, Conversation::from("go")).await.unwrap();
        let run = ended.run.clone();
        let talk = ended.completed().unwrap();
        assert_eq!(talk.result.as_ref().unwrap().stop, AgentStop::TimedOut);
        let told = runtime.replay(&workflow, &run).await.unwrap();
        assert!(told.error.is_none(), "{:?}", told.error);
        assert_eq!((told.unused, told.state), (0, talk));
    }
}
