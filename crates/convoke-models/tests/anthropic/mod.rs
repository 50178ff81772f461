//! Tests of Anthropic's Messages: requests, replies, errors.

mod faults;
mod replies;
mod requests;
mod shapes;
mod thoughts;

use crate::server::{Answer, Server, ask};
use convoke_core::{ModelErrorKind, ModelParams, ModelRequest, OutputSchema};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

const KEY: &str = "sk-ant-very-secret";
const OPUS: &str = "claude-opus-5";
const SONNET: &str = "claude-sonnet-4-5";

fn settings(server: &Server) -> ProviderSettings {
    ProviderSettings::new(Provider::Anthropic).base_url(&server.url).key(ApiKey::new(KEY))
}

fn model(server: &Server, name: &str) -> ProviderModel {
    ProviderModel::new(name, settings(server)).unwrap()
}

/// A short answer, as it is streamed.
fn hello() -> Answer {
    Answer::typed_events(events([
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}}),
        json!({"type": "content_block_stop", "index": 0}),
    ]))
}

/// A reply with this content that ends as it should.
fn events(content: impl IntoIterator<Item = Value>) -> Vec<Value> {
    ended(content, "end_turn")
}

fn ended(content: impl IntoIterator<Item = Value>, reason: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"content": [], "usage": usage}})];
    events.extend(content);
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// A reply with everything in it.
fn rich() -> Vec<Value> {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let more =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let thought = || json!({"type": "thinking", "thinking": "", "signature": ""});
    let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {}});
    let partial = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    let content = [
        json!({"type": "ping"}),
        start(0, thought()),
        more(0, json!({"type": "thinking_delta", "thinking": "Two "})),
        more(0, json!({"type": "thinking_delta", "thinking": "cities."})),
        more(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        more(0, json!({"type": "signature_delta", "signature": "MQ=="})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "aGlkZGVu"})),
        stop(1),
        start(2, thought()),
        more(2, json!({"type": "signature_delta", "signature": "c2lnMg=="})),
        stop(2),
        start(3, json!({"type": "text", "text": ""})),
        more(3, json!({"type": "text_delta", "text": "Let me "})),
        json!({"type": "ping"}),
        more(3, json!({"type": "text_delta", "text": "löök."})),
        more(3, json!({"type": "citations_delta", "citation": {}})),
        stop(3),
        start(4, json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})),
        more(4, partial("{\"query\":\"x\"}")),
        stop(4),
        start(5, tool("toolu_1")),
        more(5, partial("")),
        more(5, partial("{\"city\": \"Os")),
        start(6, tool("toolu_2")),
        more(6, partial("{\"city\":")),
        more(5, partial("lo\"}")),
        more(6, partial("\"Rome\"}")),
        stop(5),
        stop(6),
        json!({"type": "something_new", "index": 9}),
    ];
    let mut events = ended(content, "tool_use");
    events[0]["message"]["usage"] = json!({
        "input_tokens": 10,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 40,
        "output_tokens": 2,
    });
    let at = events.len() - 2;
    events[at]["usage"] = json!({
        "input_tokens": 12,
        "cache_read_input_tokens": null,
        "output_tokens": 90,
        "output_tokens_details": {"thinking_tokens": 60},
    });
    events
}

/// What the server is asked when this model gets this request.
async fn body(name: &str, request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model(&server, name), request).await.unwrap();
    server.last().body
}

/// Why this model cannot be asked this. Nothing is sent.
async fn refusal(name: &str, request: ModelRequest) -> String {
    let server = Server::start([hello()]).await;
    let error = ask(&model(&server, name), request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest, "{error}");
    assert_eq!(server.asked().len(), 0, "it was sent all the same");
    error.message
}

fn with(params: ModelParams) -> ModelRequest {
    ModelRequest { params, ..ModelRequest::new("Hi") }
}

fn person() -> OutputSchema {
    OutputSchema {
        name: "person".into(),
        description: "Somebody.".into(),
        schema: json!({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}),
    }
}
