//! Tests of which rule answers, and how often.

use convoke_core::{
    Message, Model, ModelRequest, OutputSchema, Part, Reality, Role, ToolCall, ToolChoice, ToolDefinition,
    ToolResult, Transcript,
};
use convoke_models::scripted::Replies;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::json;

/// Whether a rule with this condition answers the request.
async fn holds(condition: Match, request: &ModelRequest) -> bool {
    let model = ScriptedModel::builder().when(condition, "yes").otherwise("no").build();
    model.answer(request.clone()).await.unwrap().text() == "yes"
}

async fn say(model: &ScriptedModel, text: &str) -> String {
    model.answer(ModelRequest::new(text)).await.unwrap().text()
}

/// A user asks for the weather, the model calls a tool, the tool answers.
fn after_a_tool_call() -> Transcript {
    let call = ToolCall { id: "1".into(), name: "weather".into(), arguments: json!({}) };
    let result = ToolResult {
        call_id: "1".into(),
        name: "weather".into(),
        content: "weather: fine".into(),
        is_error: false,
    };
    Transcript::from_iter([
        Message::system("Be brief."),
        Message::user("How is the weather?"),
        Message { role: Role::Assistant, parts: vec![Part::ToolCall(call)] },
        Message::tool_results([result]),
    ])
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: String::new(), parameters: json!({"type": "object"}) }
}

#[tokio::test]
async fn a_queue_is_answered_in_order_whatever_is_asked() {
    let model = ScriptedModel::replies(["first", "second"]);
    assert_eq!(say(&model, "a").await, "first");
    assert_eq!(say(&model, "a").await, "second");
}

#[tokio::test]
async fn the_first_rule_that_matches_answers() {
    let model = ScriptedModel::builder()
        .otherwise("nothing")
        .when(Match::last_contains("weather"), "sunny")
        .when(Match::last_contains("weather in Oslo"), "rainy")
        .build();
    assert_eq!(say(&model, "the weather in Oslo").await, "sunny");
    assert_eq!(say(&model, "the Weather").await, "nothing");
}

#[tokio::test]
async fn replies_of_a_rule_come_in_turn_and_the_last_one_repeats() {
    let model = ScriptedModel::builder().when(Match::any(), ["one", "two"]).build();
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(say(&model, "count").await);
    }
    assert_eq!(said, ["one", "two", "two", "two"]);
}

#[tokio::test]
async fn a_rule_with_a_limit_gives_way_to_later_rules() {
    let model = ScriptedModel::builder()
        .when(Match::any(), Reply::text("a").once())
        .when(Match::any(), Replies::in_turn(["b", "c"]).once())
        .when(Match::any(), Reply::text("d").times(2))
        .otherwise("e")
        .build();
    let mut said = String::new();
    for _ in 0..7 {
        said += &say(&model, "go").await;
    }
    assert_eq!(said, "abcddee");
}

#[tokio::test]
async fn texts_are_matched_in_the_message_they_are_looked_for_in() {
    let request = ModelRequest::new(after_a_tool_call());
    assert!(!holds(Match::last_contains("weather"), &request).await, "a tool result is not text");
    assert!(holds(Match::last_equals(""), &request).await);
    assert!(holds(Match::user_contains("weather"), &request).await);
    assert!(holds(Match::user_equals("How is the weather?"), &request).await);
    assert!(!holds(Match::user_equals("How is the weather"), &request).await);
    assert!(holds(Match::any_contains("brief"), &request).await);
    assert!(holds(Match::system_contains("brief"), &request).await);
    assert!(!holds(Match::system_contains("weather"), &request).await);
    assert!(holds(Match::last_where(str::is_empty), &request).await);
    assert!(holds(Match::request_where(|request| request.messages.len() == 4), &request).await);
}

