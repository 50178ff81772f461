//! Tools on demand: offered by name, and described once they are opened.
use crate::run_support::{Rig, systems, text};
use convoke_agent::FunctionTool;
use convoke_core::{Error, ModelRequest, Toolset};
use convoke_goals::agentfile::model::Tools;
use convoke_goals::{Goal, Overrides, Sequence, Spawning, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn tools() -> Toolset {
    ["read", "write", "look", "bake", "sing"].into_iter().fold(Toolset::new(), |tools, name| {
        let tool = FunctionTool::new(
            name,
            "Does it.",
            move |_: serde_json::Map<String, serde_json::Value>| async move {
                Ok::<_, Error>(format!("{name}: done"))
            },
        );
        tools.with(tool).unwrap()
    })
}

fn rig(model: &ScriptedModel) -> Rig {
    Rig::new(model).with(|equipment| {
        equipment.tools = tools();
        equipment.tools_on_demand = true;
        equipment.spawning = Spawning::default();
        equipment.workspace = "<workspace>many files</workspace>".to_owned();
    })
}

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn offered(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn a_goal_that_needs_no_tools_pays_for_none() {
    let model = ScriptedModel::replies(["Nine."]);
    assert_eq!(text(&rig(&model).run(one(Goal::new("g", "Say nine"))).await.completed(), "g"), "Nine.");
    assert_eq!(offered(&model.requests()[0]), ["open_tools"]);
    let system = &systems(&model)[0];
    assert!(system.contains("open_tools") && !system.contains("sub-agents"), "{system}");
    assert!(!system.contains("many files"), "who has not opened a tool cannot look at them: {system}");
}

#[tokio::test]
async fn a_goal_that_needs_one_opens_it() {
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("bake: done"), "Baked.")
        .when(Match::tool_result_contains("open now: bake"), Reply::tool("bake", json!({})))
        .otherwise(Reply::tool("open_tools", json!({"names": ["bake"]})))
        .build();
    assert_eq!(text(&rig(&model).run(one(Goal::new("g", "Bake"))).await.completed(), "g"), "Baked.");
    assert_eq!(offered(&model.requests()[1]), ["bake", "open_tools"]);
}

#[tokio::test]
async fn tools_that_a_goal_names_are_described_at_once() {
    let model = ScriptedModel::replies(["Done."]);
    let named = Overrides::new().allowed_tools(Tools::Named(vec!["read".to_owned(), "look".to_owned()]));
    rig(&model).run(one(Goal::new("g", "Look").customize(named))).await.completed();
    assert_eq!(offered(&model.requests()[0]), ["read", "look"]);
    assert!(systems(&model)[0].contains("many files"));
}

#[tokio::test]
async fn who_has_notes_or_a_memory_at_hand_is_told_what_for() {
    for (tool, said) in
        [("recall", "Your memory outlasts this run"), ("scratchpad_write", "The scratchpad keeps notes")]
    {
        let tools = tools()
            .with(FunctionTool::new(tool, "Does it.", |_: serde_json::Value| async { Ok::<_, Error>("") }));
        let tools = tools.unwrap();
        for (named, is_told) in [(Some(tool), true), (Some("read"), false), (None, false)] {
            let model = ScriptedModel::replies(["Done."]);
            let mut goal = Goal::new("g", "Look");
            if let Some(named) = named {
                goal = goal.customize(Overrides::new().allowed_tools(Tools::Named(vec![named.to_owned()])));
            }
            rig(&model).with(|equipment| equipment.tools = tools.clone()).run(one(goal)).await.completed();
            assert_eq!(systems(&model)[0].contains(said), is_told, "{tool}, {named:?}");
        }
    }
}

#[tokio::test]
async fn tools_of_a_program_are_described_unless_it_says_otherwise() {
    let model = ScriptedModel::replies(["Done."]);
    let rig = Rig::new(&model).with(|equipment| equipment.tools = tools());
    rig.run(one(Goal::new("g", "Look"))).await.completed();
    assert_eq!(offered(&model.requests()[0]), ["read", "write", "look", "bake", "sing"]);
}
