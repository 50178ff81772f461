//! Tests of requests.

use convoke_core::{
    Media, MediaSource, Message, ModelErrorKind, ModelParams, ModelRequest, OutputSchema, Part,
    ReasoningEffort, Role, ToolCall, ToolChoice, ToolDefinition, ToolResult, Transcript,
};
use convoke_models::{Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

use super::{KEY, asked_at, hello, model, model_at};
use crate::server::{Server, ask};

fn tool() -> ToolDefinition {
    ToolDefinition {
        name: "weather".into(),
        description: "Tells the weather.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    }
}

fn call(id: &str, arguments: Value) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments })
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.into(), name: "weather".into(), content: content.into(), is_error }
}

fn media(media_type: &str, source: MediaSource) -> Media {
    Media { media_type: media_type.into(), name: None, source }
}

async fn body_of(request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model(&server), request).await.unwrap();
    server.last().body
}

async fn messages_of(messages: impl Into<Transcript>) -> Value {
    body_of(ModelRequest::new(messages)).await["messages"].take()
}

async fn refused(request: ModelRequest) -> String {
    let server = Server::start([hello()]).await;
    let error = ask(&model(&server), request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
    assert!(server.asked().is_empty());
    error.message
}

#[tokio::test]
async fn a_plain_question_asks_for_a_stream_with_usage_and_nothing_besides() {
    let server = Server::start([hello()]).await;
    ask(&model(&server), ModelRequest::new("Hi")).await.unwrap();
    let asked = server.last();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        asked.body,
        json!({
            "model": "qwen3",
            "messages": [{"role": "user", "content": "Hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn attempts_at_a_call_share_a_key_but_another_model_has_another() {
    let server = Server::start([hello()]).await;
    for name in ["qwen3", "qwen3", "llama"] {
        let settings = ProviderSettings::new(Provider::OpenAiCompatible).base_url(&server.url);
        ask(&ProviderModel::new(name, settings).unwrap(), ModelRequest::new("Hi")).await.unwrap();
    }
    let keys: Vec<_> = server.asked().iter().map(|asked| asked.headers["idempotency-key"].clone()).collect();
    assert_eq!((keys[0].len(), &keys[0]), (32, &keys[1]));
    assert_ne!(keys[1], keys[2], "the same key with another body is an error");
}

#[tokio::test]
async fn a_server_without_a_key_gets_no_authorization() {
    let server = Server::start([hello()]).await;
    let settings = ProviderSettings::new(Provider::OpenAiCompatible).base_url(&server.url);
    ask(&ProviderModel::new("llama", settings).unwrap(), ModelRequest::new("Hi")).await.unwrap();
    assert!(!server.last().headers.contains_key("authorization"));
}

#[tokio::test]
async fn every_parameter_has_its_place_and_extra_goes_last() {
    let mut request = ModelRequest::new("Hi");
    request.params =
        ModelParams::default().max_tokens(50).temperature(0.0).seed(7).reasoning(ReasoningEffort::Low);
    request.params.top_p = Some(0.5);
    request.params.stop = vec!["END".into()];
    request.params.extra = Some(json!({"min_p": 0.1, "temperature": 0.3, "stream_options": null}));
    let body = body_of(request).await;
    assert_eq!(
        body,
        json!({
            "model": "qwen3",
            "messages": [{"role": "user", "content": "Hi"}],
            "stream": true,
            "max_tokens": 50,
            "temperature": 0.3,
            "top_p": 0.5,
            "seed": 7,
            "stop": ["END"],
            "reasoning_effort": "low",
            "min_p": 0.1,
        })
    );
}

#[tokio::test]
async fn extra_that_is_no_object_is_refused() {
    let mut request = ModelRequest::new("Hi");
    request.params.extra = Some(json!([1]));
    let message = refused(request).await;
    assert!(message.contains("`extra` must be a JSON object"), "{message}");
}

#[tokio::test]
async fn tools_and_their_choice_are_told() {
    let mut request = ModelRequest::new("Hi");
    request.tools = vec![tool()];
    let body = body_of(request.clone()).await;
    assert_eq!(
        body["tools"],
        json!([{"type": "function", "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }}])
    );
    assert_eq!(body.get("tool_choice"), None);
    for (choice, word) in [(ToolChoice::None, "none"), (ToolChoice::Required, "required")] {
        request.tool_choice = choice;
        assert_eq!(body_of(request.clone()).await["tool_choice"], word);
    }
    request.tools.clear();
    let message = refused(request.clone()).await;
    assert!(message.contains("there are no tools"), "{message}");
    request.tool_choice = ToolChoice::None;
    assert_eq!(body_of(request).await.get("tool_choice"), None);
}

#[tokio::test]
async fn a_conversation_with_tools_is_written_message_by_message() {
    let messages = messages_of(vec![
        Message::system("Be brief."),
        Message::user("How is it in Oslo and Bergen?"),
        Message {
            role: Role::Assistant,
            parts: vec![call("c1", json!({"city": "Oslo"})), call("c2", json!("{oops"))],
        },
        Message::tool_results([result("c1", "sunny", false), result("c2", "no such city", true)]),
        Message::assistant("Sunny.").with(call("c3", json!({}))),
        Message::tool_results([result("c3", "error: closed", true)]),
    ])
    .await;
    assert_eq!(
        messages,
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How is it in Oslo and Bergen?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
                {"id": "c2", "type": "function", "function": {
                    "name": "weather", "arguments": "{\"unreadable\":\"{oops\"}",
                }},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: no such city"},
            {"role": "assistant", "content": "Sunny.", "tool_calls": [
                {"id": "c3", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c3", "content": "error: closed"},
        ])
    );
}

#[tokio::test]
async fn a_growing_conversation_only_appends() {
    let conversation = [
        Message::system("Be brief."),
        Message::user("Look.").with(Part::Image(media("image/png", MediaSource::Base64("AAAA".into())))),
        Message { role: Role::Assistant, parts: vec![call("c1", json!({"b": 1, "a": [2]}))] },
        Message::tool_results([result("c1", "sunny", false)]),
        Message::assistant("Sunny."),
        Message::user("Thanks."),
    ];
    let server = Server::start([hello()]).await;
    let model = model(&server);
    for length in 1..=conversation.len() {
        ask(&model, ModelRequest::new(conversation[..length].to_vec())).await.unwrap();
    }
    let written: Vec<String> =
        server.asked().iter().map(|asked| asked.body["messages"].to_string()).collect();
    for pair in written.windows(2) {
        let begun = pair[0].strip_suffix(']').unwrap();
        assert!(pair[1].starts_with(&format!("{begun},")), "{} does not begin {}", pair[0], pair[1]);
    }
}

#[tokio::test]
async fn pictures_sound_and_documents_go_along() {
    let pdf = Media {
        name: Some("plan.pdf".into()),
        ..media("application/pdf", MediaSource::Base64("JVBERi0=".into()))
    };
    let message = Message::user("Compare.")
        .with(Part::Image(media("image/png", MediaSource::Base64("iVBORw==".into()))))
        .with(Part::Image(media("image/jpeg", MediaSource::Url("https://example.com/a.jpg".into()))))
        .with(Part::File(pdf))
        .with(Part::File(media("audio/mpeg", MediaSource::Base64("SUQz".into()))));
    assert_eq!(
        messages_of(message).await,
        json!([{"role": "user", "content": [
            {"type": "text", "text": "Compare."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg"}},
            {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
            {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
        ]}])
    );
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_with_advice() {
    let file = |kind: &str, source| Message::user("Read.").with(Part::File(media(kind, source)));
    let picture = Part::Image(media("image/png", MediaSource::Base64("AAAA".into())));
    for (message, words) in [
        (file("application/pdf", MediaSource::Url("https://example.com/a.pdf".into())), "fetch it"),
        (file("audio/flac", MediaSource::Base64("AAAA".into())), "convert it"),
        (
            Message::system("Look.").with(picture.clone()),
            "a message of the role `system` cannot carry an image",
        ),
        (Message::assistant("Look.").with(picture), "an image"),
        (Message::user("Hi").with(call("c1", json!({}))), "a tool call"),
        (Message { role: Role::Tool, ..Message::user("Hi") }, "text"),
    ] {
        let said = refused(ModelRequest::new(message)).await;
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn shapes_are_strict_where_that_changes_nothing() {
    let mut request = ModelRequest::new("Judge.");
    let schema = json!({
        "type": "object",
        "properties": {"score": {"type": "integer"}, "note": {"type": ["string", "null"]}},
        "required": ["score"],
    });
    let output = OutputSchema { name: "movie review!".into(), description: "A verdict.".into(), schema };
    request.output = Some(output.clone());
    assert_eq!(
        body_of(request.clone()).await["response_format"],
        json!({"type": "json_schema", "json_schema": {
            "name": "movie_review_",
            "description": "A verdict.",
            "strict": true,
            "schema": {
                "type": "object",
                "properties": {"score": {"type": "integer"}, "note": {"type": ["string", "null"]}},
                "required": ["note", "score"],
                "additionalProperties": false,
            },
        }})
    );
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    request.output = Some(OutputSchema { schema: map.clone(), description: String::new(), ..output });
    assert_eq!(
        body_of(request).await["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "movie_review_", "strict": false, "schema": map}})
    );
}

#[tokio::test]
async fn openai_s_thinking_models_know_the_limit_by_another_name() {
    let mut request = ModelRequest::new("Hi");
    request.params = ModelParams::default().max_tokens(9);
    let body = asked_at("https://gateway.example/v1", "openai/gpt-5-mini", request).await;
    assert_eq!((body["max_completion_tokens"].as_u64(), body.get("max_tokens")), (Some(9), None));
}

#[tokio::test]
async fn mistral_is_asked_for_nothing_it_refuses() {
    let mut request = ModelRequest::new(vec![
        Message::user("Hi"),
        Message { role: Role::Assistant, parts: vec![call("toolu_01ABC", json!({}))] },
        Message::tool_results([result("toolu_01ABC", "sunny", false)]),
    ]);
    request.params = ModelParams::default().seed(7);
    let body = asked_at("https://api.mistral.ai/v1", "mistral-large", request).await;
    assert_eq!(body["random_seed"], 7);
    assert!(body.get("seed").is_none() && body.get("stream_options").is_none(), "{body}");
    let id = body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!((id.len(), body["messages"][2]["tool_call_id"].as_str()), (9, Some(id)));
}

#[tokio::test]
async fn deepseek_is_told_the_shape_in_words_and_gets_a_thought_with_every_message() {
    let mut request =
        ModelRequest::new(vec![Message::user("Hi"), Message::assistant("Hello."), Message::user("Rate.")]);
    let schema = json!({"type": "object", "properties": {"score": {"type": "integer"}}});
    request.output = Some(OutputSchema { name: "rate".into(), description: String::new(), schema });
    let body = asked_at("https://api.deepseek.com", "deepseek-v4", request).await;
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Answer with nothing but one JSON object that follows this JSON Schema: \
                {\"properties\":{\"score\":{\"type\":\"integer\"}},\"type\":\"object\"}"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello.", "reasoning_content": ""},
            {"role": "user", "content": "Rate."},
        ])
    );
}

#[tokio::test]
async fn neither_the_model_nor_its_settings_show_the_key() {
    let model = model_at("http://127.0.0.1:9/v1");
    assert!(!format!("{model:?}").contains(KEY));
    let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY), "{error:?}");
}
