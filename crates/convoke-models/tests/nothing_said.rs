//! Tests with servers that send empty pieces, and replies without usage.

use std::sync::Arc;

use convoke_core::{Model, ModelErrorKind, ModelRequest, ReplyDelta};
use convoke_models::provider::TimeLimits;
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use futures_util::TryStreamExt;
use serde_json::{Value, json};

use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server, ask, context};

fn settings(provider: Provider, url: &str) -> ProviderSettings {
    ProviderSettings::new(provider).base_url(url).key(ApiKey::new("sk-nothing-said"))
}

fn model(settings: ProviderSettings) -> ProviderModel {
    ProviderModel::new("some-model", settings).unwrap()
}

fn choice(delta: Value) -> Value {
    json!({"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// A provider, a piece that begins an answer, and one with nothing in it.
fn idlers() -> Vec<(Provider, Value, Value)> {
    let hello = choice(json!({"content": "Hello"}));
    let chat = |nothing: Value| (Provider::OpenAiCompatible, hello.clone(), nothing);
    let line = |words: &str| json!({"message": {"role": "assistant", "content": words}, "done": false});
    let part = |words: &str| json!({"candidates": [{"content": {"parts": [{"text": words}]}}]});
    vec![
        chat(choice(json!({}))),
        chat(choice(json!({"content": ""}))),
        chat(json!({"id": "r1", "choices": []})),
        (
            Provider::Anthropic,
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}}),
            json!({"type": "ping"}),
        ),
        (Provider::Ollama, line("Hello"), line("")),
        (Provider::Gemini, part("Hello"), part("")),
        (
            Provider::OpenAi,
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hello"}),
            json!({"type": "response.in_progress", "response": {}}),
        ),
    ]
}

/// So many pieces with nothing in them, after some others.
fn idling(provider: Provider, before: &[Value], nothing: &Value, times: usize) -> Answer {
    let pieces = before.iter().cloned().chain(std::iter::repeat_n(nothing.clone(), times));
    match provider {
        Provider::Ollama => Answer::lines(pieces),
        Provider::Anthropic => Answer::typed_events(pieces),
        _ => Answer::events(pieces),
    }
}

/// What an answer ends in that comes piece by piece, with a pause between them, and would be cut off in the end.
async fn end_of(provider: Provider, answer: Answer, limits: TimeLimits) -> String {
    let server = Server::start([answer]).await;
    let model = model(settings(provider, &server.url).time_limits(limits));
    let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TimedOut, "{provider:?}: {error}");
    error.message
}

#[tokio::test]
async fn pieces_with_nothing_in_them_are_no_sign_of_an_answer() {
    for (provider, hello, nothing) in idlers() {
        let start =
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}});
        let before = if provider == Provider::Anthropic { vec![start] } else { Vec::new() };
        let silent = end_of(provider, idling(provider, &before, &nothing, 2_000), SOON_SILENT).await;
        assert!(silent.contains("no sign of an answer came within 300ms"), "{provider:?}: {silent}");
        let stalled = end_of(provider, idling(provider, &[hello], &nothing, 2_000), SOON_STALLED).await;
        assert!(stalled.contains("the reply stopped for 300ms"), "{provider:?}: {stalled}");
    }
}

#[tokio::test]
async fn pieces_with_nothing_in_them_count_against_the_longest_reply() {
    for (provider, hello, nothing) in idlers() {
        let times = 2 * 1024 * 1024 / nothing.to_string().len();
        let answer = idling(provider, &[hello], &nothing, times);
        let settings = settings(provider, "http://idler.example").transport(Arc::new(answer));
        let error =
            ask(&model(settings.max_reply_bytes(1024 * 1024)), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Malformed, "{provider:?}: {error}");
        assert!(error.message.contains("longer than 1 MiB"), "{provider:?}: {error}");
    }
}

#[tokio::test]
async fn an_answer_in_small_pieces_is_measured_by_what_it_says() {
    let word = choice(json!({"content": "word "}));
    let end = json!({"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let pieces = std::iter::repeat_n(word, 30_000).chain([end]);
    let settings = settings(Provider::OpenAiCompatible, "http://talker.example")
        .transport(Arc::new(Answer::events(pieces)))
        .max_reply_bytes(1024 * 1024);
    let reply = ask(&model(settings), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(reply.text().len(), 150_000, "though it came in more than two MiB");
}

#[tokio::test]
async fn counts_that_make_no_sense_are_not_told_as_nothing_used() {
    let senseless =
        |count: Value| json!({"prompt_tokens": count, "completion_tokens": count, "total_tokens": count});
    let huge: Value = serde_json::from_str("123456789012345678901234567890").unwrap();
    let counts = [json!(-5), json!(12.5), json!("12"), Value::Null, huge].map(senseless);
    for usage in counts.into_iter().chain([Value::Null, json!({}), json!("none"), json!(7)]) {
        let body = json!({
            "id": "r1",
            "choices": [{"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}],
            "usage": usage,
        });
        let transport = Arc::new(Answer::json(200, body));
        let model = model(settings(Provider::OpenAiCompatible, "http://silent.example").transport(transport));
        let pieces: Vec<_> = model.reply(ModelRequest::new("Hi"), context()).try_collect().await.unwrap();
        let said = pieces.iter().find(|piece| matches!(piece, ReplyDelta::Usage(_)));
        assert_eq!(said, None, "{usage}");
        assert!(matches!(pieces.last(), Some(ReplyDelta::Finished { .. })));
    }
}

#[tokio::test]
async fn counts_that_cannot_be_are_not_believed() {
    let used = async |usage: Value| {
        let body = json!({
            "choices": [{"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}],
            "usage": usage,
        });
        let transport = Arc::new(Answer::json(200, body));
        let model = model(settings(Provider::OpenAiCompatible, "http://liar.example").transport(transport));
        let pieces: Vec<_> = model.reply(ModelRequest::new("Hi"), context()).try_collect().await.unwrap();
        pieces.into_iter().find_map(|piece| match piece {
            ReplyDelta::Usage(usage) => Some(usage),
            _ => None,
        })
    };
    assert_eq!(used(json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX})).await, None);
    let half = used(json!({"prompt_tokens": 7, "completion_tokens": 1u64 << 62})).await.unwrap();
    assert_eq!((half.input_tokens, half.output_tokens), (7, 0));
    let cached = json!({"cached_tokens": 1_000_000, "cache_write_tokens": 1_000_000});
    let more =
        used(json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": cached})).await;
    assert_eq!(more.map(|usage| (usage.cached_input_tokens, usage.cache_write_tokens)), Some((10, 0)));
    let dear = used(json!({"prompt_tokens": 10, "completion_tokens": 5, "cost": 1e300})).await.unwrap();
    assert_eq!(dear.cost, None);
}
