//! Tests of chat completions, against a server that behaves like the servers there are.

mod faults;
mod replies;
mod requests;
mod structured;
mod thoughts;

use std::sync::{Arc, Mutex};

use crate::server::{Answer, Server};
use convoke_core::{BoxFuture, ModelRequest};
use convoke_models::http::{HttpReply, HttpRequest, TransportError};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings, Transport};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// The key of all tests. It must be seen nowhere.
const KEY: &str = "sk-compatible-secret";

/// How a server at an address is reached.
fn settings_at(url: &str) -> ProviderSettings {
    ProviderSettings::new(Provider::OpenAiCompatible).base_url(url).key(ApiKey::new(KEY))
}

/// A model at an address.
fn model_at(url: &str) -> ProviderModel {
    ProviderModel::new("qwen3", settings_at(url)).unwrap()
}

/// A model at a server.
fn model(server: &Server) -> ProviderModel {
    model_at(&format!("{}/v1", server.url))
}

/// A chunk with this delta.
fn chunk(delta: Value) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}],
    })
}

/// The chunk that says why the model stopped.
fn finish(reason: &str) -> Value {
    json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A good reply made of these deltas.
fn stream_of(deltas: impl IntoIterator<Item = Value>, reason: &str) -> Answer {
    let chunks = deltas.into_iter().map(chunk).chain([finish(reason)]).map(|chunk| chunk.to_string());
    Answer::events(chunks.chain(["[DONE]".to_owned()]))
}

/// A reply that says hello.
fn hello() -> Answer {
    stream_of([json!({"role": "assistant", "content": ""}), json!({"content": "Hello."})], "stop")
}

/// Stands in for servers that are known by their address.
#[derive(Debug, Default)]
struct Elsewhere {
    asked: Mutex<Vec<Value>>,
}

impl Transport for Elsewhere {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        self.asked.lock().unwrap().push(serde_json::from_slice(&request.body).unwrap());
        let reply =
            json!({"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}).to_string();
        let headers = HeaderMap::from_iter([(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json; charset=utf-8"),
        )]);
        let body = Box::pin(stream::iter([Ok(reply.into())]));
        Box::pin(async move { Ok(HttpReply { status: StatusCode::OK, headers, body }) })
    }
}

/// What a server at this address is asked.
async fn asked_at(url: &str, name: &str, request: ModelRequest) -> Value {
    let transport = Arc::new(Elsewhere::default());
    let settings = settings_at(url).transport(Arc::clone(&transport) as Arc<dyn Transport>);
    let reply = crate::server::ask(&ProviderModel::new(name, settings).unwrap(), request).await.unwrap();
    assert_eq!(reply.text(), "Hello.");
    transport.asked.lock().unwrap().pop().unwrap()
}
