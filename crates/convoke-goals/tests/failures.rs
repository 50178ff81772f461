//! Goals that fail: where and why, what is left of them, and limits that are reached.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::run_support::{Echo, Ran, Rig, prompts, text};
use convoke_core::{
    Canceller, Error, Event, EventKind, Limits, ModelError, ModelErrorKind, Resource, RunStatus, Runtime,
    StepEnd, Usage,
};
use convoke_goals::{Agent, Equipment, Goal, GoalError, GoalState, Overrides, Sequence, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn down() -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"))
}

#[tokio::test]
async fn agentcore_054_062_failures_say_where_and_why() {
    let model = ScriptedModel::builder().otherwise(down()).build();
    let tree = Workflow::new("w").sequence(Sequence::new("s").agent(Agent::new("a", "P").task("T")));
    let ran = Rig::new(&model).run(tree).await;
    let error = ran.failed().to_string();
    let places = ["`a`", "model down"].map(|part| error.find(part).expect(&error));
    assert!(places.is_sorted(), "{error}");

    let ran = Rig::new(&model).run(one(Goal::new("g", "Do"))).await;
    let error = ran.failed().to_string();
    let places = ["`g`", "model down"].map(|part| error.find(part).expect(&error));
    assert!(places.is_sorted(), "{error}");
}

#[tokio::test]
async fn agentcore_075_106_a_failure_keeps_what_was_done_and_nothing_of_itself() {
    let model = ScriptedModel::builder().replies([Reply::from("first"), down()]).build();
    let tree = Workflow::new("w").sequence(
        Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")).goal(Goal::new("c", "C")),
    );
    let ran = Rig::new(&model).run(tree).await;
    assert_eq!(ran.outcome.status, RunStatus::Failed);
    assert!(ran.failed().to_string().contains("model down"));
    assert_eq!(text(&ran.outcome.state, "a"), "first");
    assert_eq!(ran.outcome.state.get("b"), None);
    assert_eq!(model.calls(), 2);
    assert_eq!(ran.custom("goal_ended", "goal"), ["a"]);
    let ended = ran.events.iter().find_map(|event| match &event.kind {
        EventKind::StepEnded(StepEnd::Failed { error, .. }) if event.path.as_str() == "w" => Some(error),
        _ => None,
    });
    let error = ended.expect("the workflow's end says that it failed").to_string();
    assert!(error.contains("model down"), "and with what: {error}");
}

#[tokio::test]
async fn agentcore_122_without_a_model_a_run_says_what_is_missing() {
    let prepared = one(Goal::new("g", "Do")).prepare(&Equipment::default()).unwrap();
    let outcome = Runtime::new().start(&prepared.workflow(), GoalState::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("`g`") && error.contains("no model is configured"), "{error}");
}

