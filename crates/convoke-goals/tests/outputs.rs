//! Output values out of answers.

use crate::run_support::{Echo, Rig, prompts, text};
use convoke_core::{ModelError, ModelErrorKind};
use convoke_goals::{Goal, GoalError, Sequence, Type, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
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
    let model = ScriptedModel::replies(["The answer is 5.", "{\"a\": 5}"]);
    let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output(("a", Type::Int)))).await;
    let state = ran.completed();
    assert_eq!(text(&state, "a"), "5");
    assert_eq!(text(&state, "g"), "The answer is 5.");
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
    assert_eq!(text(&state, "g"), "{\"a\": \"x\", \"n\": \"many\"}", "the answer as it was");
    assert_eq!(model.calls(), 2);
    let missing = ran.customs("output_missing");
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0]["fields"], json!(["n", "b"]));
    assert!(missing[0]["problem"].as_str().unwrap().contains("`n` must be a whole number"), "{missing:?}");
}

#[tokio::test]
async fn agentcore_071_an_answer_without_anything_to_read_is_still_an_answer() {
    for answer in ["No object at all.", "{\"a\": 1, \"b\":", "{\"other\": 1}"] {
        let model = ScriptedModel::builder().otherwise(answer).build();
        let goal = Goal::new("g", "Do").output(("a", Type::Int)).output(("b", Type::Int));
        let ran = Rig::new(&model).run(one(goal)).await;
        let state = ran.completed();
        assert_eq!((state.get("a"), state.get("b")), (None, None), "{answer}");
        assert_eq!(text(&state, "g"), answer);
        assert_eq!((model.calls(), ran.custom("goal_ended", "goal")), (2, vec!["g".to_owned()]));
        assert_eq!(ran.customs("output_missing")[0]["fields"], json!(["a", "b"]), "{answer}");
    }
}

#[tokio::test]
async fn a_failure_while_an_output_is_asked_for_once_more_is_not_swallowed() {
    let failures = [
        (ModelErrorKind::InvalidRequest, "json_schema is not supported"),
        (ModelErrorKind::Overloaded, "overloaded"),
        (ModelErrorKind::Refused, "not about this"),
    ];
    for (kind, message) in failures {
        let down = Reply::error(ModelError::new(kind, message));
        let model = ScriptedModel::builder().replies([Reply::from("prose"), down]).build();
        let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output(("a", Type::Int)))).await;
        assert!(ran.failed().to_string().contains(message), "{}", ran.failed());
    }
}

#[tokio::test]
async fn a_single_text_is_the_answer_itself_where_the_answer_is_prose() {
    for prose in ["The answer is x.", "fn main() { let x = {}; }", "```rust\nfn main() {}\n```"] {
        let model = ScriptedModel::replies([prose]);
        let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output("a"))).await;
        assert_eq!(text(&ran.completed(), "a"), prose);
        assert!(ran.customs("output_missing").is_empty());
    }
    // An object that lacks the field is something else: it is asked for again.
    for object in [r#"{"b": "x"}"#, "```json\n{\"b\": \"x\"}\n```"] {
        let model = ScriptedModel::replies([object, r#"{"a": "x"}"#]);
        let ran = Rig::new(&model).run(one(Goal::new("g", "Do").output("a"))).await;
        assert_eq!(text(&ran.completed(), "a"), "x");
    }
}

#[tokio::test]
async fn outputs_that_did_not_come_are_in_the_state_by_who_was_to_give_them() {
    let model = ScriptedModel::builder().otherwise("prose").build();
    let critic = convoke_goals::Agent::new("critic", "You judge.").output(("mark", Type::Int));
    let fan = convoke_goals::Agent::new("fan", "You cheer.");
    let tree = Workflow::new("w")
        .sequence(
            Sequence::new("s")
                .goal(Goal::new("g", "Do").output(("a", Type::Int)).output("b"))
                .goal(Goal::new("team", "Judge").using(critic).using(fan)),
        )
        .sequence(Sequence::parallel("p").goal(Goal::new("h", "Do").output(("c", Type::Bool))));
    let state = Rig::new(&model).run(tree).await.completed();
    let missing = serde_json::to_value(&state.missing).unwrap();
    assert_eq!(missing, json!({"g": ["a", "b"], "h": ["c"], "team.critic": ["mark"]}));
}

#[tokio::test]
async fn a_goal_that_gives_at_last_what_was_missing_is_not_said_to_lack_it() {
    let goal = Goal::new("g", "Do").output(("a", Type::Int));
    for (replies, missing) in [
        (["prose", "still prose", r#"{"a": 1}"#], json!({})),
        ([r#"{"a": 1}"#, "prose", "still prose"], json!({"g": ["a"]})),
    ] {
        let model = ScriptedModel::replies(replies);
        let tree = Workflow::new("w")
            .sequence(Sequence::new("one").goal(goal.clone()))
            .sequence(Sequence::parallel("two").goal(goal.clone()));
        let state = Rig::new(&model).run(tree).await.completed();
        assert_eq!(serde_json::to_value(&state.missing).unwrap(), missing);
    }
}

#[tokio::test]
async fn an_output_that_others_need_fails_whoever_was_to_give_it() {
    let model = ScriptedModel::builder().otherwise("no JSON here").build();
    for user in [
        Goal::new("use", "Use $found"),
        Goal::new("use", "Use it").when(convoke_goals::when("found").at_least(3)),
    ] {
        let tree = Workflow::new("w").sequence(
            Sequence::new("s").goal(Goal::new("look", "Look").output(("found", Type::Int))).goal(user),
        );
        let ran = Rig::new(&model).run(tree).await;
        let error = ran.failed().downcast_ref::<GoalError>();
        let Some(GoalError::MissingOutput { name, output, .. }) = error else { panic!("{}", ran.failed()) };
        assert_eq!((name.as_str(), output.as_str()), ("look", "found"));
        assert!(ran.failed().to_string().contains("gave no `found`, so `$found`"));
    }
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
