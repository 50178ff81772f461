//! Tests with servers that refuse a schema.

use convoke_core::{Category, ModelErrorKind, ModelRequest, OutputSchema};
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
async fn a_refusal_is_known_by_what_it_says_whatever_its_status() {
    for status in [404, 415, 500, 501] {
        let said = json!({"error": {"message": "response_format json_schema is not supported"}});
        let server = Server::start([Answer::json(status, said), hello()]).await;
        assert_eq!(ask(&model(&server), request()).await.unwrap().text(), "Hello.", "{status}");
        ask(&model(&server), request()).await.unwrap();
        let formats: Vec<Value> = server.asked().iter().map(|asked| format(asked).clone()).collect();
        assert_eq!(formats, [json!("json_schema"), Value::Null, Value::Null], "{status}: it is remembered");
    }
}

#[tokio::test]
async fn what_is_refused_may_be_named_beside_the_words() {
    let said = json!({"error": {"message": "Unsupported value", "param": "response_format"}});
    let server = Server::start([Answer::json(500, said), hello()]).await;
    assert_eq!(ask(&model(&server), request()).await.unwrap().text(), "Hello.");
}

#[tokio::test]
async fn a_refusal_may_be_the_first_thing_in_a_stream() {
    let said = || json!({"error": {"message": "response_format json_schema is not supported"}});
    let with_usage = json!({"error": said()["error"], "usage": {"prompt_tokens": 3, "completion_tokens": 0}});
    for refusal in [said(), with_usage] {
        let server = Server::start([Answer::events([refusal]), hello()]).await;
        assert_eq!(ask(&model(&server), request()).await.unwrap().text(), "Hello.");
        assert_eq!(ask(&model(&server), request()).await.unwrap().text(), "Hello.");
        assert_eq!(server.asked().len(), 3, "it is remembered");
    }
}

#[tokio::test]
async fn other_errors_are_no_refusals() {
    let schema = "response_format json_schema is not for you";
    for (status, said) in
        [(404, "no such model"), (500, "out of order"), (401, schema), (403, schema), (429, schema)]
    {
        let answer = Answer::json(status, json!({"error": {"message": said}}));
        let server = Server::start([answer, hello()]).await;
        ask(&model(&server), request()).await.unwrap_err();
        assert_eq!(server.asked().len(), 1, "{status}: {said}");
    }
    let broken = Answer::events([json!({"error": {"message": "out of order"}})]);
    let server = Server::start([broken, hello()]).await;
    let error = ask(&model(&server), request()).await.unwrap_err();
    assert!(error.message.contains("out of order"), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn what_is_refused_in_either_way_is_not_tried_again_and_names_the_setting() {
    let refused = |status| {
        Answer::json(status, json!({"error": {"message": "response_format json_schema is not supported"}}))
    };
    for (first, then) in [(500, 501), (500, 422), (404, 400)] {
        let other = Answer::json(then, json!({"error": {"message": "nor so"}}));
        let server = Server::start([refused(first), other]).await;
        let error = ask(&model(&server), request()).await.unwrap_err();
        if then == 501 {
            // That may pass.
            assert_eq!(error.status, Some(501));
            continue;
        }
        assert_ne!(error.category(), Category::Transient, "{error}");
        assert!(error.message.contains("services.compatible.structured_output"), "{error}");
        assert!(error.message.contains("json_schema is not supported"), "{error}");
    }
    let server = Server::start([refused(500)]).await;
    let settings = settings_at(&format!("{}/v1", server.url));
    let settings = settings.service("own").structured_output(Some(StructuredOutput::JsonObject));
    let error = ask(&ProviderModel::new("qwen3", settings).unwrap(), request()).await.unwrap_err();
    assert!(error.message.contains("`services.own.structured_output`, which can be `words`"), "{error}");
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
