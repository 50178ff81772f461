//! Tests of errors.

use std::time::Duration;

use convoke_core::{Category, ModelError, ModelErrorKind, ModelRequest};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

use super::{KEY, created, delta, hello, model, spoken};
use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server, ask};

async fn error(answer: Answer) -> ModelError {
    let server = Server::start([answer]).await;
    let error = ask(&model("gpt-5", &server), ModelRequest::new("Hi")).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY), "{error:?}");
    error
}

fn named(code: &str) -> Value {
    json!({"error": {"message": "It failed.", "type": "some_type", "param": null, "code": code}})
}

#[tokio::test]
async fn statuses_and_codes_become_kinds() {
    use ModelErrorKind as Kind;
    for (status, body, kind) in [
        (401, named("invalid_api_key"), Kind::Authentication),
        (429, named("insufficient_quota"), Kind::Quota),
        (429, named("rate_limit_exceeded"), Kind::RateLimited),
        (400, named("context_length_exceeded"), Kind::ContextTooLong),
        (400, named("invalid_prompt"), Kind::Refused),
        (
            400,
            json!({"error": {"message": "Unsupported parameter", "type": "invalid_request_error"}}),
            Kind::InvalidRequest,
        ),
        (500, json!({"error": {"message": "Sorry", "type": "server_error"}}), Kind::Overloaded),
        (529, json!("down"), Kind::Overloaded),
    ] {
        let error = error(Answer::json(status, body.clone())).await;
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{body}");
    }
}

#[tokio::test]
async fn a_full_account_is_not_tried_again_and_a_crowded_one_is() {
    let quota = error(Answer::json(429, named("insufficient_quota"))).await;
    assert_eq!(quota.category(), Category::Permanent);
    let rate = error(Answer::json(429, named("rate_limit_exceeded")).header("retry-after-ms", "1500")).await;
    assert_eq!(
        (rate.category(), rate.retry_after),
        (Category::Transient, Some(Duration::from_millis(1_500)))
    );
}

#[tokio::test]
async fn a_server_that_repeats_the_key_does_not_get_it_shown() {
    let error =
        error(Answer::json(401, json!({"error": {"message": format!("Incorrect API key: {KEY}.")}}))).await;
    assert!(error.message.contains("openai/gpt-5: Incorrect API key: (hidden)."), "{error}");
}

#[tokio::test]
async fn errors_in_the_middle_of_a_reply_are_typed() {
    use ModelErrorKind as Kind;
    let failed = |code: &str| {
        json!({"type": "response.failed", "response": {
            "id": "resp_1", "status": "failed", "error": {"code": code, "message": "It failed."},
        }})
    };
    let stopped = |status: &str, reason: &str| {
        json!({"type": format!("response.{status}"), "response": {
            "id": "resp_1", "status": status, "incomplete_details": {"reason": reason},
        }})
    };
    for (event, kind, words) in [
        (
            json!({"type": "error", "code": "server_error", "message": "It failed."}),
            Kind::Overloaded,
            "It failed.",
        ),
        (
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow."}}),
            Kind::RateLimited,
            "Slow.",
        ),
        (json!({"type": "error", "code": null, "message": "Something."}), Kind::Overloaded, "Something."),
        (failed("rate_limit_exceeded"), Kind::RateLimited, "It failed."),
        (failed("context_length_exceeded"), Kind::ContextTooLong, "It failed."),
        (failed("insufficient_quota"), Kind::Quota, "It failed."),
        (failed("something_new"), Kind::Overloaded, "It failed."),
        (stopped("incomplete", "max_tool_calls"), Kind::Interrupted, "max_tool_calls"),
        (stopped("cancelled", ""), Kind::Interrupted, "cancelled"),
    ] {
        let answer = Answer::typed_events([created(), delta("output_text", 0, "Hel"), event.clone()]);
        let error = error(answer.header("x-request-id", "req-2")).await;
        assert_eq!(error.kind, kind, "{event}");
        assert!(error.message.contains("openai/gpt-5: ") && error.message.contains(words), "{error}");
        assert_eq!(error.request_id.as_deref(), Some("req-2"));
    }
}

#[tokio::test]
async fn an_error_in_place_of_a_reply_is_an_error() {
    assert_eq!(error(Answer::json(200, named("server_error"))).await.kind, ModelErrorKind::Overloaded);
    let failed = json!({"object": "response", "status": "failed", "error": {"code": "invalid_prompt", "message": "No."}});
    assert_eq!(error(Answer::json(200, failed)).await.kind, ModelErrorKind::Refused);
}

#[tokio::test]
async fn a_reply_whose_last_event_never_comes_is_not_finished() {
    let begun = || [created()].into_iter().chain(spoken(0, &["Hel", "lo."]));
    assert_eq!(error(Answer::typed_events(begun())).await.kind, ModelErrorKind::Interrupted);
    assert_eq!(error(Answer::typed_events(begun()).cut()).await.kind, ModelErrorKind::Interrupted);
    assert_eq!(error(Answer::typed_events([])).await.kind, ModelErrorKind::Interrupted);
    let busy = json!({"object": "response", "status": "in_progress", "output": []});
    assert_eq!(error(Answer::json(200, busy)).await.kind, ModelErrorKind::Interrupted);
}

#[tokio::test]
async fn nonsense_is_malformed_and_shown_in_short() {
    let error = error(Answer::events([created().to_string(), "{\"type\": ".repeat(100)])).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("openai/gpt-5: this piece of the reply is not JSON"), "{error}");
    assert!(error.message.len() < 400, "{error}");
}

#[tokio::test]
async fn silence_is_noticed_before_the_first_event_and_after_it() {
    for (answer, limits, words) in [
        (Answer::typed_events([]).hang(), SOON_SILENT, "no sign of an answer"),
        (Answer::typed_events([created()]).hang(), SOON_STALLED, "stopped for"),
        (
            Answer::typed_events([created(), delta("output_text", 0, "Hel")]).hang(),
            SOON_STALLED,
            "stopped for",
        ),
    ] {
        let server = Server::start([answer]).await;
        let settings = ProviderSettings::new(Provider::OpenAi).base_url(&server.url).key(ApiKey::new(KEY));
        let model = ProviderModel::new("gpt-5", settings.time_limits(limits)).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TimedOut);
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_asked_and_with_one_it_is_not_shown() {
    let error = ProviderModel::new("gpt-5", ProviderSettings::new(Provider::OpenAi)).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Authentication);
    assert!(error.message.contains("OPENAI_API_KEY"), "{error}");
    let settings = ProviderSettings::new(Provider::OpenAi).key(ApiKey::new(KEY));
    assert!(!format!("{settings:?}").contains(KEY));
    assert!(!format!("{:?}", ProviderModel::new("gpt-5", settings).unwrap()).contains(KEY));
}

#[tokio::test]
async fn a_connection_that_stays_open_after_the_end_does_not_matter() {
    let server = Server::start([hello().hang()]).await;
    assert_eq!(ask(&model("gpt-5", &server), ModelRequest::new("Hi")).await.unwrap().text(), "Hello.");
}
