//! Tests of Gemini through the model every provider shares, against a server that answers as Google's does.

mod faults;
mod replies;
mod requests;
mod thoughts;

use crate::server::{Answer, Server, ask};
use convoke_core::{ModelErrorKind, ModelReply, ModelRequest, Part};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

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

fn thought(text: &str, signature: Option<&str>) -> Part {
    Part::Reasoning { text: text.into(), signature: signature.map(str::to_owned) }
}
