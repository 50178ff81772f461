//! Tests of Ollama's own chat: requests, replies, errors.

mod faults;
mod replies;
mod requests;

use crate::server::{Answer, Server};
use convoke_models::{Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

const KEY: &str = "very-secret-word";

fn settings(server: &Server) -> ProviderSettings {
    ProviderSettings::new(Provider::Ollama).base_url(&server.url)
}

fn model(server: &Server) -> ProviderModel {
    ProviderModel::new("qwen3:8b", settings(server)).unwrap()
}

fn line(message: Value) -> Value {
    json!({"model": "qwen3:8b", "created_at": "2026-11-15T10:00:00Z", "message": message, "done": false})
}

fn said(text: &str) -> Value {
    line(json!({"role": "assistant", "content": text}))
}

fn done(reason: &str) -> Value {
    json!({
        "model": "qwen3:8b",
        "message": {"role": "assistant", "content": ""},
        "done": true,
        "done_reason": reason,
        "prompt_eval_count": 26,
        "eval_count": 9,
        "eval_duration": 4_709_213_000_u64,
    })
}

fn hello() -> Answer {
    Answer::lines([said("Hel"), said("lo."), done("stop")])
}
