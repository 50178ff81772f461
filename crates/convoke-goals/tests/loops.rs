//! Loops: sequences that run again and again.

use crate::run_support::{Rig, prompts, text};
use convoke_goals::{Goal, Sequence, Within, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn looping(times: u32) -> Workflow {
    Workflow::new("w").sequence(
        Sequence::looping("l", Within::Times(times))
            .goal(Goal::new("build", "Build"))
            .goal(Goal::new("test", "Test $build")),
    )
}

#[tokio::test]
async fn a_loop_goes_on_until_a_judge_says_that_nothing_is_left_to_improve() {
    let verdict = |improvable: bool| Reply::json(json!({"improvable": improvable}));
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), [verdict(true), verdict(false)])
        .otherwise(Reply::with(|request| format!("draft {}", request.messages.len())))
        .build();
    let ran = Rig::new(&model).run(looping(987_654)).await;
    let state = ran.completed();
    assert_eq!(model.calls(), 6);
    assert!(state.unconverged.is_empty() && ran.customs("convergence_cap_reached").is_empty());
    let second = prompts(&model)[3].clone();
    assert!(second.contains("<goal id=\"build\">"), "in a loop a goal sees what it made before: {second}");
    assert!(prompts(&model).iter().all(|prompt| !prompt.contains("987654")), "the limit is not told");
}

#[tokio::test]
async fn a_loop_that_comes_to_its_limit_is_noted_and_no_failure() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .otherwise("draft")
        .build();
    let ran = Rig::new(&model).run(looping(2)).await;
    assert_eq!(ran.completed().unconverged.get("l"), Some(&2));
    assert_eq!(ran.customs("convergence_cap_reached"), [json!({"convergence": "l", "cap": 2})]);
}

#[tokio::test]
async fn the_word_that_ends_a_convergence_ends_a_loop_and_is_taken_out() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .when(Match::user_contains("<current-goal id=\"build\">"), "built")
        .otherwise(["still red", "CONVERGED"].map(Reply::from))
        .build();
    let state = Rig::new(&model).run(looping(5)).await.completed();
    assert_eq!(text(&state, "test"), "still red", "a marker alone is no result");
    assert_eq!(model.calls(), 5);
}

#[tokio::test]
async fn a_loop_whose_first_round_gives_nothing_but_its_end_has_no_result() {
    let model = ScriptedModel::replies(["CONVERGED"]);
    let tree = Workflow::new("w")
        .sequence(Sequence::looping("again", convoke_goals::Within::Times(3)).goal(Goal::new("g", "Do it")));
    let ran = Rig::new(&model).run(tree).await;
    assert!(ran.failed().to_string().contains("nothing but the word"), "{}", ran.failed());
}

#[tokio::test]
async fn what_a_judge_is_shown_has_a_size() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": false})))
        .otherwise("long ".repeat(10_000))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.context_budget.bytes = 2_000);
    rig.run(looping(3)).await.completed();
    let shown = prompts(&model).pop().unwrap();
    assert!(shown.len() < 4_000 && shown.contains("left out"), "{}", shown.len());
}
