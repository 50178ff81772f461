//! Workflows that are agents, and how deep things may stand below each other.

use crate::run_support::{Rig, prompts, text};
use convoke_core::EventKind;
use convoke_goals::{Agent, Goal, Input, Sequence, Type, Workflow};
use convoke_models::{Match, ScriptedModel};
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

#[tokio::test]
async fn a_workflow_can_be_an_agent_and_its_last_result_is_the_answer() {
    let model = ScriptedModel::builder()
        .when(Match::user_contains("<current-goal id=\"dig\">"), "raw")
        .when(Match::user_contains("<current-goal id=\"tell\">"), "{\"depth\": 7}")
        .build();
    let inner = Workflow::new("inner").input(Input::new("task")).sequence(
        Sequence::new("only")
            .goal(Goal::new("dig", "Dig: $task"))
            .goal(Goal::new("tell", "Tell").output(("depth", Type::Int))),
    );
    let agent = Agent::workflow("digger", inner, "task").output(("depth", Type::Int));
    let ran = Rig::new(&model).run(one(Goal::new("g", "Go deep").using(agent))).await;
    let state = ran.completed();
    assert_eq!(text(&state, "g"), "{\"depth\": 7}");
    assert_eq!(state.get("g.digger.depth"), Some(&json!(7)));
    assert_eq!(state.get("dig"), None, "its values are its own");
    assert!(prompts(&model)[0].contains("Dig: Go deep"), "{}", prompts(&model)[0]);
    assert!(ran.events.iter().any(|event| event.path.as_str() == "w/s/g/digger/inner/only/dig"));
}

#[tokio::test]
async fn the_state_of_a_workflow_that_is_an_agent_is_not_told_as_the_runs() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("dig", "Dig: $task")));
    let agent = Agent::workflow("digger", inner, "task").task("Go deep");
    let ran = Rig::new(&model).run(Workflow::new("w").sequence(Sequence::new("s").agent(agent))).await;
    assert_eq!(text(&ran.completed(), "digger"), "x");
    let told = ran
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::StateSnapshot { .. } | EventKind::StateDelta { .. }));
    let told: Vec<String> = told.map(|event| serde_json::to_string(&event.kind).unwrap()).collect();
    assert!(told.iter().all(|told| !told.contains("dig\"") && !told.contains("task")), "{told:?}");
}

#[tokio::test]
async fn workflows_that_are_agents_of_each_other_are_so_only_so_deep() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let innermost = Workflow::new("w0")
        .input(Input::new("task"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "Do $task")));
    let nested = |depth: usize| {
        (1..=depth).fold(innermost.clone(), |inner, level| {
            let agent = Agent::workflow(format!("a{level}"), inner, "task");
            let goal = Goal::new("g", "Pass on: $task").using(agent);
            Workflow::new(format!("w{level}"))
                .input(Input::new("task"))
                .sequence(Sequence::new("s").goal(goal))
        })
    };
    let ran = Rig::new(&model).run_with(nested(8), [("task", "it")]).await;
    assert_eq!(text(&ran.completed(), "g"), "x");
    let problems = nested(9).prepare(&Rig::new(&model).equipment).unwrap_err().to_string();
    assert!(problems.contains("agent `a1`") && problems.contains("more than 8 deep"), "{problems}");
    assert_eq!(model.calls(), 1, "that is known before anything runs");
}

#[tokio::test]
async fn goals_below_goals_are_so_only_so_deep() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let nested = |depth: usize| {
        let goal = (1..=depth).fold(Goal::new("g0", "Do it"), |inner, level| {
            Goal::new(format!("g{level}"), "Pass it on").using(inner)
        });
        Workflow::new("w").sequence(Sequence::new("s").goal(goal))
    };
    assert_eq!(text(&Rig::new(&model).run(nested(32)).await.completed(), "g32"), "x");
    for depth in [33, 5_000] {
        let problems = nested(depth).prepare(&Rig::new(&model).equipment).unwrap_err().to_string();
        assert!(problems.contains("more than 32 deep"), "{problems}");
    }
}