#[tokio::test]
async fn tool_results_match_until_the_model_has_answered_them() {
    let mut talk = after_a_tool_call();
    let fresh = ModelRequest::new(talk.clone());
    assert!(holds(Match::has_tool_result(), &fresh).await);
    assert!(holds(Match::tool_result_of("weather"), &fresh).await);
    assert!(!holds(Match::tool_result_of("search"), &fresh).await);
    assert!(holds(Match::tool_result_contains("fine"), &fresh).await);

    talk.push(Message::assistant("It is fine."));
    talk.push(Message::user("And tomorrow?"));
    assert!(!holds(Match::has_tool_result(), &ModelRequest::new(talk)).await);
}

#[tokio::test]
async fn tools_match_only_while_they_may_be_called() {
    let mut request = ModelRequest { tools: vec![tool("search")], ..ModelRequest::new("find it") };
    assert!(holds(Match::offers_tools(), &request).await);
    assert!(holds(Match::offers_tool("search"), &request).await);
    assert!(!holds(Match::offers_tool("delete"), &request).await);
    request.tool_choice = ToolChoice::None;
    assert!(!holds(Match::offers_tool("search"), &request).await);
    assert!(holds(!Match::offers_tools(), &request).await);
}

#[tokio::test]
async fn the_output_schema_matches_by_name() {
    let output = OutputSchema { name: "Verdict".into(), description: String::new(), schema: json!({}) };
    let request = ModelRequest { output: Some(output), ..ModelRequest::new("judge") };
    assert!(holds(Match::output("Verdict"), &request).await);
    assert!(!holds(Match::output("Plan"), &request).await);
    assert!(!holds(Match::output("Verdict"), &ModelRequest::new("judge")).await);
}

#[tokio::test]
async fn calls_are_counted_from_one() {
    let model = ScriptedModel::builder().when(Match::call(2), "second").otherwise("other").build();
    assert_eq!(say(&model, "x").await, "other");
    assert_eq!(say(&model, "x").await, "second");
    assert_eq!(say(&model, "x").await, "other");
}

#[tokio::test]
async fn conditions_combine() {
    let request = ModelRequest::new("the cat sat");
    let (cat, dog) = (|| Match::last_contains("cat"), || Match::last_contains("dog"));
    assert!(!holds(cat().and(dog()), &request).await);
    assert!(holds(cat().or(dog()), &request).await);
    assert!(holds(cat().and(!dog()), &request).await);
}

#[tokio::test]
async fn a_computed_reply_sees_the_request_and_yields_to_what_is_set_on_it() {
    let echo =
        Reply::with(|request: &ModelRequest| request.messages.last().map(Message::text).unwrap_or_default());
    let model = ScriptedModel::builder().otherwise(echo.reasoning("echo")).build();
    let reply = model.answer(ModelRequest::new("hello")).await.unwrap();
    assert_eq!(reply.text(), "hello");
    assert!(matches!(&reply.message.parts[0], Part::Reasoning { text, .. } if text == "echo"));
}

#[test]
fn it_is_simulated_and_has_a_name() {
    assert_eq!(ScriptedModel::replies(["x"]).reality(), Reality::Simulated);
    assert_eq!(ScriptedModel::replies(["x"]).name(), "scripted");
    assert_eq!(ScriptedModel::builder().name("demo").build().name(), "demo");
}

#[tokio::test]
async fn a_condition_may_ask_the_model_itself() {
    let shared = std::sync::Arc::new(std::sync::OnceLock::<ScriptedModel>::new());
    let inner = std::sync::Arc::clone(&shared);
    let first = Match::request_where(move |_| inner.get().is_some_and(|model| model.calls() == 1));
    let model = ScriptedModel::builder().when(first, "no deadlock").build();
    shared.set(model.clone()).unwrap();
    assert_eq!(say(&model, "x").await, "no deadlock");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_calls_use_each_reply_once() {
    let model = ScriptedModel::replies((0..200).map(|number| number.to_string()));
    let calls = (0..200).map(|_| {
        let model = model.clone();
        tokio::spawn(async move { say(&model, "next").await.parse::<u32>().unwrap() })
    });
    let mut said = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        said.push(call.await.unwrap());
    }
    said.sort_unstable();
    assert_eq!(said, (0..200).collect::<Vec<_>>());
}
