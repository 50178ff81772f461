//! Tests with servers that refuse a schema.

use convoke_core::{ModelErrorKind, ModelRequest, OutputSchema};
use convoke_models::ProviderModel;
use convoke_models::provider::StructuredOutput;
use serde_json::{Value, json};

use super::{hello, model, settings_at};
use crate::server::{Answer, ReceivedRequest, Server, ask};

fn request() -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut request = ModelRequest::new("Hi");
    request.output = Some(OutputSchema { name: "x".to_owned(), description: String::new(), schema });
    request
}

fn refusal() -> Answer {
    Answer::json(
        400,
        json!({"error": {"message": "'response_format' of type 'json_schema' is not supported"}}),
    )
}

fn format(asked: &ReceivedRequest) -> &Value {
    &asked.body["response_format"]["type"]
}

fn first_message(asked: &ReceivedRequest) -> &str {
    asked.body["messages"][0]["content"].as_str().unwrap()
}

#[tokio::test]
async fn a_server_that_refuses_schemas_is_asked_in_words_and_never_with_one_again() {
    let server = Server::start([refusal(), hello()]).await;
    assert_eq!(ask(&model(&server), request()).await.unwrap().text(), "Hello.");
    // Another model object of the same process knows it, too.
    assert_eq!(ask(&model(&server), request()).await.unwrap().text(), "Hello.");
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(format(&asked[0]), "json_schema");
    for words in &asked[1..] {
        assert!(words.body.get("response_format").is_none(), "{}", words.body);
        let told = "one JSON object that follows this JSON Schema: {\"properties\"";
        assert!(first_message(words).contains(told), "{}", words.body);
    }
    // The same key with another body would be an error to whoever honours it.
    assert_ne!(asked[0].headers["idempotency-key"], asked[1].headers["idempotency-key"]);
}

#[tokio::test]
async fn a_request_that_is_refused_in_words_too_was_not_refused_for_its_schema() {
    let other = Answer::json(400, json!({"error": {"message": "in words it is wrong as well"}}));
    let server = Server::start([refusal(), other, hello()]).await;
    let error = ask(&model(&server), request()).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
    assert!(error.message.contains("'json_schema' is not supported"), "{error}");
    ask(&model(&server), request()).await.unwrap();
    assert_eq!(format(&server.last()), "json_schema", "nothing was remembered");
}

#[tokio::test]
async fn an_answer_without_a_shape_is_asked_for_once() {
    let server = Server::start([refusal(), hello()]).await;
    ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn whoever_says_how_a_service_is_to_be_asked_is_heeded() {
    for (how, expected) in [
        (StructuredOutput::JsonSchema, json!("json_schema")),
        (StructuredOutput::JsonObject, json!("json_object")),
        (StructuredOutput::Words, Value::Null),
    ] {
        let server = Server::start([hello(), refusal()]).await;
        let settings = settings_at(&format!("{}/v1", server.url)).structured_output(Some(how));
        let model = ProviderModel::new("qwen3", settings).unwrap();
        ask(&model, request()).await.unwrap();
        assert_eq!(*format(&server.last()), expected);
        let in_words = first_message(&server.last()).contains("JSON Schema");
        assert_eq!(in_words, how != StructuredOutput::JsonSchema);
        ask(&model, request()).await.unwrap_err();
        assert_eq!(server.asked().len(), 2, "it is not asked otherwise");
    }
}
