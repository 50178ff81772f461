//! Tests of errors.

use std::time::Duration;

use convoke_core::{Model, ModelErrorKind, ModelRequest, ReplyDelta};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

use super::{KEY, chunk, error_of, model_named};
use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server, ask, pieces};

fn fault(code: u16, status: &str, message: &str, details: Value) -> Value {
    json!({"error": {"code": code, "status": status, "message": message, "details": details}})
}

#[tokio::test]
async fn a_blocked_prompt_is_refused_and_says_why() {
    let error = error_of(Answer::events([json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
    })]))
    .await;
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.message.contains("PROHIBITED_CONTENT") && error.message.contains("rephrase"), "{error}");
}

#[tokio::test]
async fn failures_are_typed_and_carry_what_the_provider_said() {
    let retry =
        |delay: &str| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
    let quota = |id: &str, value: &str| {
        json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaMetric": "requests", "quotaId": id, "quotaValue": value}],
        })
    };
    let bad_key = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let exhausted = "You exceeded your current quota, please check your plan and billing details.";
    let cases = [
        (400, "INVALID_ARGUMENT", "API key not valid.", bad_key, ModelErrorKind::Authentication, None),
        (401, "UNAUTHENTICATED", "Who?", json!([]), ModelErrorKind::Authentication, None),
        (403, "PERMISSION_DENIED", "No.", json!([]), ModelErrorKind::Authentication, None),
        (400, "INVALID_ARGUMENT", "Unknown name \"x\"", json!([]), ModelErrorKind::InvalidRequest, None),
        (404, "NOT_FOUND", "models/x is not found", json!([]), ModelErrorKind::InvalidRequest, None),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
            json!([]),
            ModelErrorKind::ContextTooLong,
            None,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            exhausted,
            json!([quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10"), retry("7s")]),
            ModelErrorKind::RateLimited,
            Some(Duration::from_secs(7)),
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            exhausted,
            json!([quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250"), retry("34.5s")]),
            ModelErrorKind::Quota,
            Some(Duration::from_millis(34_500)),
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            exhausted,
            json!([quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0"), retry("7s")]),
            ModelErrorKind::Quota,
            Some(Duration::from_secs(7)),
        ),
        (429, "RESOURCE_EXHAUSTED", exhausted, json!([]), ModelErrorKind::Quota, None),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Resource has been exhausted (e.g. check quota).",
            json!([]),
            ModelErrorKind::RateLimited,
            None,
        ),
        (500, "INTERNAL", "Oops.", json!([]), ModelErrorKind::Overloaded, None),
        (503, "UNAVAILABLE", "The model is overloaded.", json!([]), ModelErrorKind::Overloaded, None),
        (504, "DEADLINE_EXCEEDED", "Too slow.", json!([]), ModelErrorKind::TimedOut, None),
    ];
    for (code, status, message, details, kind, wait) in cases {
        let body = fault(code, status, message, details);
        let refused = error_of(Answer::json(code, body.clone()).header("x-goog-request-id", "q7")).await;
        // Where it does not say how long to wait, this is how long nothing is sent.
        let is_unsaid = kind == ModelErrorKind::RateLimited && wait.is_none();
        let waits = refused.retry_after.filter(|wait| !is_unsaid || *wait > Duration::from_secs(1));
        assert_eq!((refused.kind, refused.status, waits), (kind, Some(code), wait), "{refused}");
        assert!(refused.message.contains(message) && refused.message.contains("gemini/"), "{refused}");
        assert_eq!(refused.request_id.as_deref(), Some("q7"));
        // As an array, as it comes where events were not asked for.
        assert_eq!(error_of(Answer::json(code, json!([body]))).await.kind, kind);
        // In the middle of a reply.
        let broken = error_of(Answer::events([chunk(json!([{"text": "Half"}])), body])).await;
        assert_eq!((broken.kind, broken.status, broken.retry_after), (kind, Some(code), wait), "{broken}");
    }
}

#[tokio::test]
async fn the_header_s_wait_counts_where_the_body_names_none() {
    let body = fault(429, "RESOURCE_EXHAUSTED", "Slow down.", json!([]));
    let error = error_of(Answer::json(429, body).header("retry-after", "3")).await;
    assert_eq!((error.kind, error.retry_after), (ModelErrorKind::RateLimited, Some(Duration::from_secs(3))));
    let error = error_of(Answer::new(502, "text/html", vec!["<h1>Bad gateway</h1>".into()])).await;
    assert_eq!((error.kind, error.status), (ModelErrorKind::Overloaded, Some(502)));
}

#[tokio::test]
async fn half_a_reply_is_not_a_reply() {
    let half = || chunk(json!([{"text": "Half an ans"}]));
    assert_eq!(error_of(Answer::events([half()]).cut()).await.kind, ModelErrorKind::Interrupted);
    let ended = Server::start([Answer::events([half()])]).await;
    let came = pieces(&model_named("gemini-3-flash", &ended), ModelRequest::new("Hi")).await;
    assert_eq!(came, [Ok(ReplyDelta::Text("Half an ans".into()))]);
    let error = error_of(Answer::events([half().to_string(), "{\"candidates\": [".into()])).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("{\"candidates\": ["), "{error}");
    assert_eq!(error_of(Answer::events(["17"])).await.kind, ModelErrorKind::Malformed);
}

#[tokio::test]
async fn silence_before_and_within_a_reply_is_bounded() {
    let silent = Answer::events(Vec::<String>::new()).hang();
    let stalled = Answer::events([chunk(json!([{"text": "Half"}]))]).hang();
    for (answer, limits, sign) in
        [(silent, SOON_SILENT, "no sign of an answer"), (stalled, SOON_STALLED, "stopped")]
    {
        let server = Server::start([answer]).await;
        let settings = ProviderSettings::new(Provider::Gemini).base_url(&server.url).key(ApiKey::new(KEY));
        let model = ProviderModel::new("gemini-3-flash", settings.time_limits(limits)).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TimedOut);
        assert!(error.message.contains(sign), "{error}");
    }
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let talkative = || fault(400, "INVALID_ARGUMENT", &format!("Cannot use {KEY} here."), json!([]));
    let server =
        Server::start([Answer::json(400, talkative()), Answer::events([talkative()]), Answer::events([KEY])])
            .await;
    let model = model_named("gemini-3-flash", &server);
    for _ in 0..3 {
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        let shown = format!("{error} {error:?} {}", serde_json::to_string(&error).unwrap());
        assert!(!shown.contains(KEY) && shown.contains("(hidden)"), "{shown}");
    }
    assert!(!format!("{model:?}").contains(KEY));
    assert_eq!(model.name(), "gemini/gemini-3-flash");
}

#[test]
fn no_key_is_said_before_anything_is_sent() {
    let error = ProviderModel::new("gemini-3-flash", ProviderSettings::new(Provider::Gemini)).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Authentication);
    assert!(error.message.contains("GEMINI_API_KEY"), "{error}");
}
