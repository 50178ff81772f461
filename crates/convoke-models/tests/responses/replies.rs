//! Tests of decoding replies.

use convoke_core::{FinishReason, ModelReply, ModelRequest, ReplyDelta, Usage};
use serde_json::{Value, json};

use super::{added, call, completed, created, delta, done, message, model, spoken, stream_of};
use crate::server::{Answer, Server, ask, pieces};

async fn reply(answer: Answer) -> ModelReply {
    let server = Server::start([answer]).await;
    ask(&model("gpt-5", &server), ModelRequest::new("Hi")).await.unwrap()
}

fn usage() -> Usage {
    Usage { cached_input_tokens: 20, reasoning_tokens: 8, ..Usage::tokens(30, 12) }
}

/// Words and two calls whose arguments come in turns.
fn events() -> Vec<Value> {
    let mut events = spoken(0, &["Grüße aus ", "Malmö. 🌦"]);
    events.extend([
        added(1, call("c1", "")),
        delta("function_call_arguments", 1, "{\"city\": \"Malm"),
        added(2, call("c2", "")),
        delta("function_call_arguments", 2, "{"),
        delta("function_call_arguments", 1, "ö\"}"),
        delta("function_call_arguments", 2, "}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 1, "arguments": "{\"city\": \"Malmö\"}"}),
        done(1, call("c1", "{\"city\": \"Malmö\"}")),
        done(2, call("c2", "{}")),
    ]);
    events
}

fn assert_events(reply: &ModelReply) {
    assert_eq!(reply.text(), "Grüße aus Malmö. 🌦");
    let calls: Vec<_> =
        reply.tool_calls().into_iter().map(|call| (call.id, call.name, call.arguments)).collect();
    let expected = [
        ("c1".to_owned(), "weather".to_owned(), json!({"city": "Malmö"})),
        ("c2".to_owned(), "weather".to_owned(), json!({})),
    ];
    assert_eq!(calls, expected);
    assert_eq!((reply.finish, reply.usage), (FinishReason::ToolCalls, usage()));
    assert_eq!(reply.request_id.as_deref(), Some("resp_1"));
}

#[tokio::test]
async fn a_reply_is_the_same_however_its_bytes_are_cut() {
    let events = [created()].into_iter().chain(events()).chain([completed()]);
    let body: String = events
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let letters: Vec<char> = body.chars().collect();
    for size in [9, 61, 400, letters.len()] {
        let cut = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
        assert_events(&reply(Answer::new(200, "text/event-stream; charset=utf-8", cut)).await);
    }
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_the_same() {
    let mut document = completed()["response"].take();
    document["output"] =
        json!([message("Grüße aus Malmö. 🌦"), call("c1", "{\"city\": \"Malmö\"}"), call("c2", "{}")]);
    assert_events(&reply(Answer::json(200, document)).await);
}

#[tokio::test]
async fn items_that_only_come_whole_are_told_as_well() {
    let whole = [
        done(0, message("Grüße aus Malmö. 🌦")),
        done(1, call("c1", "{\"city\": \"Malmö\"}")),
        done(2, call("c2", "{}")),
    ];
    assert_events(&reply(stream_of(whole)).await);
    let mut last = completed();
    last["response"]["output"] =
        json!([message("Grüße aus Malmö. 🌦"), call("c1", "{\"city\": \"Malmö\"}"), call("c2", "{}")]);
    // Nothing but the end, and everything twice.
    assert_events(&reply(Answer::typed_events([created(), last.clone()])).await);
    assert_events(&reply(Answer::typed_events([created()].into_iter().chain(events()).chain([last]))).await);
}

#[tokio::test]
async fn pieces_carry_only_what_is_new() {
    let answer = stream_of([
        delta("output_text", 0, "Let"),
        delta("output_text", 0, " me"),
        added(1, call("c1", "")),
        delta("function_call_arguments", 1, "{"),
        delta("function_call_arguments", 1, "}"),
    ]);
    let server = Server::start([answer.header("x-request-id", "req-7")]).await;
    let pieces: Vec<_> = pieces(&model("gpt-4o", &server), ModelRequest::new("Hi"))
        .await
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        pieces,
        [
            ReplyDelta::Text("Let".into()),
            ReplyDelta::Text(" me".into()),
            ReplyDelta::ToolCallStarted { index: 0, id: "c1".into(), name: "weather".into() },
            ReplyDelta::ToolCallArguments { index: 0, delta: "{".into() },
            ReplyDelta::ToolCallArguments { index: 0, delta: "}".into() },
            ReplyDelta::Usage(usage()),
            ReplyDelta::Finished { reason: FinishReason::ToolCalls, request_id: Some("req-7".into()) },
        ]
    );
}

#[tokio::test]
async fn replies_that_stop_early_say_why() {
    for (reason, meant) in
        [("max_output_tokens", FinishReason::Length), ("content_filter", FinishReason::ContentFilter)]
    {
        let end = json!({"type": "response.incomplete", "response": {
            "id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": reason},
            "usage": {"input_tokens": 3, "output_tokens": 4},
        }});
        let reply = reply(Answer::typed_events([created(), delta("output_text", 0, "Hel"), end])).await;
        assert_eq!((reply.finish, reply.text().as_str(), reply.usage), (meant, "Hel", Usage::tokens(3, 4)));
    }
}

#[tokio::test]
async fn a_refusal_is_told_and_counts_as_one() {
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I can't help."}]});
    let streamed = [delta("refusal", 0, "I can't"), delta("refusal", 0, " help."), done(0, refusal.clone())];
    for answer in [stream_of(streamed), stream_of([done(0, refusal)])] {
        let reply = reply(answer).await;
        assert_eq!((reply.finish, reply.text().as_str()), (FinishReason::ContentFilter, "I can't help."));
    }
}

#[tokio::test]
async fn unknown_events_and_items_are_no_part_of_the_reply() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let mut events = vec![
        json!({"type": "response.queued"}),
        json!({"type": "keepalive", "sequence_number": 3}),
        added(0, search.clone()),
        json!({"type": "response.web_search_call.searching", "output_index": 0}),
        done(0, search),
    ];
    events.extend(spoken(1, &["Hello."]));
    let reply = reply(stream_of(events)).await;
    assert_eq!((reply.text().as_str(), reply.finish), ("Hello.", FinishReason::Stop));
}
