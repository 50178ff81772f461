//! Tests of structured output and tool calls of a real model: always valid, however small the model is.

mod common;

use common::{addition, ask, open, pieces, question, weather};
use convoke_core::{
    FinishReason, Message, ModelErrorKind, ModelRequest, OutputSchema, Part, ReplyDelta, Role, ToolCall,
    ToolChoice, ToolResult,
};
use serde_json::{Value, json};

fn shaped(text: &str, schema: Value) -> ModelRequest {
    let mut request = question(text);
    request.params = request.params.max_tokens(200);
    request.output = Some(OutputSchema { name: "answer".into(), description: String::new(), schema });
    request
}

fn with_tools(text: &str, choice: ToolChoice) -> ModelRequest {
    let mut request = question(text);
    request.params = request.params.max_tokens(200);
    request.tools = vec![weather(), addition()];
    request.tool_choice = choice;
    request
}

#[track_caller]
fn assert_valid(schema: &Value, value: &Value) {
    let problems: Vec<_> = jsonschema::validator_for(schema)
        .expect("a schema")
        .iter_errors(value)
        .map(|e| e.to_string())
        .collect();
    assert!(problems.is_empty(), "{value}: {problems:?}");
}

#[tokio::test]
async fn answers_fit_their_schemas() {
    let Some(model) = open().await else { return };
    let schemas = [
        json!({"type": "boolean"}),
        json!({"enum": ["bug", "feature", "question"]}),
        json!({"type": "integer", "minimum": 1, "maximum": 5, "format": "uint8"}),
        json!({"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 2, "maxItems": 3}),
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 3, "maxLength": 40},
                "severity": {"enum": ["low", "high"]},
                "score": {"type": "number", "minimum": 0, "maximum": 1},
                "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,8}$"}, "maxItems": 3},
                "owner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/person"}]},
            },
            "required": ["title", "severity", "score", "tags", "owner"],
            "additionalProperties": false,
            "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}}, "required": ["name"], "additionalProperties": false}},
        }),
    ];
    for schema in schemas {
        for temperature in [0.0, 1.5] {
            let mut request =
                shaped("The program crashes when I press the red button. File a report.", schema.clone());
            request.params = request.params.temperature(temperature).seed(5);
            let reply = ask(&model, request).await.unwrap();
            assert_eq!(reply.finish, FinishReason::Stop, "{}", reply.text());
            assert_valid(&schema, &serde_json::from_str(&reply.text()).unwrap());
        }
    }
}

#[tokio::test]
async fn a_schema_that_cannot_be_enforced_is_refused_by_name() {
    let Some(model) = open().await else { return };
    let schema = json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true});
    let error = ask(&model, shaped("Give numbers.", schema)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
    assert!(error.message.contains("uniqueItems"), "{error}");
    let mut stopping = shaped("Give a number.", json!({"type": "integer"}));
    stopping.params.stop = vec!["1".into()];
    assert_eq!(ask(&model, stopping).await.unwrap_err().kind, ModelErrorKind::InvalidRequest);
}

#[tokio::test]
async fn a_required_tool_is_called_with_valid_arguments() {
    let Some(model) = open().await else { return };
    let request = with_tools("What is the weather in Oslo?", ToolChoice::Required);
    let deltas = pieces(&model, request.clone()).await.unwrap();
    assert!(matches!(deltas[0], ReplyDelta::ToolCallStarted { index: 0, .. }), "{deltas:?}");
    let streamed =
        deltas.iter().filter(|delta| matches!(delta, ReplyDelta::ToolCallArguments { .. })).count();
    assert!(streamed > 1, "arguments come in pieces");
    let reply = ask(&model, request).await.unwrap();
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert_eq!(reply.text(), "");
    assert_calls_are_valid(&reply.tool_calls());
}

#[track_caller]
fn assert_calls_are_valid(calls: &[ToolCall]) {
    assert!(!calls.is_empty());
    for call in calls {
        let tool =
            [weather(), addition()].into_iter().find(|tool| tool.name == call.name).expect("a declared tool");
        assert_valid(&tool.parameters, &call.arguments);
    }
}

#[tokio::test]
async fn a_possible_call_is_text_or_a_valid_call() {
    let Some(model) = open().await else { return };
    for (seed, text) in (1..).zip([
        "What is the weather in Oslo?",
        "Say hello.",
        "What is 12 plus 30?",
        "Call the add tool now.",
    ]) {
        let mut request = with_tools(text, ToolChoice::Auto);
        request.params = request.params.temperature(0.8).seed(seed);
        let reply = ask(&model, request).await.unwrap();
        match reply.finish {
            FinishReason::ToolCalls => assert_calls_are_valid(&reply.tool_calls()),
            _ => assert!(reply.tool_calls().is_empty() && !reply.text().is_empty()),
        }
    }
}

#[tokio::test]
async fn a_conversation_with_calls_and_results_goes_on() {
    let Some(model) = open().await else { return };
    let mut request = with_tools("What is the weather in Oslo?", ToolChoice::None);
    let call = ToolCall { id: "1".into(), name: "get_weather".into(), arguments: json!({"city": "Oslo"}) };
    let result = ToolResult {
        call_id: "1".into(),
        name: "get_weather".into(),
        content: "Heavy snow, -12 degrees.".into(),
        is_error: false,
    };
    request.messages.push(Message { role: Role::Assistant, parts: vec![Part::ToolCall(call)] });
    request.messages.push(Message::tool_results([result]));
    let reply = ask(&model, request).await.unwrap();
    assert!(reply.text().to_lowercase().contains("snow"), "{}", reply.text());
}

#[tokio::test]
async fn with_tools_and_a_schema_the_answer_still_fits() {
    let Some(model) = open().await else { return };
    let schema = json!({"type": "object", "properties": {"sum": {"type": "integer", "maximum": 999, "minimum": 0}}, "required": ["sum"], "additionalProperties": false});
    let mut request = shaped("What is 12 plus 30?", schema.clone());
    request.tools = vec![addition()];
    let reply = ask(&model, request).await.unwrap();
    match reply.finish {
        FinishReason::ToolCalls => assert_calls_are_valid(&reply.tool_calls()),
        _ => assert_valid(&schema, &serde_json::from_str(&reply.text()).unwrap()),
    }
}
