//! Tests of requests.

use convoke_core::{
    FinishReason, MediaSource, Message, ModelErrorKind, ModelParams, ModelRequest, OutputSchema, Part,
    ReasoningEffort, Role, ToolCall, ToolChoice, Transcript, Usage,
};
use serde_json::{Value, json};

use super::{done, hello, line, model, said};
use crate::common::{call, media, result, weather};
use crate::server::{Answer, Server, ask};

/// What the server is asked with this request.
async fn body(request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model(&server), request).await.unwrap();
    server.last().body
}

fn person() -> OutputSchema {
    OutputSchema {
        name: "person".into(),
        description: "Somebody.".into(),
        schema: json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}),
    }
}

#[tokio::test]
async fn a_request_says_all_it_has_to() {
    let server = Server::start([hello()]).await;
    let mut params = ModelParams::default().temperature(0.0).seed(7).max_tokens(100);
    params.top_p = Some(0.5);
    params.stop = vec!["END".into()];
    params.reasoning = Some(ReasoningEffort::Off);
    params.extra = Some(json!({"keep_alive": "10m", "options": {"num_ctx": 8_192}}));
    let request = ModelRequest {
        messages: vec![Message::system("Be brief."), Message::user("Hi")].into(),
        tools: vec![weather()],
        tool_choice: ToolChoice::Auto,
        output: None,
        params,
    };
    let reply = ask(&model(&server), request).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.model.as_str()), ("Hello.", "ollama/qwen3:8b"));
    assert_eq!((reply.finish, reply.usage), (FinishReason::Stop, Usage::tokens(26, 9)));
    let asked = server.last();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/api/chat"));
    assert!(!asked.headers.contains_key("authorization"));
    assert_eq!(
        asked.body,
        json!({
            "model": "qwen3:8b",
            "stream": true,
            "truncate": false,
            "shift": false,
            "think": false,
            "keep_alive": "10m",
            "options": {
                "num_predict": 100,
                "temperature": 0.0,
                "top_p": 0.5,
                "seed": 7,
                "stop": ["END"],
                "num_ctx": 8_192,
            },
            "tools": [{
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tells the weather.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
            }],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
            ],
        })
    );
}

#[tokio::test]
async fn everything_said_so_far_is_sent() {
    let thinking = line(json!({"role": "assistant", "content": "", "thinking": "Two cities."}));
    let server = Server::start([Answer::lines([thinking, said("Hm."), done("stop")]), hello()]).await;
    let model = model(&server);
    let thought = ask(&model, ModelRequest::new("Hi")).await.unwrap().message.parts[0].clone();
    let text = Part::Text { text: "Let me look.".into() };
    let odd = ToolCall { id: "c".into(), name: "weather".into(), arguments: json!("{broken") };
    let transcript = Transcript::from(vec![
        Message::user("What ")
            .with(Part::Text { text: "is this?".into() })
            .with(Part::Image(media("image/png", MediaSource::Base64("cGlj".into())))),
        Message {
            role: Role::Assistant,
            parts: vec![thought, text, call("a", "Oslo"), call("b", "Rome"), Part::ToolCall(odd)],
        },
        Message::tool_results([
            result("a", "sunny", false),
            result("b", "no such city", true),
            result("c", "", false),
        ]),
    ]);
    ask(&model, ModelRequest::new(transcript)).await.unwrap();
    let body = server.last().body;
    let function = |id: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}});
    let answer = |id: &str, content: &str| json!({"role": "tool", "tool_name": "weather", "tool_call_id": id, "content": content});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "What is this?", "images": ["cGlj"]},
            {
                "role": "assistant",
                "content": "Let me look.",
                "thinking": "Two cities.",
                "tool_calls": [
                    function("a", json!({"city": "Oslo"})),
                    function("b", json!({"city": "Rome"})),
                    function("c", json!({"arguments": "{broken"})),
                ],
            },
            answer("a", "sunny"),
            answer("b", "Error: no such city"),
            answer("c", ""),
        ])
    );
}

#[tokio::test]
async fn a_growing_conversation_only_appends() {
    let server = Server::start([hello()]).await;
    let model = model(&server);
    let mut request = ModelRequest::new(Transcript::new());
    for message in [
        Message::system("Be brief."),
        Message::user("Look"),
        Message { role: Role::Assistant, parts: vec![call("a", "Oslo"), call("b", "Rome")] },
        Message::tool_results([result("a", "sunny", false), result("b", "rain", false)]),
        Message::system("It is night."),
        Message::assistant("Sunny and rain."),
        Message::user("Thanks"),
        Message::user("Bye"),
    ] {
        request.messages.push(message);
        ask(&model, request.clone()).await.unwrap();
    }
    let sent: Vec<_> = server.asked().iter().map(|asked| asked.body["messages"].to_string()).collect();
    assert_eq!(sent.len(), 8);
    for pair in sent.windows(2) {
        assert!(pair[1].starts_with(pair[0].strip_suffix(']').unwrap()), "{}", pair[1]);
    }
}

#[tokio::test]
async fn how_much_to_think_and_the_shape_are_passed_on() {
    for (effort, think) in
        [(ReasoningEffort::Low, "low"), (ReasoningEffort::Medium, "medium"), (ReasoningEffort::High, "high")]
    {
        let params = ModelParams::default().reasoning(effort);
        let request = ModelRequest { output: Some(person()), params, ..ModelRequest::new("Who?") };
        let body = body(request).await;
        assert_eq!((&body["think"], &body["format"]), (&json!(think), &person().schema));
    }
}

#[tokio::test]
async fn tools_that_must_not_be_called_are_not_offered() {
    let request = ModelRequest {
        tools: vec![weather()],
        tool_choice: ToolChoice::None,
        output: Some(person()),
        ..ModelRequest::new("Who?")
    };
    let body = body(request).await;
    assert_eq!((&body["tools"], &body["format"]), (&Value::Null, &person().schema));
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_advice() {
    let url = Part::Image(media("image/png", MediaSource::Url("https://example.com/a.png".into())));
    let file = Part::File(media("application/pdf", MediaSource::Base64("cGRm".into())));
    let mut extra = ModelParams::default();
    extra.extra = Some(json!("num_ctx"));
    let tools = ModelRequest { tools: vec![weather()], ..ModelRequest::new("Hi") };
    for (request, advice) in [
        (ModelRequest { tool_choice: ToolChoice::Required, ..tools.clone() }, "leave it to the model"),
        (ModelRequest { output: Some(person()), ..tools }, "ask for the shape without them"),
        (ModelRequest::new(Message::user("See").with(url)), "send the picture itself as base64"),
        (ModelRequest::new(Message::user("Read").with(file)), "put what is in it into the text"),
        (ModelRequest { params: extra, ..ModelRequest::new("Hi") }, "`extra` must be a JSON object"),
    ] {
        let server = Server::start([hello()]).await;
        let error = ask(&model(&server), request).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::InvalidRequest, "{error}");
        assert!(error.message.contains(advice), "{error}");
        assert_eq!(server.asked().len(), 0);
    }
}
