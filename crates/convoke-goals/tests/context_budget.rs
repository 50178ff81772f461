//! The size limit of prompts: what is left out is said.

use crate::run_support::{Rig, prompts, systems};
use crate::supervised::{Script, broken, one};
use convoke_goals::{Agent, Goal, Input, Sequence, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

const BUDGET: usize = 2_000;

/// As much as the budget allows, and as much again for what is around it.
const ROOM: usize = 2 * BUDGET;

fn rig(model: &ScriptedModel) -> Rig {
    Rig::new(model).with(|equipment| equipment.context_budget.bytes = BUDGET)
}

fn long() -> String {
    format!("BEGIN{}END", "x".repeat(10_000))
}

#[tokio::test]
async fn a_long_value_in_the_text_of_a_goal_is_cut_and_it_is_said() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("<current-goal id=\"read\">"), long())
        .otherwise("short")
        .build();
    let tree = Workflow::new("w")
        .input(Input::new("given"))
        .sequence(Sequence::new("s").goal(Goal::new("read", "Read")).goal(Goal::new("use", "Use $read!")))
        .sequence(Sequence::new("t").goal(Goal::new("weigh", "Weigh $given.")));
    let ran = rig(&model).run_with(tree, [("given", &long())]).await;
    ran.completed();

    let made = &prompts(&model)[1];
    assert!(made.len() < ROOM, "{}", made.len());
    let goal = &made[made.find("<current-goal").unwrap()..];
    assert!(goal.contains("\nBEGINx") && goal.contains("xEND\n[end "), "{goal}");
    assert!(goal.contains("8008 of 10008 bytes left out here"), "{goal}");
    let given = &prompts(&model)[2];
    assert!(given.len() < ROOM && given.contains("Weigh BEGINx") && given.contains("xEND."), "{given}");

    let cut = |goal: &str, part: &str, kept: usize| json!({"goal": goal, "parts": [{"name": part, "bytes": 10_008, "kept": kept}]});
    let told = ran.customs("context_cut");
    assert_eq!(told[0], cut("use", "read", BUDGET), "the value in its text");
    assert_eq!(told[1], cut("weigh", "given", BUDGET));
    assert!(
        !made.contains("<goal id=\"read\">"),
        "what stands in its text does not stand among earlier results too"
    );
}

#[tokio::test]
async fn what_fits_is_not_cut_and_leaves_the_rest_to_earlier_results() {
    let (half, model) = ("y".repeat(900), ScriptedModel::builder().otherwise("z".repeat(900)).build());
    let tree = Workflow::new("w")
        .input(Input::new("given"))
        .sequence(Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B: $given")));
    let ran = rig(&model).run_with(tree, [("given", &half)]).await;
    ran.completed();
    let prompt = &prompts(&model)[1];
    assert!(prompt.contains(&half) && prompt.contains(&"z".repeat(900)), "{prompt}");
    assert!(ran.customs("context_cut").is_empty());
}

#[tokio::test]
async fn of_several_values_the_largest_is_cut() {
    let model = ScriptedModel::replies(["x"]);
    let tree = Workflow::new("w")
        .input(Input::new("file"))
        .input(Input::new("question"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "Look at $file and say: $question")));
    let ran = rig(&model).run_with(tree, [("file", &long()), ("question", "Who wrote this?")]).await;
    ran.completed();
    assert!(prompts(&model)[0].contains("say: Who wrote this?"), "{}", prompts(&model)[0]);
    assert_eq!(ran.customs("context_cut")[0]["parts"][0]["name"], "file");
}

#[tokio::test]
async fn values_in_personas_and_in_tasks_of_agents_have_a_size_too() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let sage = Agent::new("sage", "You know this: $given").task("Tell about $given");
    let tree = Workflow::new("w").input(Input::new("given")).sequence(Sequence::new("s").agent(sage));
    let ran = rig(&model).run_with(tree, [("given", &long())]).await;
    ran.completed();
    assert!(prompts(&model)[0].len() < ROOM && prompts(&model)[0].contains("left out here"));
    assert!(systems(&model)[0].len() < ROOM && systems(&model)[0].contains("left out here"));
    assert_eq!(ran.custom("context_cut", "goal"), ["sage", "sage"]);
}

#[tokio::test]
async fn a_workflow_that_is_an_agent_is_told_within_the_size_and_no_mark_is_cut_off() {
    let model = ScriptedModel::builder()
        .when(Match::output("round_verdict"), Reply::json(json!({"improvable": true})))
        .otherwise(long())
        .build();
    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig: $task")));
    let goal = Goal::converging("g", "Go deep", 2).using(Agent::workflow("digger", inner, "task"));
    let ran = rig(&model).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await;
    ran.completed();
    let all = prompts(&model);
    let second = all.iter().rfind(|prompt| prompt.contains("<current-goal id=\"dig\">")).unwrap();
    assert!(second.len() < ROOM && second.contains("Improve on this:"), "{second}");
    assert_eq!(second.matches("[data ").count(), second.matches("[end ").count(), "{second}");
    let told = ran.customs("context_cut");
    assert!(told.iter().any(|cut| cut["parts"][0]["name"] == "iteration 1"), "{told:?}");
}

#[tokio::test]
async fn what_those_who_assess_and_judge_do_not_see_is_said() {
    let output = "x".repeat(100_000);
    let script = Script { work: output.into(), post: one(broken()), ..Script::default() };
    let goal = Goal::new("g", "Write a lot").supervised();
    let ran = Rig::new(&script.model()).run(Workflow::new("w").sequence(Sequence::new("s").goal(goal))).await;
    ran.completed();
    let cut =
        |kept: usize| json!({"goal": "g", "parts": [{"name": "output", "bytes": 100_000, "kept": kept}]});
    assert_eq!(ran.customs("context_cut"), [cut(64 * 1024), cut(24 * 1024)]);
}