#[tokio::test]
async fn agentcore_103_nothing_begins_after_a_cancellation() {
    let model = ScriptedModel::replies(["never"]);
    let rig = Rig::new(&model);
    let prepared = rig.prepare(one(Goal::new("g", "Do")));
    let canceller = Canceller::new();
    canceller.cancel("enough");
    let outcome =
        rig.runtime.start(&prepared.workflow(), GoalState::default()).canceller(&canceller).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    assert!(matches!(outcome.error.as_ref().unwrap().root(), Error::Cancelled(_)), "{:?}", outcome.error);
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn agentcore_103_the_next_step_and_the_next_sequence_do_not_begin_either() {
    for (ended, asked) in [("w/one/a", 1), ("w/one", 2)] {
        let model = ScriptedModel::builder().otherwise("x").build();
        let tree = Workflow::new("w")
            .sequence(Sequence::new("one").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")))
            .sequence(Sequence::new("two").goal(Goal::new("c", "C")));
        let canceller = Canceller::new();
        let (cancels, started) = (canceller.clone(), Arc::<Mutex<Vec<String>>>::default());
        let begun = Arc::clone(&started);
        let observer = move |event: &Event| match &event.kind {
            EventKind::StepEnded(_) if event.path.as_str() == ended => cancels.cancel("enough"),
            EventKind::StepStarted { kind } if *kind == "goal" => {
                begun.lock().unwrap().push(event.path.to_string());
            }
            _ => {}
        };
        let runtime = Runtime::builder().observer(observer).build();
        let workflow = Rig::new(&model).prepare(tree).workflow();
        let outcome = runtime.start(&workflow, GoalState::default()).canceller(&canceller).await.unwrap();
        assert_eq!(outcome.status, RunStatus::Cancelled, "{ended}");
        let error = outcome.error.unwrap();
        assert!(matches!(error.root(), Error::Cancelled(_)), "{error}");
        assert_eq!(model.calls(), asked, "{ended}");
        assert_eq!(*started.lock().unwrap(), ["w/one/a", "w/one/b"][..asked], "{ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn agent_064_time_that_runs_out_during_a_call_is_said_to_have() {
    let model =
        ScriptedModel::builder().otherwise(Reply::text("late").delay(Duration::from_secs(60))).build();
    let goal = Goal::new("g", "Do").customize(Overrides::new().timeout(Duration::from_secs(5)));
    let ran = Rig::new(&model).run(one(goal)).await;
    assert_eq!(ran.outcome.status, RunStatus::TimedOut);
    assert!(ran.failed().to_string().contains("did not finish within 5s"), "{}", ran.failed());
}

#[tokio::test]
async fn agent_082_limits_end_in_an_answer_that_is_known_to_be_incomplete_or_in_an_error_of_their_own() {
    let echo = Echo::default();
    let model = ScriptedModel::builder()
        .when(!Match::offers_tools(), "what I have")
        .otherwise(Reply::with({
            let echo = echo.clone();
            move |request| echo.call(&request.messages.len().to_string())
        }))
        .build();
    let rig = Rig::new(&model).with(|equipment| {
        equipment.tools = echo.tools();
        equipment.max_turns = Some(3);
    });
    let ran = rig.run(one(Goal::new("g", "Do"))).await;
    assert_eq!(text(&ran.completed(), "g"), "what I have");
    assert_eq!(
        ran.customs("goal_incomplete"),
        [json!({"goal": "g", "reason": "it reached its limit of 3 turns"})]
    );
    assert_eq!(model.calls(), 3);

    let limited = |limits: Limits| one(Goal::new("g", "Do").customize(Overrides::new().budget(limits)));
    let ran = rig.run(limited(Limits::default().model_calls(0))).await;
    assert_eq!(ran.outcome.status, RunStatus::BudgetExhausted);
    assert_eq!(exhausted(&ran), Resource::ModelCalls);

    let reply = echo.call("x").usage(Usage::tokens(100, 100));
    let model = ScriptedModel::builder().otherwise(reply).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let ran = rig.run(limited(Limits::default().tokens(150))).await;
    assert_eq!(ran.outcome.status, RunStatus::BudgetExhausted);
    assert_eq!(exhausted(&ran), Resource::Tokens);
    assert!(ran.failed().to_string().contains("tokens"), "{}", ran.failed());
}

#[tokio::test]
async fn a_goal_whose_tools_a_budget_took_away_was_cut_short_and_one_that_wanted_no_more_called_was_not() {
    let echo = Echo::default();
    let model = ScriptedModel::builder()
        .when(!Match::offers_tools(), "what I have")
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::with({
            let echo = echo.clone();
            move |_| echo.call("x")
        }))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let limits = Limits::default();
    for (limits, is_cut_short) in [
        (limits.clone().model_calls(1), true),
        (limits.clone().turns(1), true),
        (limits.clone().tool_calls(0), true),
        (limits.tool_calls(1), false),
    ] {
        let goal = Goal::new("g", "Do").customize(Overrides::new().budget(limits.clone()));
        let ran = rig.run(one(goal)).await;
        let reason = is_cut_short.then_some("what it may use was used up");
        assert_eq!(ran.completed().cut_short.get("g").map(String::as_str), reason, "{limits:?}");
        assert_eq!(ran.customs("goal_incomplete").len(), usize::from(is_cut_short));
    }
}

/// What a run had no more of.
fn exhausted(ran: &Ran) -> Resource {
    match ran.failed().root() {
        Error::Budget(exhausted) => exhausted.resource.clone(),
        other => panic!("it failed for another reason: {other}"),
    }
}

#[tokio::test]
async fn a_reply_that_is_empty_is_asked_for_again_with_the_reason_and_is_no_answer_then() {
    let model = ScriptedModel::replies(["  \n", "done"]);
    let state = Rig::new(&model).run(one(Goal::new("g", "Do"))).await.completed();
    assert_eq!(text(&state, "g"), "done");
    assert!(prompts(&model)[1].ends_with("Your last reply was empty. Give the result now."));

    let model = ScriptedModel::replies(["  \n", " "]);
    let ran = Rig::new(&model).run(one(Goal::new("g", "Do"))).await;
    let error = ran.failed().downcast_ref::<GoalError>();
    assert_eq!(error, Some(&GoalError::Empty { name: "g".into() }), "{}", ran.failed());
}

/// A model that calls a tool as long as it may.
fn tireless(echo: &Echo) -> ScriptedModel {
    let echo = echo.clone();
    ScriptedModel::builder()
        .when(!Match::offers_tools(), "what I have")
        .otherwise(Reply::with(move |request| echo.call(&request.messages.len().to_string())))
        .build()
}

#[tokio::test]
async fn a_budget_of_more_turns_than_usual_raises_the_limit_of_those_it_is_for() {
    for (limits, turns) in [(None, 50), (Some(70), 70)] {
        let echo = Echo::default();
        let model = tireless(&echo);
        let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
        let mut sequence = Sequence::new("s").goal(Goal::new("g", "Do"));
        if let Some(turns) = limits {
            sequence = sequence.customize(Overrides::new().budget(Limits::default().turns(turns)));
        }
        let ran = rig.run(Workflow::new("w").sequence(sequence)).await;
        let state = ran.completed();
        assert_eq!(model.calls(), turns);
        let cut_short = format!("it reached its limit of {turns} turns");
        assert_eq!(state.cut_short.get("g").map(String::as_str), Some(cut_short.as_str()));
    }
}

#[tokio::test]
async fn what_is_said_for_everybody_holds_whatever_budgets_say() {
    let echo = Echo::default();
    let model = tireless(&echo);
    let rig = Rig::new(&model).with(|equipment| {
        equipment.tools = echo.tools();
        equipment.max_turns = Some(4);
    });
    let goal = Goal::new("g", "Do").customize(Overrides::new().budget(Limits::default().turns(100)));
    let state = rig.run(one(goal)).await.completed();
    assert_eq!((model.calls(), state.cut_short.len()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn the_nearer_of_two_time_limits_holds() {
    let model = ScriptedModel::builder().otherwise(Reply::text("late").hangs()).build();
    let goal = Goal::new("g", "Do").customize(Overrides::new().timeout(Duration::from_secs(60)));
    let sequence =
        Sequence::new("s").goal(goal).customize(Overrides::new().timeout(Duration::from_millis(20)));
    let ran = Rig::new(&model).run(Workflow::new("w").sequence(sequence)).await;
    assert_eq!(ran.outcome.status, RunStatus::TimedOut);
    assert!(ran.failed().to_string().contains("`w/s` did not finish within 20ms"), "{}", ran.failed());
}

#[tokio::test(start_paused = true)]
async fn an_empty_reply_is_a_failure_that_may_pass() {
    let echo = crate::run_support::Echo::default();
    for goal in [Goal::new("g", "Do it"), Goal::new("g", "Do it").output("a")] {
        for with_tools in [false, true] {
            let model = ScriptedModel::replies(["", r#"{"a": "x"}"#]);
            let rig = Rig::new(&model).with(|equipment| {
                if with_tools {
                    equipment.tools = echo.tools();
                }
            });
            let overrides = convoke_goals::Overrides::new().retry(convoke_goals::Retry::times(1));
            let state = rig.run(one(goal.clone().customize(overrides))).await.completed();
            assert_eq!(text(&state, "g"), r#"{"a": "x"}"#);
        }
    }
}
