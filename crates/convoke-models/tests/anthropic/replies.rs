//! Tests of decoding replies.

use convoke_core::{
    Category, FinishReason, Message, ModelErrorKind, ModelRequest, Money, Part, Price, ReplyDelta, Usage,
};
use convoke_models::ProviderModel;
use serde_json::{Value, json};

use super::{OPUS, ended, hello, model, rich, settings};
use crate::common::{call, result};
use crate::server::{Answer, Server, ask, pieces};

/// The same reply, not streamed.
fn rich_whole() -> Value {
    let tool = |id: &str, city: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {"city": city}});
    json!({
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Two cities.", "signature": "c2lnMQ=="},
            {"type": "redacted_thinking", "data": "aGlkZGVu"},
            {"type": "thinking", "thinking": "", "signature": "c2lnMg=="},
            {"type": "text", "text": "Let me löök."},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            tool("toolu_1", "Oslo"),
            tool("toolu_2", "Rome"),
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 12,
            "cache_read_input_tokens": 300,
            "cache_creation_input_tokens": 40,
            "output_tokens": 90,
            "output_tokens_details": {"thinking_tokens": 60},
        },
    })
}

/// A stream, cut into pieces of so many characters.
fn cut(events: &[Value], length: usize) -> Answer {
    let frame = |data: &Value| format!("event: {}\r\ndata: {data}\r\n\r\n", data["type"].as_str().unwrap());
    let characters: Vec<_> = events.iter().map(frame).collect::<String>().chars().collect();
    let pieces = characters.chunks(length).map(|piece| piece.iter().collect()).collect();
    Answer::new(200, "text/event-stream; charset=utf-8", pieces)
}

#[tokio::test]
async fn a_reply_is_the_same_however_it_comes_and_goes_back_as_it_came() {
    let answers = [cut(&rich(), 5), cut(&rich(), 97), cut(&rich(), 100_000), Answer::json(200, rich_whole())];
    for answer in answers {
        let server = Server::start([answer.header("request-id", "req_1"), hello()]).await;
        let model = model(&server, OPUS);
        let reply = ask(&model, ModelRequest::new("Weather in Oslo and Rome?")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), ("Let me löök.", FinishReason::ToolCalls));
        assert_eq!(reply.request_id.as_deref(), Some("req_1"));
        assert_eq!(
            reply.usage,
            Usage {
                cached_input_tokens: 300,
                cache_write_tokens: 40,
                reasoning_tokens: 60,
                ..Usage::tokens(352, 90)
            }
        );
        let calls: Vec<_> = reply.tool_calls().into_iter().map(Part::ToolCall).collect();
        assert_eq!(calls, [call("toolu_1", "Oslo"), call("toolu_2", "Rome")]);
        assert!(matches!(&reply.message.parts[0], Part::Reasoning { text, .. } if text == "Two cities."));

        let results = [result("toolu_1", "sunny", false), result("toolu_2", "rain", false)];
        let transcript =
            vec![Message::user("Weather?"), reply.message.clone(), Message::tool_results(results)];
        ask(&model, ModelRequest::new(transcript)).await.unwrap();
        let mut sent_back = rich_whole()["content"].take();
        sent_back.as_array_mut().unwrap().remove(4); // the provider's own tool
        assert_eq!(server.last().body["messages"][1]["content"], sent_back);
    }
}

#[tokio::test]
async fn arguments_come_in_pieces_of_what_is_new() {
    let server = Server::start([Answer::typed_events(rich())]).await;
    let deltas = pieces(&model(&server, OPUS), ModelRequest::new("Hi")).await;
    let calls: Vec<_> = deltas
        .into_iter()
        .filter_map(|delta| match delta.unwrap() {
            ReplyDelta::ToolCallStarted { index, id, .. } => Some((index, id)),
            ReplyDelta::ToolCallArguments { index, delta } => Some((index, delta)),
            _ => None,
        })
        .collect();
    let expected = [
        (0, "toolu_1"),
        (0, "{\"city\": \"Os"),
        (1, "toolu_2"),
        (1, "{\"city\":"),
        (0, "lo\"}"),
        (1, "\"Rome\"}"),
    ];
    assert_eq!(calls, expected.map(|(index, text)| (index, text.to_owned())));
}

#[tokio::test]
async fn every_reason_to_stop_is_understood() {
    let text = || {
        [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hm"}}),
        ]
    };
    for (reason, finish) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("something_new", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
    ] {
        let server = Server::start([Answer::typed_events(ended(text(), reason))]).await;
        let reply = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap();
        assert_eq!((reply.finish, reply.usage), (finish, Usage::tokens(10, 5)), "{reason}");
    }
    // More tokens would not help a turn that the provider wants to be continued.
    let server = Server::start([Answer::typed_events(ended(text(), "pause_turn"))]).await;
    let paused = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!((paused.kind, paused.category()), (ModelErrorKind::Other, Category::Permanent));
    assert!(paused.message.contains("paused its turn") && !paused.message.contains("cut off"), "{paused}");
}

#[tokio::test]
async fn what_is_kept_for_an_hour_is_paid_for_as_that() {
    let price = Price {
        cached_input: Money::from_cents(50),
        cache_write: Money::from_cents(625),
        ..Price::new(Money::from_dollars(5), Money::from_dollars(25))
    };
    let usage = |hour: u64| {
        json!({
            "input_tokens": 100_000,
            "cache_read_input_tokens": 200_000,
            "cache_creation_input_tokens": 1_000_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 1_000_000 - hour, "ephemeral_1h_input_tokens": hour},
            "output_tokens": 10_000,
        })
    };
    // 0.5 + 0.1 + 0.25, and the writes: 2.5 at 6.25 a million and 6 at twice 5.
    for (hour, priced, cost) in [(600_000, true, Some(935)), (600_000, false, None), (0, true, None)] {
        let block = json!({"type": "text", "text": "Hello."});
        let message = json!({"type": "message", "content": [block], "usage": usage(hour)});
        let server = Server::start([Answer::json(200, message)]).await;
        let settings = settings(&server).price(priced.then_some(price));
        let reply = ask(&ProviderModel::new(OPUS, settings).unwrap(), ModelRequest::new("Hi")).await.unwrap();
        let expected = Usage {
            cached_input_tokens: 200_000,
            cache_write_tokens: 1_000_000,
            cost: cost.map(Money::from_cents),
            ..Usage::tokens(1_300_000, 10_000)
        };
        assert_eq!(reply.usage, expected);
    }
}
