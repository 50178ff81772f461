//! Results that were rejected, and are nobody's.
use std::time::Duration;

use crate::run_support::{Ran, Rig, text};
use crate::supervised::{Person, Script, broken, kept, last, one, promise, requests, turns, verdict};
use convoke_core::{Answer, EventKind, RunStatus};
use convoke_goals::{Agent, Goal, Overrides, Retry, Sequence, Workflow};
use convoke_models::scripted::Replies;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn converging() -> Goal {
    Goal::converging("g", "Improve it", 3)
}

fn main(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn drafts() -> Replies {
    Replies::in_turn(["one", "two\nCONVERGED", "three\nCONVERGED"])
}

/// What listeners were told of the state.
fn told(ran: &Ran) -> String {
    let state =
        |kind: &EventKind| matches!(kind, EventKind::StateSnapshot { .. } | EventKind::StateDelta { .. });
    let told = ran.events.iter().filter(|event| state(&event.kind));
    told.map(|event| serde_json::to_string(&event.kind).unwrap()).collect()
}

#[tokio::test]
async fn a_rejected_convergence_leaves_no_draft_behind() {
    let model =
        Script { work: drafts(), post: one(broken()), judge: one(verdict("halt")), ..Script::default() }
            .model();
    let ran = Rig::new(&model).run(main(converging().supervised())).await;
    assert_eq!(ran.outcome.status, RunStatus::Halted);
    assert!(ran.outcome.state.outputs.is_empty(), "{:?}", ran.outcome.state);
    assert!(!told(&ran).contains("two"), "{}", told(&ran));
}

#[tokio::test]
async fn a_draft_that_waits_for_a_person_is_no_result_yet() {
    let model = Script { work: drafts(), ..Script::default() }.model();
    let ran = Rig::new(&model).run(main(converging().supervised_by_human())).await;
    assert_eq!(ran.outcome.status, RunStatus::Suspended);
    assert_eq!(ran.outcome.questions()[0].question.subject["output"], "two");
    assert!(ran.outcome.state.outputs.is_empty(), "{:?}", ran.outcome.state);

    let mut rig = Rig::new(&Script { work: drafts(), ..Script::default() }.model());
    rig.runtime = Person::saying([Answer::revise("once more"), Answer::approve()]).runtime();
    let ran = rig.run(main(converging().supervised_by_human())).await;
    assert_eq!(text(&ran.completed(), "g"), "three");
    assert!(told(&ran).contains("three") && !told(&ran).contains("two"), "{}", told(&ran));
}

#[tokio::test(start_paused = true)]
async fn nor_is_one_that_time_ran_out_on() {
    let model = Script { work: drafts(), post: Reply::text("x").hangs().into(), ..Script::default() }.model();
    let goal = converging().supervised().customize(Overrides::new().timeout(Duration::from_secs(5)));
    let ran = Rig::new(&model).run(main(goal)).await;
    assert_eq!(ran.outcome.status, RunStatus::TimedOut);
    assert!(ran.outcome.state.outputs.is_empty(), "{:?}", ran.outcome.state);
}

#[tokio::test]
async fn what_was_there_before_a_rejection_stays() {
    let model = Script {
        work: Replies::in_turn(["before\nCONVERGED", "after\nCONVERGED"]),
        post: turns([kept(), broken()]),
        judge: one(verdict("halt")),
        ..Script::default()
    }
    .model();
    let goal = converging().supervised();
    let tree = Workflow::new("w")
        .sequence(Sequence::new("a").goal(goal.clone()))
        .sequence(Sequence::new("b").goal(goal));
    let ran = Rig::new(&model).run(tree).await;
    assert_eq!(ran.outcome.status, RunStatus::Halted);
    assert_eq!(text(&ran.outcome.state, "g"), "before");
}

#[tokio::test]
async fn goals_below_a_watched_convergence_still_see_the_draft() {
    let model = ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise()))
        .when(Match::output("assessment"), Reply::json(kept()))
        .when(
            Match::output("round_verdict"),
            [true, false].map(|more| Reply::json(json!({"improvable": more}))),
        )
        .otherwise(Replies::in_turn(["first draft", "second draft"]))
        .build();
    let goal = converging().using(Goal::new("half", "Do the half of it")).supervised();
    let ran = Rig::new(&model).run(main(goal)).await;
    assert_eq!(text(&ran.completed(), "g"), "second draft");
    assert!(last(&requests(&model, "work")[1]).contains("first draft"));
}

#[tokio::test]
async fn a_goal_that_comes_to_nothing_leaves_nothing_of_its_agents_behind() {
    // Whoever puts the answers together wants a tool, and has none, and no second turn.
    let model = ScriptedModel::builder()
        .when(Match::system_contains("answers of several agents"), Reply::tool("look", json!({})))
        .otherwise(r#"{"score": "3"}"#)
        .build();
    let ann = Agent::new("ann", "You are Ann.").output("score");
    let goal = Goal::new("g", "Judge it").using(ann).using(Agent::new("bob", "You are Bob."));
    let ran = Rig::new(&model).run(main(goal)).await;
    assert!(ran.failed().to_string().contains("could not be put together"), "{}", ran.failed());
    assert!(ran.outcome.state.outputs.is_empty(), "{:?}", ran.outcome.state);
}

#[tokio::test(start_paused = true)]
async fn a_second_try_knows_nothing_of_what_the_first_made() {
    // The first try makes two versions and fails on the third.
    let overloaded =
        || Reply::error(convoke_core::ModelError::new(convoke_core::ModelErrorKind::Overloaded, "too much"));
    let work = || {
        Replies::in_turn([
            Reply::text("stale one"),
            Reply::text("stale two"),
            overloaded(),
            Reply::text("fresh"),
            Reply::text("CONVERGED"),
        ])
    };
    for goal in [
        converging(),
        converging().supervised(),
        converging().using(Agent::new("ann", "You are Ann.")),
        Goal::new("g", "Have it improved").using(Goal::converging("half", "Improve it", 3)),
    ] {
        let model = Script { work: work(), ..Script::default() }.model();
        let goal = goal.customize(Overrides::new().retry(Retry::times(1)));
        let ran = Rig::new(&model).run(main(goal)).await;
        assert_eq!(text(&ran.completed(), "g"), "fresh");
        let asked = requests(&model, "work");
        assert_eq!(asked.len(), 5);
        for request in &asked[3..] {
            assert!(!last(request).contains("stale"), "{}", last(request));
        }
        assert_eq!(ran.completed().outputs.len(), 1, "{:?}", ran.completed());
    }
}
