//! Gemini through the model every provider shares, against a server that answers as Google's does.

#![cfg(feature = "providers")]
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod server;

use std::time::Duration;

use convoke_core::{
    FinishReason, Media, MediaSource, Message, Model, ModelErrorKind, ModelParams, ModelReply, ModelRequest,
    OutputSchema, Part, ReasoningEffort, ReplyDelta, Role, ToolCall, ToolChoice, ToolDefinition, ToolResult,
    Transcript, Usage,
};
use convoke_models::provider::TimeLimits;
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};
use server::{Answer, Server, ask, pieces};

const KEY: &str = "AIza-very-secret";

fn model_named(name: &str, server: &Server) -> ProviderModel {
    let settings = ProviderSettings::new(Provider::Gemini).base_url(&server.url).key(ApiKey::new(KEY));
    ProviderModel::new(name, settings).unwrap()
}

fn chunk(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": "gemini-x"})
}

fn finished(parts: Value, reason: &str) -> Value {
    let mut chunk = chunk(parts);
    chunk["candidates"][0]["finishReason"] = json!(reason);
    chunk
}

fn hello() -> Answer {
    Answer::events([finished(json!([{"text": "Hello"}]), "STOP")])
}

/// What a model of this name is sent.
async fn body_for(name: &str, request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model_named(name, &server), request).await.unwrap();
    server.last().body
}

/// How a request fails before it is sent.
async fn refusal_of(name: &str, request: ModelRequest) -> String {
    let server = Server::start([hello()]).await;
    let error = ask(&model_named(name, &server), request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest, "{error}");
    assert!(server.asked().is_empty());
    error.message
}

async fn reply_to(answer: Answer) -> ModelReply {
    let server = Server::start([answer]).await;
    ask(&model_named("gemini-3-flash", &server), ModelRequest::new("Hi")).await.unwrap()
}

async fn error_of(answer: Answer) -> convoke_core::ModelError {
    let server = Server::start([answer]).await;
    ask(&model_named("gemini-3-flash", &server), ModelRequest::new("Hi")).await.unwrap_err()
}

fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "weather".into(),
        description: "How the weather is.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "$defs": {"City": {"type": "string"}}}),
    }
}

fn call(id: &str, city: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments: json!({"city": city}) })
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.into(), name: "weather".into(), content: content.into(), is_error }
}

fn thought(text: &str, signature: Option<&str>) -> Part {
    Part::Reasoning { text: text.into(), signature: signature.map(str::to_owned) }
}

fn shape() -> OutputSchema {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    OutputSchema { name: "Place".into(), description: String::new(), schema }
}

#[tokio::test]
async fn a_request_has_its_path_its_key_in_a_header_and_its_parts_in_their_places() {
    let server = Server::start([hello()]).await;
    let mut request = ModelRequest::new(Transcript::from_iter([
        Message::system("Be brief."),
        Message::system("Be kind."),
        Message::user("How is the weather in Oslo and Rome?"),
        Message { role: Role::Assistant, parts: vec![call("c1", "Oslo"), call("c2", "Rome")] },
        Message::tool_results([result("c1", "rain", false), result("c2", "no such city", true)]),
        Message::system("Answer in French."),
        Message::user("Well?"),
    ]));
    request.tools = vec![weather()];
    request.tool_choice = ToolChoice::Required;
    request.params = ModelParams::default().temperature(0.0).seed((1 << 31) + 7).max_tokens(99);
    request.params.top_p = Some(0.5);
    request.params.stop = vec!["END".into()];
    request.params.extra = Some(json!({"generationConfig": {"topK": 3}, "safetySettings": []}));
    ask(&model_named("gemini-2.5-flash", &server), request).await.unwrap();
    let asked = server.last();
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/models/gemini-2.5-flash:streamGenerateContent?alt=sse")
    );
    assert_eq!(asked.headers["x-goog-api-key"], KEY);
    let called =
        |id: &str, city: &str| json!({"functionCall": {"id": id, "name": "weather", "args": {"city": city}}});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "How is the weather in Oslo and Rome?"}]},
            {"role": "model", "parts": [called("c1", "Oslo"), called("c2", "Rome")]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "rain"}}},
                {"functionResponse": {"id": "c2", "name": "weather", "response": {"error": "no such city"}}},
            ]},
            {"role": "user", "parts": [{"text": "Answer in French."}]},
            {"role": "user", "parts": [{"text": "Well?"}]},
        ],
        "tools": [{"functionDeclarations": [{
            "name": "weather",
            "description": "How the weather is.",
            "parametersJsonSchema": weather().parameters,
        }]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "maxOutputTokens": 99, "temperature": 0.0, "topP": 0.5, "seed": 7, "stopSequences": ["END"], "topK": 3,
        },
        "safetySettings": [],
    });
    assert_eq!(asked.body, expected);
}

