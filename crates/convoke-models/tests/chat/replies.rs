//! Tests of decoding replies.

use std::sync::Arc;

use convoke_core::{FinishReason, ModelReply, ModelRequest, Money, ReplyDelta, Usage};
use convoke_models::ProviderModel;
use serde_json::{Value, json};

use super::{chunk, finish, model, settings_at, stream_of};
use crate::server::{Answer, Server, ask, pieces};

async fn reply(answer: Answer) -> ModelReply {
    let server = Server::start([answer]).await;
    ask(&model(&server), ModelRequest::new("Hi")).await.unwrap()
}

async fn calls(deltas: impl IntoIterator<Item = Value>) -> Vec<(String, String, Value)> {
    let reply = reply(stream_of(deltas, "tool_calls")).await;
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    reply.tool_calls().into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn called(id: &str, name: &str, arguments: Value) -> (String, String, Value) {
    (id.to_owned(), name.to_owned(), arguments)
}

/// A piece of the call with this index.
fn piece(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})
}

/// More of the arguments of the call with this index.
fn more(index: u64, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}

#[tokio::test]
async fn a_reply_is_the_same_however_its_bytes_are_cut() {
    let chunks = [
        chunk(json!({"role": "assistant", "content": ""})),
        chunk(json!({"content": "Grüße aus "})),
        chunk(json!({"content": "Malmö. 🌦"})),
        chunk(piece(0, "c1", "weather", "")),
        chunk(more(0, "{\"city\": \"Malm")),
        chunk(piece(1, "c2", "weather", "")),
        chunk(more(0, "ö\"}")),
        chunk(more(1, "{}")),
        finish("tool_calls"),
        json!({"id": "chatcmpl-1", "choices": [], "usage": {
            "prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 4},
        }}),
    ];
    let mut body: String =
        chunks.iter().map(|chunk| format!(": still here\n\ndata: {chunk}\r\n\r\n")).collect();
    body.push_str("data: [DONE]\n\n");
    let letters: Vec<char> = body.chars().collect();
    for size in [5, 23, 190, letters.len()] {
        let cut = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
        let answer = Answer::new(200, "text/event-stream; charset=utf-8", cut);
        // What was used comes after the answer, and is waited for a short time only.
        let settings = settings_at("http://cut.example/v1").transport(Arc::new(answer));
        let model = ProviderModel::new("qwen3", settings).unwrap();
        let reply = ask(&model, ModelRequest::new("Hi")).await.unwrap();
        assert_eq!(reply.text(), "Grüße aus Malmö. 🌦");
        let calls: Vec<_> =
            reply.tool_calls().into_iter().map(|call| (call.id, call.name, call.arguments)).collect();
        assert_eq!(
            calls,
            [called("c1", "weather", json!({"city": "Malmö"})), called("c2", "weather", json!({}))]
        );
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        assert_eq!(
            reply.usage,
            Usage { cached_input_tokens: 16, reasoning_tokens: 4, ..Usage::tokens(20, 9) }
        );
        assert_eq!(reply.request_id.as_deref(), Some("chatcmpl-1"));
    }
}

#[tokio::test]
async fn pieces_carry_only_what_is_new_and_the_request_s_id_comes_from_the_header() {
    let answer = stream_of(
        [json!({"content": "Let"}), json!({"content": " me"}), piece(0, "c1", "look", "{"), more(0, "}")],
        "tool_calls",
    );
    let server = Server::start([answer.header("x-request-id", "req-7")]).await;
    let pieces: Vec<_> =
        pieces(&model(&server), ModelRequest::new("Hi")).await.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(
        pieces,
        [
            ReplyDelta::Text("Let".into()),
            ReplyDelta::Text(" me".into()),
            ReplyDelta::ToolCallStarted { index: 0, id: "c1".into(), name: "look".into() },
            ReplyDelta::ToolCallArguments { index: 0, delta: "{".into() },
            ReplyDelta::ToolCallArguments { index: 0, delta: "}".into() },
            ReplyDelta::Finished { reason: FinishReason::ToolCalls, request_id: Some("req-7".into()) },
        ]
    );
}

