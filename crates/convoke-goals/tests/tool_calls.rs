//! Tools that goals and agents call.

use std::time::Duration;

use crate::run_support::{Echo, Rig, text};
use convoke_agent::FunctionTool;
use convoke_core::{Error, ToolEffect, ToolEffects, Toolset};
use convoke_goals::{Agent, Goal, Sequence, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

#[tokio::test]
async fn agentcore_053_061_135_tools_are_called_until_there_is_text() {
    let echo = Echo::default();
    let model =
        ScriptedModel::builder().replies([echo.call("one"), echo.call("two"), "found".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let agent = Agent::new("a", "You look things up.").task("Look it up");
    let tree = Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Find")));
    assert_eq!(text(&rig.run(tree).await.completed(), "g"), "found");
    assert_eq!(model.calls(), 3);
    assert_eq!(echo.calls(), ["one", "two"]);

    let model = ScriptedModel::builder().replies([echo.call("three"), "text".into()]).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let tree = Workflow::new("w").sequence(Sequence::new("s").agent(agent));
    assert_eq!(text(&rig.run(tree).await.completed(), "a"), "text");
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agentcore_062_a_tool_declared_fatal_ends_the_goal() {
    let fatal = FunctionTool::new("burn", "Burns", |_: serde_json::Map<String, serde_json::Value>| async {
        Err::<String, _>(Error::failed("the tool broke"))
    })
    .fatal();
    let model = ScriptedModel::builder().otherwise(Reply::tool("burn", json!({}))).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = Toolset::new().with(fatal).unwrap());
    let ran = rig.run(one(Goal::new("g", "Do"))).await;
    assert!(ran.failed().to_string().contains("the tool broke"), "{}", ran.failed());
}

#[tokio::test]
async fn agentcore_055_132_what_goes_wrong_with_tools_goes_back_to_the_model() {
    let echo = Echo::default();
    let calls = Reply::tool("nope", json!({})).and_tool("echo", json!({"wrong": 1}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    assert_eq!(text(&rig.run(one(Goal::new("g", "Do"))).await.completed(), "g"), "done");
    let second = &model.requests()[1];
    let results: Vec<_> = second.messages.iter().flat_map(|message| message.results()).collect();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    assert!(results[0].content.contains("`nope`"), "{}", results[0].content);
    assert!(results[0].content.contains("echo"), "it says which tools there are: {}", results[0].content);
    assert_eq!(echo.calls(), [""; 0]);
}

#[tokio::test]
async fn agentcore_132_of_two_calls_the_one_that_can_be_made_is_made() {
    let echo = Echo::default();
    let calls = Reply::tool("nope", json!({})).and_tool("echo", json!({"text": "a"}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    assert_eq!(text(&rig.run(one(Goal::new("g", "Do"))).await.completed(), "g"), "done");
    let second = &model.requests()[1];
    let results = second.messages.iter().flat_map(|message| message.results());
    let failed: Vec<bool> = results.map(|result| result.is_error).collect();
    assert_eq!((failed, echo.calls()), (vec![true, false], vec!["a".to_owned()]));
}

#[tokio::test]
async fn agentcore_131_results_keep_the_order_of_the_calls() {
    let echo = Echo::default();
    let calls = echo.call("a").and_tool("echo", json!({"text": "b"})).and_tool("echo", json!({"text": "c"}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    rig.run(one(Goal::new("g", "Do"))).await.completed();
    let second = &model.requests()[1];
    let asked: Vec<String> =
        second.messages.iter().flat_map(|m| m.tool_calls()).map(|c| c.id.clone()).collect();
    let results: Vec<_> = second.messages.iter().flat_map(|message| message.results()).collect();
    assert_eq!(results.iter().map(|r| r.content.as_str()).collect::<Vec<_>>(), ["[a]", "[b]", "[c]"]);
    assert_eq!(results.iter().map(|r| r.call_id.clone()).collect::<Vec<_>>(), asked);
}

#[tokio::test]
async fn agentcore_133_without_tools_goals_work_all_the_same() {
    let model = ScriptedModel::replies(["fine"]);
    assert_eq!(text(&Rig::new(&model).run(one(Goal::new("g", "Do"))).await.completed(), "g"), "fine");
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn agentcore_133_who_calls_a_tool_that_nobody_has_is_told_so() {
    for name in ["echo", "mcp_srv_read"] {
        let model = ScriptedModel::builder()
            .when(Match::has_tool_result(), "done")
            .otherwise(Reply::tool(name, json!({})))
            .build();
        let ran = Rig::new(&model).run(one(Goal::new("g", "Do"))).await;
        assert_eq!(text(&ran.completed(), "g"), "done");
        let second = &model.requests()[1];
        let results: Vec<_> = second.messages.iter().flat_map(|message| message.results()).collect();
        assert_eq!(results.len(), 1);
        assert!(results[0].is_error && results[0].content.contains(&format!("`{name}`")), "{results:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn agent_073_calls_that_change_the_same_things_never_overlap() {
    let echo = Echo::default();
    let slow = |name: &'static str, effects: ToolEffects| {
        let echo = echo.clone();
        FunctionTool::new(name, "Writes", move |_: serde_json::Map<String, serde_json::Value>| {
            let echo = echo.clone();
            async move {
                echo.note(format!("{name} begins"));
                tokio::time::sleep(Duration::from_secs(1)).await;
                echo.note(format!("{name} ends"));
                Ok::<_, Error>("ok")
            }
        })
        .effects(effects)
    };
    let write = slow("write", ToolEffect::Writes.into());
    let bash = slow("bash", [ToolEffect::Spawns, ToolEffect::Irreversible].into());
    let calls = Reply::tool("write", json!({})).and_tool("bash", json!({}));
    let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
    let tools = Toolset::new().with(write).unwrap().with(bash).unwrap();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = tools);
    rig.run(one(Goal::new("g", "Do"))).await.completed();
    assert_eq!(echo.calls(), ["write begins", "write ends", "bash begins", "bash ends"]);
}
