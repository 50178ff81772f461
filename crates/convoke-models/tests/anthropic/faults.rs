//! Tests of errors.

use std::time::Duration;

use convoke_core::{Category, Model, ModelErrorKind, ModelRequest, ReplyDelta};
use convoke_models::ProviderModel;
use serde_json::json;

use super::{KEY, OPUS, model, rich, settings};
use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server, ask, pieces};

#[tokio::test]
async fn refusals_are_typed() {
    for (status, name, said, kind, category) in [
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            ModelErrorKind::Authentication,
            Category::Permanent,
        ),
        (403, "permission_error", "not yours", ModelErrorKind::Authentication, Category::Permanent),
        (400, "invalid_request_error", "bad", ModelErrorKind::InvalidRequest, Category::UserInput),
        (404, "not_found_error", "model: claude-x", ModelErrorKind::InvalidRequest, Category::UserInput),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low",
            ModelErrorKind::Quota,
            Category::Permanent,
        ),
        (402, "billing_error", "pay", ModelErrorKind::Quota, Category::Permanent),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            ModelErrorKind::ContextTooLong,
            Category::UserInput,
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000",
            ModelErrorKind::ContextTooLong,
            Category::UserInput,
        ),
        (
            400,
            "invalid_request_error",
            "Output blocked by content filtering policy",
            ModelErrorKind::Refused,
            Category::UserInput,
        ),
        (413, "request_too_large", "too large", ModelErrorKind::ContextTooLong, Category::Permanent),
        (429, "rate_limit_error", "slow down", ModelErrorKind::RateLimited, Category::Transient),
        (500, "api_error", "oops", ModelErrorKind::Overloaded, Category::Transient),
        (504, "timeout_error", "too slow", ModelErrorKind::TimedOut, Category::Transient),
        (529, "overloaded_error", "Overloaded", ModelErrorKind::Overloaded, Category::Transient),
        (529, "brand_new_error", "Hm", ModelErrorKind::Overloaded, Category::Transient),
    ] {
        let body = json!({"type": "error", "error": {"type": name, "message": said}, "request_id": "req_b"});
        let server = Server::start([Answer::json(status, body).header("request-id", "req_h")]).await;
        let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (kind, category), "{error}");
        assert_eq!(error.status, Some(status));
        assert!(error.request_id.as_deref().is_some_and(|id| id.starts_with("req_")), "{error:?}");
        assert!(
            error.message.starts_with("anthropic/claude-opus-5: ") && error.message.contains(said),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait() {
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    let server = Server::start([Answer::json(429, body).header("retry-after", "7")]).await;
    let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_reply_is_typed_too() {
    for (name, kind) in [
        ("overloaded_error", ModelErrorKind::Overloaded),
        ("rate_limit_error", ModelErrorKind::RateLimited),
        ("api_error", ModelErrorKind::Overloaded),
        ("brand_new_error", ModelErrorKind::Other),
    ] {
        let mut events = rich();
        events.truncate(16);
        events.push(
            json!({"type": "error", "error": {"type": name, "message": "Too much"}, "request_id": "req_1"}),
        );
        let server = Server::start([Answer::typed_events(events)]).await;
        let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.message.contains("Too much"), "{error}");
    }
}

#[tokio::test]
async fn half_a_reply_is_none() {
    let most = || rich().into_iter().take(rich().len() - 1);
    for answer in [Answer::typed_events(most()), Answer::typed_events(most()).cut()] {
        let server = Server::start([answer]).await;
        let model = model(&server, OPUS);
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::Interrupted, Category::Transient));
        let deltas = pieces(&model, ModelRequest::new("Hi")).await;
        assert!(!deltas.iter().any(|delta| matches!(delta, Ok(ReplyDelta::Finished { .. }))));
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_shown_in_part() {
    let nonsense = format!("data: {{\"type\": {}\n\n", "x".repeat(1_000));
    let server = Server::start([Answer::new(200, "text/event-stream", vec![nonsense])]).await;
    let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("{\"type\": xxx") && error.message.len() < 300, "{error}");
}

#[tokio::test]
async fn silence_ends_in_time() {
    let mut begun = rich();
    begun.truncate(5);
    for (answer, limits, words) in [
        (Answer::typed_events([]).hang(), SOON_SILENT, "no sign of an answer came within"),
        (Answer::typed_events(begun).hang(), SOON_STALLED, "stopped for"),
    ] {
        let server = Server::start([answer]).await;
        let settings = settings(&server).time_limits(limits);
        let model = ProviderModel::new(OPUS, settings).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::TimedOut, Category::Transient));
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let said = format!("{KEY} is no good");
    let refused = json!({"type": "error", "error": {"type": "authentication_error", "message": said}});
    let broken = Answer::new(200, "text/event-stream", vec![format!("data: {KEY}\n\n")]);
    let server =
        Server::start([Answer::json(401, refused.clone()), Answer::typed_events([refused]), broken]).await;
    let model = model(&server, OPUS);
    for _ in 0..3 {
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
    }
    assert!(!format!("{model:?} {:?}", settings(&server)).contains(KEY));
    assert_eq!(model.name(), "anthropic/claude-opus-5");
}
