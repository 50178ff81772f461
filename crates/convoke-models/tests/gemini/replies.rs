//! Tests of decoding replies.

use convoke_core::{FinishReason, ModelErrorKind, ModelRequest, ReplyDelta, Usage};
use serde_json::json;

use super::{chunk, error_of, finished, model_named, reply_to, thought};
use crate::server::{Answer, Server, pieces};

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
