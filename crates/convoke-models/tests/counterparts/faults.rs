//! Retries against PyPI's `llmock`, which breaks what it is told to and then judges how the client took it.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Model, ModelErrorKind, ModelRequest};
use convoke_models::provider::TimeLimits;
use convoke_models::resilience::{Attempts, Retrying};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

use super::process::{Running, place};
use crate::server::ask;

fn llmock() -> Option<Running> {
    let place = place()?;
    Some(Running::start(|port| {
        let mut command = Command::new(place.join("python/bin/llmock"));
        command.args(["serve", "--port", &port.to_string()]);
        command
    }))
}

/// Our clients, each of which the server judges by itself.
fn models(server: &Running, limits: TimeLimits) -> Vec<Arc<dyn Model>> {
    let protocols = [
        (Provider::OpenAiCompatible, "/v1", "some-model"),
        (Provider::Anthropic, "/anthropic", "claude-sonnet-4-5"),
        (Provider::Gemini, "/gemini/v1beta", "gemini-2.5-flash"),
    ];
    let model = |(provider, path, model): (Provider, &str, &str)| -> Arc<dyn Model> {
        let settings = ProviderSettings::new(provider)
            .base_url(format!("{}{path}", server.url()))
            .key(ApiKey::new("sk-counterparts"))
            .time_limits(limits);
        Arc::new(Retrying::new(Arc::new(ProviderModel::new(model, settings).unwrap()), Attempts::default()))
    };
    protocols.into_iter().map(model).collect()
}

/// The server's judgement after a client got one answer in spite of these faults.
async fn judged(behaviours: Value, limits: TimeLimits) {
    let Some(server) = llmock() else { return };
    for model in models(&server, limits) {
        server.control("POST", "/_llmock/reset", &json!({}));
        server.control("POST", "/_llmock/scenario", &json!({"behaviors": behaviours}));
        let reply = ask(&*model, ModelRequest::new("hello")).await;
        let reply = reply.unwrap_or_else(|error| panic!("{} after {behaviours}: {error}", model.name()));
        assert!(!reply.text().is_empty());
        let verdict = server.control("GET", "/_llmock/verdict", &json!({}));
        let verdict: Value = serde_json::from_str(&verdict).unwrap_or_else(|_| panic!("{verdict}"));
        let complaints = verdict["findings"].as_array().map_or(0, Vec::len);
        assert_eq!(complaints, 0, "{} after {behaviours}: {verdict:#}", model.name());
    }
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_kept() {
    judged(json!([{"type": "fail", "status": 429, "retry_after": 1, "times": 2}]), TimeLimits::default())
        .await;
}

#[tokio::test]
async fn a_broken_server_is_tried_again() {
    judged(json!([{"type": "fail", "status": 500}, {"type": "fail", "status": 503}]), TimeLimits::default())
        .await;
}

#[tokio::test]
async fn a_stream_that_just_ends_is_tried_again() {
    judged(json!([{"type": "stream_fault", "kind": "truncate", "after_chunks": 2}]), TimeLimits::default())
        .await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_again() {
    judged(json!([{"type": "stream_fault", "kind": "disconnect", "after_chunks": 2}]), TimeLimits::default())
        .await;
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up_and_tried_again() {
    // Long enough that only the stall is given up, however busy the machine is, and that it is no matter of luck which
    // ends first.
    let limits = TimeLimits { idle: Duration::from_secs(6), ..TimeLimits::default() };
    judged(
        json!([{"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 600}]),
        limits,
    )
    .await;
}

#[tokio::test]
async fn a_slow_first_token_is_waited_for() {
    // It takes longer than a pause within the reply may.
    let limits = TimeLimits { idle: Duration::from_secs(6), ..TimeLimits::default() };
    judged(json!([{"type": "slow_first_token", "seconds": 8}]), limits).await;
}

#[tokio::test]
async fn a_malformed_piece_is_an_error_that_says_so() {
    let Some(server) = llmock() else { return };
    for model in models(&server, TimeLimits::default()) {
        server.control("POST", "/_llmock/reset", &json!({}));
        let fault = json!({"type": "stream_fault", "kind": "malformed", "after_chunks": 1, "times": 9});
        server.control("POST", "/_llmock/scenario", &json!({"behaviors": [fault]}));
        let error = ask(&*model, ModelRequest::new("hello")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Malformed, "{}: {error}", model.name());
    }
}

#[tokio::test]
async fn a_wrong_key_is_not_tried_again() {
    let Some(server) = llmock() else { return };
    for model in models(&server, TimeLimits::default()) {
        server.control("POST", "/_llmock/reset", &json!({}));
        let fault = json!({"type": "fail", "status": 401, "times": 9});
        server.control("POST", "/_llmock/scenario", &json!({"behaviors": [fault]}));
        let error = ask(&*model, ModelRequest::new("hello")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Authentication, "{}", model.name());
        let seen: Value =
            serde_json::from_str(&server.control("GET", "/_llmock/requests", &json!({}))).unwrap();
        assert_eq!(seen["count"], 1, "{}", model.name());
    }
}