#[tokio::test]
async fn a_plain_question_is_sent_without_anything_besides() {
    let body = body_for("tunedModels/mine", ModelRequest::new("Hi")).await;
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
}

#[tokio::test]
async fn what_says_nothing_is_left_out() {
    let messages = [Message::user(""), Message::user("Hi").with(Part::Text { text: String::new() })];
    let body = body_for("gemini-3-flash", ModelRequest::new(Transcript::from_iter(messages))).await;
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
}

#[tokio::test]
async fn tools_are_forbidden_or_left_to_the_model() {
    let mut request = ModelRequest::new("Hi");
    request.tools = vec![weather()];
    assert_eq!(body_for("gemini-2.5-flash", request.clone()).await.get("toolConfig"), None);
    request.tool_choice = ToolChoice::None;
    let body = body_for("gemini-2.5-flash", request).await;
    assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
}

#[tokio::test]
async fn results_of_one_turn_go_together_even_from_several_messages() {
    let request = ModelRequest::new(Transcript::from_iter([
        Message::user("Both?"),
        Message { role: Role::Assistant, parts: vec![call("c1", "Oslo"), call("c2", "Rome")] },
        Message::tool_results([result("c1", "rain", false)]),
        Message::tool_results([result("c2", "sun", false)]),
    ]));
    let body = body_for("gemini-2.5-flash", request).await;
    assert_eq!(body["contents"].as_array().unwrap().len(), 3);
    assert_eq!(body["contents"][2]["parts"][1]["functionResponse"]["response"]["output"], "sun");
}

