//! Tests of OpenAI's Responses, against a server that behaves like OpenAI's.

mod faults;
mod replies;
mod requests;
mod thoughts;

use crate::server::{Answer, Server};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

/// The key of all tests. It must be seen nowhere.
const KEY: &str = "sk-proj-secret";

/// A model at a server.
fn model(name: &str, server: &Server) -> ProviderModel {
    let settings =
        ProviderSettings::new(Provider::OpenAi).base_url(format!("{}/v1/", server.url)).key(ApiKey::new(KEY));
    ProviderModel::new(name, settings).unwrap()
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}})
}

/// An item begins.
fn added(at: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": at, "item": item})
}

/// An item is whole.
fn done(at: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": at, "item": item})
}

/// More of an item.
fn delta(kind: &str, at: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": at, "content_index": 0, "delta": delta})
}

fn message(words: &str) -> Value {
    json!({
        "type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": words, "annotations": []}],
    })
}

fn call(id: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "status": "completed",
        "call_id": id, "name": "weather", "arguments": arguments,
    })
}

/// The reply is whole.
fn completed() -> Value {
    json!({"type": "response.completed", "response": {
        "id": "resp_1", "object": "response", "status": "completed",
        "usage": {
            "input_tokens": 30, "input_tokens_details": {"cached_tokens": 20},
            "output_tokens": 12, "output_tokens_details": {"reasoning_tokens": 8}, "total_tokens": 42,
        },
    }})
}

/// Words, piece by piece, as one item.
fn spoken(at: u64, pieces: &[&str]) -> Vec<Value> {
    let mut events = vec![added(at, json!({"type": "message", "id": "msg_1", "content": []}))];
    events.extend(pieces.iter().map(|piece| delta("output_text", at, piece)));
    events.push(json!({"type": "response.output_text.done", "output_index": at, "text": pieces.concat()}));
    events.push(done(at, message(&pieces.concat())));
    events
}

/// A reply made of these events between its beginning and its end.
fn stream_of(events: impl IntoIterator<Item = Value>) -> Answer {
    Answer::typed_events([created()].into_iter().chain(events).chain([completed()]))
}

/// A reply that says hello.
fn hello() -> Answer {
    stream_of(spoken(0, &["Hello."]))
}
