//! Events about goals.

use crate::run_support::{Echo, Rig};
use convoke_core::EventKind;
use convoke_goals::{Goal, GoalState, Sequence, Workflow};
use convoke_models::ScriptedModel;
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

#[tokio::test]
async fn agentcore_111_events_tell_a_goal_from_its_beginning_to_its_end() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().replies([echo.call("x"), "done".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let ran = rig.run(one(Goal::new("g", "Do it"))).await;
    ran.completed();
    let told = ran.events.iter().filter_map(|event| match &event.kind {
        EventKind::StepStarted { kind } => Some(format!("{kind} {} started", event.path)),
        EventKind::StepEnded(_) => Some(format!("{} ended", event.path)),
        EventKind::Custom { name, .. } => Some(name.clone()),
        EventKind::ToolCallEnded { .. } => Some("tool".to_owned()),
        _ => None,
    });
    let told: Vec<String> = told.filter(|told| !told.contains("turn")).collect();
    assert_eq!(
        told,
        [
            "workflow w started",
            "sequence w/s started",
            "goal w/s/g started",
            "goal_started",
            "tool",
            "agent_ended",
            "goal_ended",
            "w/s/g ended",
            "w/s ended",
            "w ended"
        ]
    );
    assert_eq!(ran.customs("goal_started"), [json!({"goal": "g", "kind": "goal", "description": "Do it"})]);
    assert_eq!(ran.customs("goal_ended"), [json!({"goal": "g", "output_bytes": 4})]);
}

#[tokio::test]
async fn the_state_is_told_after_each_goal() {
    let model = ScriptedModel::replies(["one", "two"]);
    let tree =
        Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("a", "A")).goal(Goal::new("b", "B")));
    let ran = Rig::new(&model).run(tree).await;
    let told: Vec<String> = ran
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::StateSnapshot { .. } => Some("whole".to_owned()),
            EventKind::StateDelta { .. } => Some("change".to_owned()),
            EventKind::Custom { name, .. } if name == "goal_ended" => Some("goal".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["whole", "goal", "change", "goal", "change"]);
}

#[tokio::test]
async fn agentcore_031_it_runs_the_same_whether_anybody_listens_or_not() {
    let model = ScriptedModel::builder().otherwise("x").build();
    let rig = Rig::new(&model);
    let prepared = rig.prepare(one(Goal::new("g", "Do")));
    let unheard = rig.runtime.start(&prepared.workflow(), GoalState::default()).await.unwrap();
    let heard = rig.run(one(Goal::new("g", "Do"))).await;
    assert_eq!(unheard.state.outputs, heard.completed().outputs);
    assert_eq!(heard.custom_names(), ["goal_started", "goal_ended"]);
}