#[tokio::test]
async fn pictures_and_files_go_by_value_or_by_address() {
    let media = |kind: &str, source| Media { media_type: kind.into(), name: None, source };
    let message = Message::user("What is this?")
        .with(Part::Image(media("image/png", MediaSource::Base64("aGk=".into()))))
        .with(Part::Image(media("image/jpeg", MediaSource::Url("https://example.org/a.jpg".into()))))
        .with(Part::File(media("application/pdf", MediaSource::Base64("cGRm".into()))));
    let body = body_for("gemini-2.5-flash", ModelRequest::new(message)).await;
    let expected = json!([
        {"text": "What is this?"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://example.org/a.jpg"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
    ]);
    assert_eq!(body["contents"][0]["parts"], expected);
}

#[tokio::test]
async fn what_gemini_cannot_be_asked_is_refused_with_advice() {
    let with = |change: &dyn Fn(&mut ModelRequest)| {
        let mut request = ModelRequest::new("Hi");
        change(&mut request);
        request
    };
    let file = |kind: &str, url: &str| {
        let source = MediaSource::Url(url.into());
        Part::File(Media { media_type: kind.into(), name: Some("a.zip".into()), source })
    };
    let cases = [
        (with(&|request| request.messages = Transcript::new()), "user's message"),
        (with(&|request| request.messages = Message::system("Be kind.").into()), "user's message"),
        (with(&|request| request.tool_choice = ToolChoice::Required), "has none"),
        (with(&|request| request.params.extra = Some(json!([1]))), "JSON object"),
        (with(&|request| request.params.stop = vec!["x".into(); 6]), "5 strings"),
        (
            with(&|request| {
                request.messages.push(Message::user("").with(file("application/zip", "https://a.b/c")));
            }),
            "a.zip",
        ),
        (
            with(&|request| {
                request.messages.push(Message::user("").with(file("text/plain", "file:///etc/x")));
            }),
            "base64",
        ),
        (
            with(&|request| {
                let picture = file("image/png", "https://a.b/c.png");
                request.messages = Message { role: Role::System, parts: vec![picture] }.into();
            }),
            "text only",
        ),
        (
            with(&|request| {
                request.tools = vec![weather()];
                request.output = Some(shape());
            }),
            "Gemini 3",
        ),
    ];
    for (request, sign) in cases {
        let message = refusal_of("gemini-2.5-flash", request).await;
        assert!(message.contains(sign), "{message}");
    }
}

#[tokio::test]
async fn an_answer_s_shape_is_sent_as_it_is_and_beside_tools_only_where_that_is_possible() {
    let mut request = ModelRequest::new("Where?");
    request.output = Some(shape());
    let expected = json!({"responseMimeType": "application/json", "responseJsonSchema": shape().schema});
    assert_eq!(body_for("gemini-2.5-flash", request.clone()).await["generationConfig"], expected);
    request.tools = vec![weather()];
    let body = body_for("gemini-3-flash-preview", request.clone()).await;
    assert_eq!((&body["generationConfig"], body["tools"].is_array()), (&expected, true));
    // Tools that must not be called need not be declared.
    request.tool_choice = ToolChoice::None;
    let body = body_for("gemini-2.5-flash", request).await;
    assert_eq!((&body["generationConfig"], body.get("tools")), (&expected, None));
}

#[tokio::test]
async fn effort_becomes_a_budget_or_a_level_by_the_model_s_generation() {
    let asking = |effort| {
        let mut request = ModelRequest::new("Hi");
        request.params = ModelParams::default().reasoning(effort);
        request
    };
    for (name, effort, expected) in [
        ("gemini-2.5-flash", ReasoningEffort::Off, json!({"thinkingBudget": 0})),
        ("gemini-2.5-pro", ReasoningEffort::Low, json!({"thinkingBudget": 1024, "includeThoughts": true})),
        (
            "gemini-2.5-flash",
            ReasoningEffort::High,
            json!({"thinkingBudget": 24576, "includeThoughts": true}),
        ),
        ("gemini-3-flash", ReasoningEffort::Off, json!({"thinkingLevel": "MINIMAL"})),
        (
            "gemini-3.1-pro",
            ReasoningEffort::Medium,
            json!({"thinkingLevel": "MEDIUM", "includeThoughts": true}),
        ),
    ] {
        let body = body_for(name, asking(effort)).await;
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{name}");
    }
    assert_eq!(
        body_for("gemini-2.0-flash", asking(ReasoningEffort::Off)).await.get("generationConfig"),
        None
    );
    assert!(refusal_of("gemini-2.0-flash", asking(ReasoningEffort::Low)).await.contains("cannot think"));
    for pro in ["gemini-2.5-pro", "gemini-3-pro-preview"] {
        assert!(refusal_of(pro, asking(ReasoningEffort::Off)).await.contains("always thinks"));
    }
}

#[tokio::test]
async fn a_streamed_reply_is_the_same_wherever_its_bytes_are_cut() {
    let frames = [
        chunk(json!([{"text": "**Plan** größer", "thought": true}])),
        chunk(json!([{"text": "Hel"}])),
        json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": "lo, Zoë"}]}, "index": 0, "safetyRatings": []}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 2, "totalTokenCount": 102},
        }),
        json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": 100, "cachedContentTokenCount": 40, "toolUsePromptTokenCount": 5,
                "candidatesTokenCount": 8, "thoughtsTokenCount": 30, "totalTokenCount": 143,
            },
            "responseId": "r-7",
        }),
    ];
    let body: String = frames.iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect();
    let expected_usage = Usage {
        input_tokens: 105,
        output_tokens: 38,
        cached_input_tokens: 40,
        reasoning_tokens: 30,
        ..Usage::default()
    };
    // A cut within a character would be no string; the frames' own tests cut there.
    for piece in [1, 2, 7, 50, body.chars().count()] {
        let signs: Vec<_> = body.chars().collect();
        let cut = signs.chunks(piece).map(|piece| piece.iter().collect()).collect();
        let reply = reply_to(Answer::new(200, "text/event-stream", cut)).await;
        assert_eq!(reply.message.parts[0], thought("**Plan** größer", None));
        assert_eq!((reply.text().as_str(), reply.finish), ("Hello, Zoë", FinishReason::Stop));
        assert_eq!((reply.usage, reply.request_id.as_deref()), (expected_usage, Some("r-7")));
    }
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_understood_as_an_array_or_a_single_object() {
    let frames = [chunk(json!([{"text": "Hel"}])), finished(json!([{"text": "lo"}]), "STOP")];
    let reply = reply_to(Answer::json(200, json!(frames)).header("x-goog-request-id", "q1")).await;
    assert_eq!((reply.text().as_str(), reply.request_id.as_deref()), ("Hello", Some("q1")));
    let reply = reply_to(Answer::json(200, finished(json!([{"text": "Hi"}]), "STOP"))).await;
    assert_eq!(reply.text(), "Hi");
}

