//! Tests of waits after a refusal: what is reported, and how long is waited.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use convoke_core::{BoxFuture, Category, Model, ModelRequest, ReplyDelta};
use convoke_models::http::{HttpReply, HttpRequest, TransportError};
use convoke_models::resilience::{Attempts, Retrying};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings, Transport};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

use crate::server::{Answer, ask, context};

/// Answers in turn, the last one again and again.
#[derive(Debug)]
struct InTurn(Mutex<VecDeque<Answer>>);

impl Transport for InTurn {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() };
        Box::pin(async move { answer.send(request).await })
    }
}

/// A model whose server gives these answers. Each has a gate of its own.
fn model(name: &str, answers: impl IntoIterator<Item = Answer>) -> ProviderModel {
    let settings = ProviderSettings::new(Provider::OpenAiCompatible)
        .base_url(format!("http://{name}.example/v1"))
        .key(ApiKey::new("sk-waits"))
        .transport(Arc::new(InTurn(Mutex::new(answers.into_iter().collect()))));
    ProviderModel::new("some-model", settings).unwrap()
}

fn refusal() -> Answer {
    Answer::json(429, json!({"error": {"message": "slow down"}}))
}

fn hello() -> Answer {
    let choice = json!({"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"});
    Answer::json(200, json!({"id": "r1", "choices": [choice]}))
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_a_wait_is_what_is_waited() {
    for (name, header) in [
        ("unsaid", None),
        ("negative", Some("-5")),
        ("nothing", Some("0")),
        ("no-number", Some("NaN")),
        ("seconds", Some("7")),
    ] {
        let refused = || match header {
            Some(value) => refusal().header("retry-after", value),
            None => refusal(),
        };
        let model = model(name, [refused(), refused(), hello()]);
        let model = Retrying::new(Arc::new(model), Attempts::default());
        let mut pieces = model.reply(ModelRequest::new("Hi"), context());
        let mut announced = None;
        let mut waits = 0;
        while let Some(piece) = pieces.next().await {
            if let Some((since, said)) = announced.take() {
                let (since, said): (Instant, String) = (since, said);
                let waited = format!(" in {:.1?}", since.elapsed());
                assert!(said.ends_with(&waited), "{name}: {said} (waited{waited})");
                waits += 1;
            }
            if let ReplyDelta::Restarted { reason, .. } = piece.unwrap() {
                announced = Some((Instant::now(), reason));
            }
        }
        assert_eq!(waits, 2, "{name}");
    }
}

#[tokio::test]
async fn a_wait_beyond_all_measure_is_not_waited_for_nor_put_into_numbers() {
    let answers = ["99999999999999999999", "Thu, 31 Dec 2099 23:59:59 GMT"];
    for (number, wait) in answers.into_iter().enumerate() {
        let model = model(&format!("far-{number}"), [refusal().header("retry-after", wait)]);
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.category(), error.retry_after), (Category::Permanent, None));
        assert!(error.message.contains("longer than is waited for"), "{error}");
        assert!(!error.message.contains("8760"), "{error}");
    }
    let model = model("hours", [refusal().header("retry-after", "7260")]);
    let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
    assert!(error.message.ends_with("it asks to try again in 2 h 1 min"), "{error}");
}
