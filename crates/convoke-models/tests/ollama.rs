//! Ollama's own chat: what is asked, what is understood, and what goes wrong.

#![cfg(feature = "providers")]
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod server;

use std::time::Duration;

use convoke_core::{
    Category, FinishReason, Media, MediaSource, Message, Model, ModelErrorKind, ModelParams, ModelRequest,
    OutputSchema, Part, ReasoningEffort, ReplyDelta, Role, ToolCall, ToolChoice, ToolDefinition, ToolResult,
    Transcript, Usage,
};
use convoke_models::provider::TimeLimits;
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};
use server::{Answer, Server, ask, pieces};

const KEY: &str = "very-secret-word";

fn settings(server: &Server) -> ProviderSettings {
    ProviderSettings::new(Provider::Ollama).base_url(&server.url)
}

fn model(server: &Server) -> ProviderModel {
    ProviderModel::new("qwen3:8b", settings(server)).unwrap()
}

fn line(message: Value) -> Value {
    json!({"model": "qwen3:8b", "created_at": "2026-11-15T10:00:00Z", "message": message, "done": false})
}

fn said(text: &str) -> Value {
    line(json!({"role": "assistant", "content": text}))
}

fn done(reason: &str) -> Value {
    json!({
        "model": "qwen3:8b",
        "message": {"role": "assistant", "content": ""},
        "done": true,
        "done_reason": reason,
        "prompt_eval_count": 26,
        "eval_count": 9,
        "eval_duration": 4_709_213_000_u64,
    })
}

fn hello() -> Answer {
    Answer::lines([said("Hel"), said("lo."), done("stop")])
}

/// What the server is asked with this request.
async fn body(request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model(&server), request).await.unwrap();
    server.last().body
}

fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "weather".into(),
        description: "Tells the weather.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    }
}

fn person() -> OutputSchema {
    OutputSchema {
        name: "person".into(),
        description: "Somebody.".into(),
        schema: json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}),
    }
}

fn call(id: &str, city: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments: json!({"city": city}) })
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.into(), name: "weather".into(), content: content.into(), is_error }
}

fn media(media_type: &str, source: MediaSource) -> Media {
    Media { media_type: media_type.into(), name: None, source }
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

/// A reply with everything in it.
fn rich() -> Vec<Value> {
    let calls = |calls: &[Value]| line(json!({"role": "assistant", "content": "", "tool_calls": calls}));
    let oslo = json!({"function": {"name": "weather", "arguments": {"city": "Oslo"}}});
    let rome = json!({"function": {"index": 1, "name": "weather", "arguments": "{\"city\": \"Rome\"}"}});
    let none = json!({"id": "call_7", "function": {"name": "time"}});
    let mut end = done("stop");
    end["prompt_eval_cached_count"] = json!(20);
    vec![
        line(json!({"role": "assistant", "content": "", "thinking": "Two "})),
        line(json!({"role": "assistant", "content": "Let me ", "thinking": "cities."})),
        said("löök."),
        json!({"status": "something new"}),
        calls(&[oslo, rome]),
        calls(&[none]),
        end,
    ]
}

fn cut(lines: &[Value], length: usize) -> Answer {
    let characters: Vec<_> =
        lines.iter().map(|line| format!("{line}\n")).collect::<String>().chars().collect();
    let pieces = characters.chunks(length).map(|piece| piece.iter().collect()).collect();
    Answer::new(200, "application/x-ndjson", pieces)
}

#[tokio::test]
async fn a_reply_is_the_same_however_it_is_cut() {
    for length in [3, 50, 100_000] {
        let server = Server::start([cut(&rich(), length)]).await;
        let reply = ask(&model(&server), ModelRequest::new("Weather?")).await.unwrap();
        let time = ToolCall { id: "call_7".into(), name: "time".into(), arguments: json!({}) };
        let Part::Reasoning { text: thought, signature: Some(_) } = &reply.message.parts[0] else {
            panic!("{:?}", reply.message)
        };
        assert_eq!(thought, "Two cities.");
        assert_eq!(
            reply.message.parts[1..],
            [
                Part::Text { text: "Let me löök.".into() },
                call("m1-call1", "Oslo"),
                call("m1-call2", "Rome"),
                Part::ToolCall(time),
            ]
        );
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        assert_eq!(reply.usage, Usage { cached_input_tokens: 20, ..Usage::tokens(26, 9) });
    }
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_understood() {
    let mut whole = done("stop");
    whole["message"] = json!({"role": "assistant", "content": "Hello.", "thinking": "Hm."});
    let server = Server::start([Answer::json(200, whole)]).await;
    let reply = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.finish), ("Hello.", FinishReason::Stop));
    assert_eq!(reply.usage, Usage::tokens(26, 9));
}

