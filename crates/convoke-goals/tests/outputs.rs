//! Values out of answers.

mod run_support;

use convoke_core::{ModelError, ModelErrorKind};
use convoke_goals::{Goal, Sequence, Type, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use run_support::{Echo, Rig, prompts, text};
use serde_json::json;

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

#[tokio::test]
async fn agentcore_069_072_fields_are_read_and_others_left_alone() {
    let reply = r#"{"a":"x","b":2,"c":"y","list":["a","b"],"obj":{"k":1},"count":42}"#;
    let model = ScriptedModel::replies([reply]);
    let goal = Goal::new("g", "Do")
        .output("a")
        .output("b")
        .output("obj")
        .output(("list", Type::List(Box::new(Type::String))))
        .output(("count", Type::Int));
    let state = Rig::new(&model).run(one(goal)).await.completed();
    assert_eq!(text(&state, "a"), "x");
    assert_eq!(text(&state, "b"), "2");
    assert_eq!(text(&state, "obj"), "{\"k\":1}");
    assert_eq!(state.get("list"), Some(&json!(["a", "b"])));
    assert_eq!(state.get("count"), Some(&json!(42)), "a number, not its text");
    assert_eq!(state.get("c"), None);
    assert_eq!(text(&state, "g"), reply, "the whole answer is the goal's own value");
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn agentcore_070_prose_and_fences_do_no_harm() {
    let model = ScriptedModel::replies(["Sure!\n```json\n{\"a\": \"x } y\"}\n```\nAnything else?"]);
    let state = Rig::new(&model).run(one(Goal::new("g", "Do").output("a"))).await.completed();
    assert_eq!(text(&state, "a"), "x } y");
}

#[tokio::test]
async fn agentcore_071_what_cannot_be_read_is_asked_for_once_more() {
    let model = ScriptedModel::replies(["The answer is x.", "{\"a\": \"x\"}"]);
    let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output("a"))).await;
    let state = ran.completed();
    assert_eq!(text(&state, "a"), "x");
    assert_eq!(text(&state, "g"), "The answer is x.");
    assert!(ran.customs("output_missing").is_empty());
    let repair = &model.requests()[1];
    let last = repair.messages.last().unwrap().text();
    assert!(last.contains("`a` is missing: there is no JSON object"), "{last}");
    assert!(repair.output.is_some());
}

#[tokio::test]
async fn agentcore_071_what_is_still_missing_is_said_and_unset() {
    let model = ScriptedModel::replies(["{\"a\": \"x\", \"n\": \"many\"}", "{\"n\": \"lots\"}"]);
    let goal = Goal::new("g", "Do").output("a").output(("n", Type::Int)).output("b");
    let ran = Rig::new(&model).run(one(goal)).await;
    let state = ran.completed();
    assert_eq!(text(&state, "a"), "x", "what the first answer had is kept");
    assert_eq!((state.get("n"), state.get("b")), (None, None));
    assert_eq!(model.calls(), 2);
    let missing = ran.customs("output_missing");
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0]["fields"], json!(["n", "b"]));
    assert!(missing[0]["problem"].as_str().unwrap().contains("`n` must be a whole number"), "{missing:?}");
}

#[tokio::test]
async fn a_repair_that_fails_takes_nothing_away() {
    let down = Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"));
    let model = ScriptedModel::builder().replies([Reply::from("prose"), down]).build();
    let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output("a"))).await;
    assert_eq!(text(&ran.completed(), "g"), "prose");
    assert_eq!(ran.customs("output_missing").len(), 1);
}

#[tokio::test]
async fn agentcore_074_a_field_named_like_its_goal_is_the_whole_answer() {
    let model = ScriptedModel::replies(["{\"g\": \"field\"}"]);
    let state = Rig::new(&model).run(one(Goal::new("g", "Do").output("g"))).await.completed();
    assert_eq!(text(&state, "g"), "{\"g\": \"field\"}");
}

#[tokio::test]
async fn agentcore_080_without_tools_the_provider_is_given_the_shape_and_the_prompt_names_it() {
    let model = ScriptedModel::replies(["{\"f1\": \"x\", \"f2\": true}"]);
    let goal = Goal::new("my goal", "Do").output("f1").output(("f2", Type::Bool));
    Rig::new(&model).run(one(goal)).await.completed();
    let output = model.requests()[0].output.clone().unwrap();
    assert_eq!(output.name, "my_goal");
    assert_eq!(
        output.schema,
        json!({
            "type": "object",
            "properties": {"f1": {"type": "string"}, "f2": {"type": "boolean"}},
            "required": ["f1", "f2"],
            "additionalProperties": false,
        })
    );
    let prompt = &prompts(&model)[0];
    assert!(prompt.contains("JSON object") && prompt.contains("`f1`") && prompt.contains("`f2`"), "{prompt}");
}

#[tokio::test]
async fn with_tools_the_shape_is_asked_for_in_words_only() {
    let echo = Echo::default();
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "{\"a\": \"x\"}")
        .otherwise(echo.call("look"))
        .build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let state = rig.run(one(Goal::new("g", "Do").output("a"))).await.completed();
    assert_eq!(text(&state, "a"), "x");
    assert!(model.requests().iter().all(|request| request.output.is_none()));
}

#[tokio::test]
async fn a_typed_output_of_the_goals_own_name_is_what_the_name_stands_for() {
    let model = ScriptedModel::replies([r#"{"count": 5}"#, "many"]);
    let tree = Workflow::new("w").sequence(
        Sequence::new("s")
            .goal(Goal::new("count", "Count them").output(("count", Type::Int)))
            .goal(Goal::new("tell", "There are $count").when(convoke_goals::when("count").at_least(3))),
    );
    let state = Rig::new(&model).run(tree).await.completed();
    assert_eq!(state.get("count"), Some(&json!(5)));
    assert_eq!(text(&state, "tell"), "many");
    assert!(prompts(&model)[1].contains("There are 5"), "{}", prompts(&model)[1]);
}
