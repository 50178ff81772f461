//! Tests of requests.

use convoke_core::{
    Media, MediaSource, Message, ModelErrorKind, ModelParams, ModelRequest, OutputSchema, Part,
    ReasoningEffort, Role, ToolCall, ToolChoice, ToolDefinition, ToolResult,
};
use serde_json::{Value, json};

use super::{KEY, hello, model};
use crate::server::{Server, ask};

async fn body_of(name: &str, request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model(name, &server), request).await.unwrap();
    server.last().body
}

async fn refused(request: ModelRequest) -> String {
    let server = Server::start([hello()]).await;
    let error = ask(&model("gpt-4o", &server), request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
    assert!(server.asked().is_empty());
    error.message
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

#[tokio::test]
async fn a_plain_question_is_streamed_and_not_stored() {
    let server = Server::start([hello()]).await;
    ask(&model("gpt-4o", &server), ModelRequest::new("Hi")).await.unwrap();
    let asked = server.last();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/responses"));
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        asked.body,
        json!({
            "model": "gpt-4o",
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
            "stream": true,
            "store": false,
        })
    );
}

#[tokio::test]
async fn attempts_at_a_call_share_a_key_but_another_model_has_another() {
    let server = Server::start([hello()]).await;
    for name in ["gpt-4o", "gpt-4o", "gpt-4.1"] {
        ask(&model(name, &server), ModelRequest::new("Hi")).await.unwrap();
    }
    let keys: Vec<_> = server.asked().iter().map(|asked| asked.headers["idempotency-key"].clone()).collect();
    assert_eq!((keys[0].len(), &keys[0]), (32, &keys[1]));
    assert_ne!(keys[1], keys[2], "the same key with another body is an error");
}

#[tokio::test]
async fn every_parameter_has_its_place_and_extra_goes_last() {
    let mut request = ModelRequest::new("Hi");
    request.params =
        ModelParams::default().max_tokens(50).temperature(0.0).seed(7).reasoning(ReasoningEffort::High);
    request.params.top_p = Some(0.5);
    request.params.extra = Some(json!({"service_tier": "flex", "store": true, "include": null}));
    let mut body = body_of("gpt-5.2", request).await;
    body.as_object_mut().unwrap().remove("input");
    assert_eq!(
        body,
        json!({
            "model": "gpt-5.2",
            "stream": true,
            "store": true,
            "max_output_tokens": 50,
            "temperature": 0.0,
            "top_p": 0.5,
            "reasoning": {"effort": "high", "summary": "auto"},
            "service_tier": "flex",
        })
    );
}

#[tokio::test]
async fn thoughts_are_asked_for_where_there_are_some() {
    let sealed = json!(["reasoning.encrypted_content"]);
    let asked = |name: &'static str, effort: Option<ReasoningEffort>| async move {
        let mut request = ModelRequest::new("Hi");
        request.params.reasoning = effort;
        let mut body = body_of(name, request).await;
        (body["reasoning"].take(), body["include"].take())
    };
    for name in ["o3", "o4-mini", "gpt-5", "gpt-5.1-codex-max", "gpt-6-mini", "codex-mini-latest"] {
        assert_eq!(asked(name, None).await, (json!({"summary": "auto"}), sealed.clone()), "{name}");
    }
    for name in ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "ft:gpt-4o:me", "chatgpt-4o-latest", "omni"] {
        assert_eq!(asked(name, None).await, (Value::Null, Value::Null), "{name}");
        assert_eq!(asked(name, Some(ReasoningEffort::Off)).await, (Value::Null, Value::Null), "{name}");
    }
    assert_eq!(
        asked("gpt-5.1", Some(ReasoningEffort::Off)).await,
        (json!({"effort": "none"}), sealed.clone())
    );
    // A deployment may have any name; who asks for thoughts gets them.
    let named = asked("my-deployment", Some(ReasoningEffort::Low)).await;
    assert_eq!(named, (json!({"effort": "low", "summary": "auto"}), sealed));
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_advice() {
    let mut stop = ModelRequest::new("Hi");
    stop.params.stop = vec!["END".into()];
    let mut extra = ModelRequest::new("Hi");
    extra.params.extra = Some(json!("x"));
    let mut required = ModelRequest::new("Hi");
    required.tool_choice = ToolChoice::Required;
    let sound = Part::File(media("audio/wav", MediaSource::Base64("AAAA".into())));
    let picture = Part::Image(media("image/png", MediaSource::Base64("AAAA".into())));
    for (request, words) in [
        (stop, "leave `stop` out"),
        (extra, "`extra` must be a JSON object"),
        (required, "there are no tools"),
        (ModelRequest::new(Message::user("Hear.").with(sound)), "transcribe it"),
        (
            ModelRequest::new(Message::system("Look.").with(picture.clone())),
            "a message of the role `system` cannot carry an image",
        ),
        (ModelRequest::new(Message::assistant("Look.").with(picture)), "an image"),
        (ModelRequest::new(Message { role: Role::Tool, ..Message::user("Hi") }), "text"),
    ] {
        let said = refused(request).await;
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn tools_are_flat_and_strict_where_that_changes_nothing() {
    let tool = |name: &str, parameters: Value| ToolDefinition {
        name: name.into(),
        description: "It.".into(),
        parameters,
    };
    let mut request = ModelRequest::new("Hi");
    request.tool_choice = ToolChoice::Required;
    let open = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    request.tools = vec![
        tool(
            "weather",
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ),
        tool("open", open.clone()),
        tool("now", json!({"type": "object", "properties": {}})),
    ];
    let body = body_of("gpt-4o", request).await;
    assert_eq!(body["tool_choice"], "required");
    let closed = |members: Value, required: Value| json!({"type": "object", "properties": members, "required": required, "additionalProperties": false});
    let function = |name: &str, strict: bool, parameters: Value| json!({"type": "function", "name": name, "description": "It.", "strict": strict, "parameters": parameters});
    assert_eq!(
        body["tools"],
        json!([
            function("weather", true, closed(json!({"city": {"type": "string"}}), json!(["city"]))),
            function("open", false, open),
            function("now", true, closed(json!({}), json!([]))),
        ])
    );
}

#[tokio::test]
async fn a_shape_is_asked_for_as_the_format_of_the_text() {
    let mut request = ModelRequest::new("Judge.");
    let schema =
        json!({"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]});
    request.output = Some(OutputSchema { name: "review".into(), description: String::new(), schema });
    assert_eq!(
        body_of("gpt-4o", request).await["text"],
        json!({"format": {"type": "json_schema", "name": "review", "strict": true, "schema": {
            "type": "object",
            "properties": {"score": {"type": "integer"}},
            "required": ["score"],
            "additionalProperties": false,
        }}})
    );
}

#[tokio::test]
async fn a_conversation_becomes_items() {
    let conversation = vec![
        Message::system("Be brief."),
        Message::user("How is it?"),
        Message::assistant("Let me look.")
            .with(call("c1", json!({"city": "Oslo"})))
            .with(call("c2", json!("{oops"))),
        Message::tool_results([result("c1", "sunny", false), result("c2", "not JSON", true)]),
        Message::assistant("Sunny."),
    ];
    let body = body_of("gpt-4o", ModelRequest::new(conversation)).await;
    let output = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    assert_eq!(
        body["input"],
        json!([
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How is it?"}]},
            output("Let me look."),
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Oslo\"}"},
            {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{oops"},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            {"type": "function_call_output", "call_id": "c2", "output": "Error: not JSON"},
            output("Sunny."),
        ])
    );
}

#[tokio::test]
async fn pictures_and_documents_go_along() {
    let pdf = media("application/pdf", MediaSource::Base64("JVBERi0=".into()));
    let message = Message::user("Compare.")
        .with(Part::Image(media("image/png", MediaSource::Base64("iVBORw==".into()))))
        .with(Part::Image(media("image/jpeg", MediaSource::Url("https://example.com/a.jpg".into()))))
        .with(Part::File(pdf))
        .with(Part::File(media("application/pdf", MediaSource::Url("https://example.com/a.pdf".into()))));
    let body = body_of("gpt-4o", ModelRequest::new(message)).await;
    assert_eq!(
        body["input"][0]["content"],
        json!([
            {"type": "input_text", "text": "Compare."},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
            {"type": "input_image", "image_url": "https://example.com/a.jpg"},
            {"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        ])
    );
}
