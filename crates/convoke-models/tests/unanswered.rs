//! Tests of the explanation when a script has no answer.

use convoke_core::{Category, Message, ModelErrorKind, ModelRequest, OutputSchema, ToolResult, Transcript};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

async fn complaint(model: &ScriptedModel, request: ModelRequest) -> String {
    let error = model.answer(request).await.unwrap_err();
    assert_eq!((error.kind, error.category()), (ModelErrorKind::InvalidRequest, Category::UserInput));
    error.message
}

#[tokio::test]
async fn a_used_up_queue_says_how_many_replies_it_had() {
    let model = ScriptedModel::replies(["a", "b"]);
    for _ in 0..2 {
        model.answer(ModelRequest::new("x")).await.unwrap();
    }
    let expected = r#"model `scripted`: the script has 2 replies and this is call 3
  last message: user, "and now?"
  rules:
    1. any request (used up: answered 2 of 2 times)
  Add a reply to the list, or `.when(Match::last_contains("and now?"), Reply::text("…"))` or `.otherwise("…")`"#;
    assert_eq!(complaint(&model, ModelRequest::new("and now?")).await, expected);
}

#[tokio::test]
async fn it_shows_the_request_the_rules_and_the_rule_to_add() {
    let model = ScriptedModel::builder()
        .name("demo")
        .when(Match::last_contains("weather"), "sunny")
        .when(Match::call(1).and(!Match::offers_tools()), Reply::text("once").once())
        .when(Match::any(), Vec::<Reply>::new())
        .build();
    model.answer(ModelRequest::new("x")).await.unwrap();
    let long = format!("Please tell me everything about the history of looms.\n{}", "And more. ".repeat(50));
    let said = complaint(&model, ModelRequest::new(long)).await;
    let expected = r#"model `demo`: no rule of the script answers call 2
  last message: user, "Please tell me everything about the history of looms.\nAnd more. And more. And more. And more. And mo…"
  rules:
    1. the last message contains "weather"
    2. it is call 1 and not (tools are offered) (used up: answered 1 of 1 times)
    3. any request (has no reply)
  Add `.when(Match::last_contains("Please tell me everything about the"), Reply::text("…"))` or `.otherwise("…")`"#;
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_tool_result_without_a_rule_is_shown_with_its_tool() {
    let result =
        ToolResult { call_id: "1".into(), name: "search".into(), content: "3 hits".into(), is_error: false };
    let talk = Transcript::from_iter([Message::user("find"), Message::tool_results([result])]);
    let said = complaint(&ScriptedModel::builder().build(), ModelRequest::new(talk)).await;
    assert!(said.contains(r#"last message: tool, "search: 3 hits""#), "{said}");
    assert!(said.contains("rules: none"), "{said}");
    assert!(said.contains(r#"Match::tool_result_of("search")"#), "{said}");
}

#[tokio::test]
async fn a_schema_without_a_rule_is_named() {
    let output = OutputSchema { name: "Verdict".into(), description: String::new(), schema: json!({}) };
    let request = ModelRequest { output: Some(output), ..ModelRequest::new("judge") };
    let said = complaint(&ScriptedModel::builder().build(), request).await;
    assert!(said.contains(r#"Match::output("Verdict")"#), "{said}");
}

#[tokio::test]
async fn an_empty_conversation_is_said_to_be_empty() {
    let said = complaint(&ScriptedModel::builder().build(), ModelRequest::default()).await;
    assert!(said.contains("the conversation is empty"), "{said}");
    assert!(said.contains("Match::call(1)"), "{said}");
}

#[tokio::test]
async fn a_script_from_a_file_is_told_in_its_own_language() {
    let model = ScriptedModel::from_toml_str("[[rule]]\nwhen.call = 9\nreply = 'x'").unwrap();
    let said = complaint(&model, ModelRequest::new("hello")).await;
    assert!(said.contains("`[[rule]]` with `when.last_contains = \"hello\"`"), "{said}");
}