#[tokio::test]
async fn a_reply_cut_off_at_its_limit_says_so() {
    let server = Server::start([Answer::lines([said("Hel"), done("length")])]).await;
    let reply = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(reply.finish, FinishReason::Length);
}

#[tokio::test]
async fn refusals_are_typed_and_say_what_to_do() {
    use ModelErrorKind as Kind;
    for (status, said, kind, advice) in [
        (
            404,
            "model \"qwen3:8b\" not found, try pulling it first",
            Kind::InvalidRequest,
            "`ollama pull qwen3:8b`",
        ),
        (404, "model 'qwen3:8b' not found", Kind::InvalidRequest, "`ollama pull qwen3:8b`"),
        (400, "qwen3:8b does not support tools", Kind::InvalidRequest, "ask it without tools"),
        (400, "\"qwen3:8b\" does not support thinking", Kind::InvalidRequest, "leave `reasoning` unset"),
        (400, "the input length exceeds the context length", Kind::ContextTooLong, "num_ctx"),
        (400, "invalid options: bogus", Kind::InvalidRequest, "invalid options"),
        (401, "unauthorized", Kind::Authentication, "check the key"),
        (429, "too many requests", Kind::RateLimited, "too many requests"),
        (500, "llama runner process has terminated", Kind::Overloaded, "terminated"),
        (503, "server busy, please try again", Kind::Overloaded, "server busy"),
    ] {
        let answer = Answer::json(status, json!({"error": said})).header("retry-after", "7");
        let server = Server::start([answer]).await;
        let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert!(error.message.contains(said) && error.message.contains(advice), "{error}");
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_reply_is_typed_too() {
    for (error, kind) in [
        (json!("an error was encountered while running the model"), ModelErrorKind::Overloaded),
        (json!("context length exceeded"), ModelErrorKind::ContextTooLong),
        (json!({"code": 7}), ModelErrorKind::Other),
    ] {
        let server = Server::start([Answer::lines([said("Hel"), json!({"error": error})])]).await;
        let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with("ollama/qwen3:8b: "), "{error}");
    }
}

#[tokio::test]
async fn half_a_reply_is_none() {
    for answer in [Answer::lines([said("Hel")]), Answer::lines([said("Hel")]).cut()] {
        let server = Server::start([answer]).await;
        let model = model(&server);
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::Interrupted, Category::Transient));
        let deltas = pieces(&model, ModelRequest::new("Hi")).await;
        assert!(!deltas.iter().any(|delta| matches!(delta, Ok(ReplyDelta::Finished { .. }))));
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_shown_in_part() {
    let nonsense = format!("{{\"message\": {}\n", "x".repeat(1_000));
    let server = Server::start([Answer::new(200, "application/x-ndjson", vec![nonsense])]).await;
    let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("{\"message\": xxx") && error.message.len() < 300, "{error}");
}

#[tokio::test]
async fn silence_ends_in_time() {
    for (answer, words) in [
        (Answer::lines([]).hang(), "nothing came within"),
        (Answer::lines([said("Hel")]).hang(), "stopped for"),
    ] {
        let server = Server::start([answer]).await;
        let limit = Duration::from_millis(300);
        let settings = settings(&server).time_limits(TimeLimits { first_token: limit, idle: limit });
        let model = ProviderModel::new("qwen3:8b", settings).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::TimedOut, Category::Transient));
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_key_is_sent_if_there_is_one_and_shown_nowhere() {
    let said = format!("{KEY} is no good");
    let refused = Answer::json(401, json!({"error": said}));
    let server = Server::start([hello(), refused, Answer::lines([json!({"error": said})])]).await;
    let settings = settings(&server).key(ApiKey::new(KEY));
    let model = ProviderModel::new("qwen3:8b", settings.clone()).unwrap();
    ask(&model, ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(server.last().headers["authorization"], format!("Bearer {KEY}"));
    for _ in 0..2 {
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
    }
    assert!(!format!("{model:?} {settings:?}").contains(KEY));
    assert_eq!(model.name(), "ollama/qwen3:8b");
}
