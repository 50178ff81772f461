//! Parallel sequences.

use std::time::Duration;

use crate::run_support::{Rig, prompts, text};
use convoke_core::{ModelError, ModelErrorKind};
use convoke_goals::{Goal, Input, Sequence, Type, Workflow, when};
use convoke_models::{Match, Reply, ScriptedModel};

fn down() -> Reply {
    Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"))
}

#[tokio::test(start_paused = true)]
async fn agentcore_038_goals_of_a_parallel_sequence_see_nothing_of_each_other_and_are_joined_in_declared_order()
 {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("<current-goal id=\"before\">"), "known by then")
        .when(
            Match::user_contains("<current-goal id=\"slow\">"),
            Reply::text("slow one").delay(Duration::from_millis(30)),
        )
        .when(Match::user_contains("<current-goal id=\"end\">"), "end")
        .otherwise("quick one")
        .build();
    let tree = Workflow::new("w")
        .sequence(Sequence::new("b").goal(Goal::new("before", "B")))
        .sequence(Sequence::parallel("p").goal(Goal::new("slow", "S")).goal(Goal::new("quick", "Q")))
        .sequence(Sequence::new("s").goal(Goal::new("end", "E")));
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(
        state.outputs.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["before", "slow", "quick", "end"]
    );
    let all = prompts(&model);
    let of = |goal: &str| all.iter().find(|p| p.contains(&format!("<current-goal id=\"{goal}\">"))).unwrap();
    for goal in ["slow", "quick"] {
        assert!(of(goal).contains("known by then"), "what there was when they began: {}", of(goal));
        assert!(!of(goal).contains("slow one") && !of(goal).contains("quick one"), "{}", of(goal));
    }
    assert!(of("end").find("slow one").unwrap() < of("end").find("quick one").unwrap());
}

#[tokio::test]
async fn of_parallel_goals_all_must_succeed() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("id=\"bad\""), down())
        .otherwise(Reply::text("x").hangs())
        .build();
    let tree = Workflow::new("w")
        .sequence(Sequence::parallel("p").goal(Goal::new("hangs", "H")).goal(Goal::new("bad", "B")));
    let ran = Rig::new(&model).run(tree).await;
    assert!(ran.failed().to_string().contains("model down"), "{}", ran.failed());
    assert!(ran.outcome.state.outputs.is_empty());
}

#[tokio::test]
async fn what_a_branch_takes_back_is_taken_back() {
    // The same goal first without a result of its own, and without converging; then at the same time as another.
    let replies = [r#"{"n": 1, "converged": false}"#, "no number here", "still none", "CONVERGED", "beside"];
    let model = ScriptedModel::replies(replies);
    let count = Goal::converging("count", "Count", 1).output(("n", Type::Int));
    let tree = Workflow::new("w")
        .sequence(Sequence::new("first").goal(count.clone()))
        .sequence(Sequence::parallel("both").goal(count));
    let ran = Rig::new(&model).run(tree).await;
    let state = ran.completed();
    assert_eq!(state.get("n"), None, "what it gave before is not what it gives now: {state:?}");
}

#[tokio::test]
async fn what_was_skipped_before_and_is_done_in_a_branch_is_not_skipped() {
    let model = ScriptedModel::builder().otherwise("done").build();
    let mail = Goal::new("mail", "Write a mail");
    let tree = Workflow::new("w")
        .input(Input::new("early").typed(Type::Bool).default(false))
        .sequence(Sequence::new("first").goal(mail.clone()).when(when("early").is(true)))
        .sequence(Sequence::parallel("both").goal(mail).goal(Goal::new("call", "Call them")));
    let state = Rig::new(&model).run(tree).await.completed();
    assert!(state.skipped.is_empty(), "{:?}", state.skipped);
    assert_eq!(text(&state, "mail"), "done");
}