#[tokio::test]
async fn calls_come_whole_with_and_without_ids_and_end_the_turn() {
    let server = Server::start([Answer::events([
        chunk(json!([
            {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
            {"functionCall": {"name": "clock"}},
        ])),
        // Gemini says that it stopped.
        finished(
            json!([{"functionCall": {"id": "g-3", "name": "weather", "args": {"city": "Rome"}}}]),
            "STOP",
        ),
    ])])
    .await;
    let model = model_named("gemini-2.5-flash", &server);
    let came: Vec<_> =
        pieces(&model, ModelRequest::new("Hi")).await.into_iter().map(Result::unwrap).collect();
    let started =
        |index, id: &str, name: &str| ReplyDelta::ToolCallStarted { index, id: id.into(), name: name.into() };
    let arguments = |index, delta: &str| ReplyDelta::ToolCallArguments { index, delta: delta.into() };
    let expected = [
        started(0, "", "weather"),
        arguments(0, r#"{"city":"Oslo"}"#),
        started(1, "", "clock"),
        arguments(1, "{}"),
        started(2, "g-3", "weather"),
        arguments(2, r#"{"city":"Rome"}"#),
        ReplyDelta::Finished { reason: FinishReason::ToolCalls, request_id: None },
    ];
    assert_eq!(came, expected);
}

#[tokio::test]
async fn signatures_go_back_on_the_parts_they_came_on() {
    let parts = [
        json!({"text": "First I think.", "thought": true, "thoughtSignature": "dGhvdWdodA=="}),
        json!({"text": "I look it up. "}),
        json!({"text": "Twice.", "thoughtSignature": "dGV4dA=="}),
        json!({"text": " Now."}),
        json!({"text": "", "thoughtSignature": "YWxvbmU="}),
        json!({"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "Y2FsbA+/"}),
        json!({"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Rome"}}}),
        json!({"text": "", "thoughtSignature": "ZW5k"}),
    ];
    let mut frames: Vec<_> = parts.iter().map(|part| chunk(json!([part]))).collect();
    frames.push(finished(json!([]), "STOP"));
    let server = Server::start([Answer::events(frames), hello()]).await;
    let model = model_named("gemini-3-pro-preview", &server);
    let mut request = ModelRequest::new("Hi");
    let reply = ask(&model, request.clone()).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.tool_calls().len()), ("I look it up. Twice. Now.", 2));
    // Stored and read again, as a journal does.
    let stored = serde_json::to_string(&reply.message).unwrap();
    request.messages.push(serde_json::from_str(&stored).unwrap());
    request.messages.push(Message::tool_results([result("c1", "rain", false), result("c2", "sun", false)]));
    ask(&model, request).await.unwrap();
    assert_eq!(server.last().body["contents"][1]["parts"], json!(parts));
}

#[tokio::test]
async fn an_unsigned_thought_before_a_signed_call_is_not_sent_back_but_the_signature_is() {
    let answer = Answer::events([
        chunk(json!([{"text": "Summary.", "thought": true}])),
        finished(
            json!([{"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "Y2FsbA=="}]),
            "STOP",
        ),
    ]);
    let server = Server::start([answer, hello()]).await;
    let model = model_named("gemini-3-pro-preview", &server);
    let mut request = ModelRequest::new("Hi");
    let reply = ask(&model, request.clone()).await.unwrap();
    assert!(
        matches!(&reply.message.parts[0], Part::Reasoning { text, signature: Some(_) } if text == "Summary.")
    );
    let id = reply.tool_calls()[0].id.clone();
    assert!(!id.is_empty());
    request.messages.push(reply.message);
    ask(&model, request).await.unwrap();
    let expected =
        json!([{"functionCall": {"id": id, "name": "weather", "args": {}}, "thoughtSignature": "Y2FsbA=="}]);
    assert_eq!(server.last().body["contents"][1]["parts"], expected);
}

#[tokio::test]
async fn what_other_providers_thought_stays_with_them() {
    let conversation = || {
        Transcript::from_iter([
            Message::user("Hi"),
            Message {
                role: Role::Assistant,
                parts: vec![thought("Deep.", Some("EqQBCgIYAhIM")), call("c1", "Oslo"), call("c2", "Rome")],
            },
            Message::tool_results([result("c1", "rain", false), result("c2", "sun", false)]),
            Message { role: Role::Assistant, parts: vec![thought("Only a thought.", None)] },
        ])
    };
    let called =
        |id: &str, city: &str| json!({"functionCall": {"id": id, "name": "weather", "args": {"city": city}}});
    let body = body_for("gemini-2.5-flash", ModelRequest::new(conversation())).await;
    assert_eq!(body["contents"][1]["parts"], json!([called("c1", "Oslo"), called("c2", "Rome")]));
    assert_eq!(body["contents"].as_array().unwrap().len(), 3);
    // Models that check signatures are told that there is none.
    let body = body_for("gemini-3-flash-preview", ModelRequest::new(conversation())).await;
    let mut first = called("c1", "Oslo");
    first["thoughtSignature"] = json!("skip_thought_signature_validator");
    assert_eq!(body["contents"][1]["parts"], json!([first, called("c2", "Rome")]));
}

#[tokio::test]
async fn a_growing_conversation_only_appends() {
    let called = finished(
        json!([
            {"text": "Hm.", "thought": true, "thoughtSignature": "YQ=="},
            {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "Yg=="},
        ]),
        "STOP",
    );
    let said = finished(json!([{"text": "It rains."}, {"text": "", "thoughtSignature": "Yw=="}]), "STOP");
    let server = Server::start([Answer::events([called]), Answer::events([said]), hello()]).await;
    let model = model_named("gemini-3-flash", &server);
    let [called, said] = [
        ask(&model, ModelRequest::new("a")).await.unwrap(),
        ask(&model, ModelRequest::new("b")).await.unwrap(),
    ];
    let all = [
        Message::system("Be brief."),
        Message::user("How is the weather?"),
        called.message,
        Message::tool_results([result("c1", "rain", false)]),
        said.message,
        Message::system("Answer in French."),
        Message::user("Et demain?"),
    ];
    let mut before: Option<Value> = None;
    for length in 2..=all.len() {
        let request = ModelRequest::new(Transcript::from_iter(all[..length].iter().cloned()));
        ask(&model, request).await.unwrap();
        let body = server.last().body;
        if let Some(before) = before {
            assert_eq!(body["systemInstruction"], before["systemInstruction"]);
            let (now, then) = (body["contents"].to_string(), before["contents"].to_string());
            assert!(now.starts_with(then.strip_suffix(']').unwrap()), "{then}\n{now}");
            assert!(now.len() > then.len());
        }
        before = Some(body);
    }
}

#[tokio::test]
async fn reasons_to_stop_are_mapped() {
    for (reason, expected) in [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
        ("PROHIBITED_CONTENT", FinishReason::ContentFilter),
    ] {
        let reply = reply_to(Answer::events([finished(json!([{"text": "Half"}]), reason)])).await;
        assert_eq!(reply.finish, expected, "{reason}");
    }
    // Nothing at all but a refusal is a reply as well.
    let reply = reply_to(Answer::events([json!({"candidates": [{"finishReason": "SAFETY"}]})])).await;
    assert_eq!(reply.whole().unwrap_err().kind, ModelErrorKind::Refused);
    for (reason, kind) in [
        ("MALFORMED_FUNCTION_CALL", ModelErrorKind::Malformed),
        ("UNEXPECTED_TOOL_CALL", ModelErrorKind::Malformed),
        ("MISSING_THOUGHT_SIGNATURE", ModelErrorKind::InvalidRequest),
        ("OTHER", ModelErrorKind::Other),
    ] {
        let mut last = finished(json!([{"text": "Half"}]), reason);
        last["candidates"][0]["finishMessage"] = json!("print(weather(");
        let error = error_of(Answer::events([last])).await;
        assert_eq!(error.kind, kind);
        assert!(error.message.contains(reason) && error.message.contains("print(weather("), "{error}");
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_refused_and_says_why() {
    let error = error_of(Answer::events([json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
    })]))
    .await;
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.message.contains("PROHIBITED_CONTENT") && error.message.contains("rephrase"), "{error}");
}

fn fault(code: u16, status: &str, message: &str, details: Value) -> Value {
    json!({"error": {"code": code, "status": status, "message": message, "details": details}})
}

#[tokio::test]
async fn failures_are_typed_and_carry_what_the_provider_said() {
    let retry =
        |delay: &str| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
    let quota = |id: &str, value: &str| {
        json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaMetric": "requests", "quotaId": id, "quotaValue": value}],
        })
    };
    let bad_key = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let exhausted = "You exceeded your current quota, please check your plan and billing details.";
    let cases = [
        (400, "INVALID_ARGUMENT", "API key not valid.", bad_key, ModelErrorKind::Authentication, None),
        (401, "UNAUTHENTICATED", "Who?", json!([]), ModelErrorKind::Authentication, None),
        (403, "PERMISSION_DENIED", "No.", json!([]), ModelErrorKind::Authentication, None),
        (400, "INVALID_ARGUMENT", "Unknown name \"x\"", json!([]), ModelErrorKind::InvalidRequest, None),
        (404, "NOT_FOUND", "models/x is not found", json!([]), ModelErrorKind::InvalidRequest, None),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
            json!([]),
            ModelErrorKind::ContextTooLong,
            None,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            exhausted,
            json!([quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10"), retry("7s")]),
            ModelErrorKind::RateLimited,
            Some(Duration::from_secs(7)),
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            exhausted,
            json!([quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250"), retry("34.5s")]),
            ModelErrorKind::Quota,
            Some(Duration::from_millis(34_500)),
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            exhausted,
            json!([quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0"), retry("7s")]),
            ModelErrorKind::Quota,
            Some(Duration::from_secs(7)),
        ),
        (429, "RESOURCE_EXHAUSTED", exhausted, json!([]), ModelErrorKind::Quota, None),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Resource has been exhausted (e.g. check quota).",
            json!([]),
            ModelErrorKind::RateLimited,
            None,
        ),
        (500, "INTERNAL", "Oops.", json!([]), ModelErrorKind::Overloaded, None),
        (503, "UNAVAILABLE", "The model is overloaded.", json!([]), ModelErrorKind::Overloaded, None),
        (504, "DEADLINE_EXCEEDED", "Too slow.", json!([]), ModelErrorKind::TimedOut, None),
    ];
    for (code, status, message, details, kind, wait) in cases {
        let body = fault(code, status, message, details);
        let refused = error_of(Answer::json(code, body.clone()).header("x-goog-request-id", "q7")).await;
        assert_eq!(
            (refused.kind, refused.status, refused.retry_after),
            (kind, Some(code), wait),
            "{refused}"
        );
        assert!(refused.message.contains(message) && refused.message.contains("gemini/"), "{refused}");
        assert_eq!(refused.request_id.as_deref(), Some("q7"));
        // As an array, as it comes where events were not asked for.
        assert_eq!(error_of(Answer::json(code, json!([body]))).await.kind, kind);
        // In the middle of a reply.
        let broken = error_of(Answer::events([chunk(json!([{"text": "Half"}])), body])).await;
        assert_eq!((broken.kind, broken.status, broken.retry_after), (kind, Some(code), wait), "{broken}");
    }
}

#[tokio::test]
async fn the_header_s_wait_counts_where_the_body_names_none() {
    let body = fault(429, "RESOURCE_EXHAUSTED", "Slow down.", json!([]));
    let error = error_of(Answer::json(429, body).header("retry-after", "3")).await;
    assert_eq!((error.kind, error.retry_after), (ModelErrorKind::RateLimited, Some(Duration::from_secs(3))));
    let error = error_of(Answer::new(502, "text/html", vec!["<h1>Bad gateway</h1>".into()])).await;
    assert_eq!((error.kind, error.status), (ModelErrorKind::Overloaded, Some(502)));
}

#[tokio::test]
async fn half_a_reply_is_not_a_reply() {
    let half = || chunk(json!([{"text": "Half an ans"}]));
    assert_eq!(error_of(Answer::events([half()]).cut()).await.kind, ModelErrorKind::Interrupted);
    let ended = Server::start([Answer::events([half()])]).await;
    let came = pieces(&model_named("gemini-3-flash", &ended), ModelRequest::new("Hi")).await;
    assert_eq!(came, [Ok(ReplyDelta::Text("Half an ans".into()))]);
    let error = error_of(Answer::events([half().to_string(), "{\"candidates\": [".into()])).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("{\"candidates\": ["), "{error}");
    assert_eq!(error_of(Answer::events(["17"])).await.kind, ModelErrorKind::Malformed);
}

#[tokio::test]
async fn what_a_later_api_adds_is_passed_over() {
    let reply = reply_to(Answer::events([
        json!({"candidates": [{"content": {"parts": [{"novelty": {}}, {"text": "Hel"}]}}], "novelty": 1})
            .to_string(),
        json!({"usageMetadata": {"noveltyTokenCount": 3}}).to_string(),
        finished(json!([{"text": "lo"}]), "STOP").to_string(),
        "[DONE]".to_owned(),
    ]))
    .await;
    assert_eq!((reply.text().as_str(), reply.usage), ("Hello", Usage::default()));
}

#[tokio::test]
async fn silence_before_and_within_a_reply_is_bounded() {
    let limits = TimeLimits { first_token: Duration::from_millis(200), idle: Duration::from_millis(200) };
    let silent = Answer::events(Vec::<String>::new()).hang();
    let stalled = Answer::events([chunk(json!([{"text": "Half"}]))]).hang();
    for (answer, sign) in [(silent, "nothing came"), (stalled, "stopped")] {
        let server = Server::start([answer]).await;
        let settings = ProviderSettings::new(Provider::Gemini).base_url(&server.url).key(ApiKey::new(KEY));
        let model = ProviderModel::new("gemini-3-flash", settings.time_limits(limits)).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TimedOut);
        assert!(error.message.contains(sign), "{error}");
    }
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let talkative = || fault(400, "INVALID_ARGUMENT", &format!("Cannot use {KEY} here."), json!([]));
    let server =
        Server::start([Answer::json(400, talkative()), Answer::events([talkative()]), Answer::events([KEY])])
            .await;
    let model = model_named("gemini-3-flash", &server);
    for _ in 0..3 {
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        let shown = format!("{error} {error:?} {}", serde_json::to_string(&error).unwrap());
        assert!(!shown.contains(KEY) && shown.contains("(key hidden)"), "{shown}");
    }
    assert!(!format!("{model:?}").contains(KEY));
    assert_eq!(model.name(), "gemini/gemini-3-flash");
}

#[test]
fn no_key_is_said_before_anything_is_sent() {
    let error = ProviderModel::new("gemini-3-flash", ProviderSettings::new(Provider::Gemini)).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Authentication);
    assert!(error.message.contains("GEMINI_API_KEY"), "{error}");
}