#[tokio::test]
async fn calls_of_all_kinds_of_servers_are_understood() {
    let two = [called("c1", "a", json!({"x": 1})), called("c2", "b", json!({"y": 2}))];
    let without_index = |id: &str, name: &str, arguments: Value| json!({"tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]});
    // Whole calls without an index, one with its arguments as an object.
    assert_eq!(
        calls([without_index("c1", "a", json!("{\"x\":1}")), without_index("c2", "b", json!({"y": 2}))])
            .await,
        two
    );
    // Both in one chunk.
    assert_eq!(
        calls([json!({"tool_calls": [
            {"id": "c1", "function": {"name": "a", "arguments": {"x": 1}}},
            {"id": "c2", "function": {"name": "b", "arguments": {"y": 2}}},
        ]})])
        .await,
        two
    );
    // One index for all calls.
    assert_eq!(
        calls([piece(0, "c1", "a", "{\"x\""), more(0, ":1}"), piece(0, "c2", "b", "{\"y\""), more(0, ":2}")])
            .await,
        two
    );
    // Id and name again with every piece.
    assert_eq!(
        calls([
            piece(0, "c1", "a", "{\"x\""),
            piece(1, "c2", "b", "{\"y\""),
            piece(0, "c1", "a", ":1}"),
            piece(1, "c2", "b", ":2}"),
        ])
        .await,
        two
    );
    // The whole call once more at the end.
    assert_eq!(
        calls([
            piece(0, "c1", "a", "{\"x\":1}"),
            piece(0, "c1", "a", "{\"x\":1}"),
            piece(1, "c2", "b", "{\"y\":2}")
        ])
        .await,
        two
    );
    // The id first, the name later, and arguments in between.
    assert_eq!(
        calls([
            json!({"tool_calls": [{"index": 0, "id": "c1"}]}),
            more(0, "{\"x\""),
            json!({"tool_calls": [{"index": 0, "function": {"name": "a", "arguments": ":1}"}}]}),
            piece(1, "c2", "b", "{\"y\":2}"),
        ])
        .await,
        two
    );
    // Pieces with neither index nor id belong to the last call.
    assert_eq!(
        calls([
            without_index("c1", "a", json!("{\"x\"")),
            json!({"tool_calls": [{"function": {"arguments": ":1}"}}]}),
            without_index("c2", "b", json!({"y": 2})),
        ])
        .await,
        two
    );
    // No ids at all, and one index: each gets an id of its own.
    let nameless = calls([piece(0, "", "a", "{\"x\":1}"), piece(0, "", "a", "{\"x\":1}")]).await;
    assert_eq!(
        nameless,
        [called("m1-call1", "a", json!({"x": 1})), called("m1-call2", "a", json!({"x": 1}))]
    );
    // As it was before there could be several.
    let old = calls([
        json!({"function_call": {"name": "a", "arguments": ""}}),
        json!({"function_call": {"arguments": "{\"x\":1}"}}),
    ])
    .await;
    assert_eq!(old, [called("m1-call1", "a", json!({"x": 1}))]);
}

#[tokio::test]
async fn finish_reasons_are_mapped_and_mistaken_ones_corrected() {
    let text = || json!({"content": "Hm."});
    for (deltas, said, meant) in [
        (vec![text()], "stop", FinishReason::Stop),
        (vec![text()], "eos", FinishReason::Stop),
        (vec![text()], "length", FinishReason::Length),
        (vec![text()], "model_length", FinishReason::Length),
        (vec![text()], "content_filter", FinishReason::ContentFilter),
        (vec![text()], "tool_calls", FinishReason::Stop),
        (vec![piece(0, "c1", "a", "{}")], "function_call", FinishReason::ToolCalls),
        (vec![piece(0, "c1", "a", "{}")], "stop", FinishReason::ToolCalls),
        (vec![piece(0, "c1", "a", "{\"x")], "length", FinishReason::Length),
        (vec![text(), json!({"tool_calls": [{"index": 0, "id": "c1"}]})], "length", FinishReason::Length),
        (
            vec![json!({"refusal": "I can't"}), json!({"refusal": " help."})],
            "stop",
            FinishReason::ContentFilter,
        ),
    ] {
        assert_eq!(reply(stream_of(deltas, said)).await.finish, meant, "{said}");
    }
    let refusal = reply(stream_of([json!({"refusal": "I can't help."})], "stop")).await;
    assert_eq!(refusal.text(), "I can't help.");
}

#[tokio::test]
async fn a_reply_without_done_is_whole_once_it_said_why_it_stopped() {
    let reply = reply(Answer::events([chunk(json!({"content": "Hello."})), finish("stop")])).await;
    assert_eq!((reply.text().as_str(), reply.finish), ("Hello.", FinishReason::Stop));
}

#[tokio::test]
async fn what_comes_after_done_is_nothing() {
    let data = [chunk(json!({"content": "A"})), finish("stop")].map(|chunk| chunk.to_string());
    let late = ["[DONE]".to_owned(), chunk(json!({"content": "B"})).to_string(), "nonsense".to_owned()];
    assert_eq!(reply(Answer::events(data.into_iter().chain(late))).await.text(), "A");
}

#[tokio::test]
async fn usage_with_every_chunk_counts_once_and_is_told_when_it_changes() {
    let used = |completion: u64| {
        let mut chunk = chunk(json!({"content": "x"}));
        chunk["usage"] =
            json!({"prompt_tokens": 5, "completion_tokens": completion, "total_tokens": 5 + completion});
        chunk
    };
    let nothing = json!({"id": "chatcmpl-1", "choices": [], "usage": null});
    let server = Server::start([Answer::events([used(1), used(1), used(2), nothing, finish("stop")])]).await;
    let pieces = pieces(&model(&server), ModelRequest::new("Hi")).await;
    let told: Vec<Usage> = pieces
        .into_iter()
        .filter_map(|piece| match piece.unwrap() {
            ReplyDelta::Usage(usage) => Some(usage),
            _ => None,
        })
        .collect();
    assert_eq!(told, [Usage::tokens(5, 1), Usage::tokens(5, 2)]);
}

#[tokio::test]
async fn usage_is_found_where_servers_put_it() {
    let ending = |usage: Value| {
        let mut last = finish("stop");
        last.as_object_mut().unwrap().extend(usage.as_object().unwrap().clone());
        Answer::events([chunk(json!({"content": "x"})), last])
    };
    // Thoughts that only the total counts.
    let outside = json!({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 20,
        "completion_tokens_details": {"reasoning_tokens": 8}}});
    assert_eq!(reply(ending(outside)).await.usage, Usage { reasoning_tokens: 8, ..Usage::tokens(10, 10) });
    // DeepSeek's cache.
    let hit = json!({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 6}});
    assert_eq!(reply(ending(hit)).await.usage, Usage { cached_input_tokens: 6, ..Usage::tokens(10, 2) });
    // Groq's own place.
    let groq = json!({"x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}});
    assert_eq!(reply(ending(groq)).await.usage, Usage::tokens(3, 4));
    // OpenRouter says what it charged, and what went into the cache.
    let cost = json!({"usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.00125,
        "prompt_tokens_details": {"cache_write_tokens": 2}}});
    let expected =
        Usage { cost: Some(Money::from_micros(1_250)), cache_write_tokens: 2, ..Usage::tokens(3, 4) };
    assert_eq!(reply(ending(cost)).await.usage, expected);
    let own_key =
        json!({"usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.001, "is_byok": true}});
    assert_eq!(reply(ending(own_key)).await.usage, Usage::tokens(3, 4));
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_understood() {
    let document = json!({
        "id": "chatcmpl-9",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}],
        }}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    });
    let reply = reply(Answer::json(200, document)).await;
    assert_eq!((reply.text().as_str(), reply.finish), ("Let me look.", FinishReason::ToolCalls));
    assert_eq!(reply.tool_calls()[0].arguments, json!({"at": 1}));
    assert_eq!((reply.usage, reply.request_id.as_deref()), (Usage::tokens(7, 3), Some("chatcmpl-9")));
}

#[tokio::test]
async fn other_choices_and_unknown_chunks_are_no_part_of_the_reply() {
    let filtered = json!({"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]});
    let other = json!({"choices": [{"index": 1, "delta": {"content": "Other."}, "finish_reason": "stop"}]});
    let unknown = json!({"object": "something.new", "payload": [1, 2]});
    let reply = reply(Answer::events([
        filtered,
        other,
        unknown,
        chunk(json!({"content": "This.", "annotations": [], "audio": null})),
        finish("stop"),
    ]))
    .await;
    assert_eq!(reply.text(), "This.");
}
