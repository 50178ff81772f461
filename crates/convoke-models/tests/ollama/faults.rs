//! Tests of errors.

use std::time::Duration;

use convoke_core::{Category, Model, ModelErrorKind, ModelRequest, ReplyDelta};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::json;

use super::{KEY, hello, model, said, settings};
use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server, ask, pieces};

#[tokio::test]
async fn refusals_are_typed_and_say_what_to_do() {
    use ModelErrorKind as Kind;
    for (status, said, kind, advice) in [
        (
            404,
            "model \"qwen3:8b\" not found, try pulling it first",
            Kind::InvalidRequest,
            "`ollama pull qwen3:8b`",
        ),
        (404, "model 'qwen3:8b' not found", Kind::InvalidRequest, "`ollama pull qwen3:8b`"),
        (400, "qwen3:8b does not support tools", Kind::InvalidRequest, "ask it without tools"),
        (400, "\"qwen3:8b\" does not support thinking", Kind::InvalidRequest, "leave `reasoning` unset"),
        (400, "the input length exceeds the context length", Kind::ContextTooLong, "num_ctx"),
        (400, "invalid options: bogus", Kind::InvalidRequest, "invalid options"),
        (401, "unauthorized", Kind::Authentication, "check the key"),
        (429, "too many requests", Kind::RateLimited, "too many requests"),
        (500, "llama runner process has terminated", Kind::Overloaded, "terminated"),
        (503, "server busy, please try again", Kind::Overloaded, "server busy"),
    ] {
        let answer = Answer::json(status, json!({"error": said})).header("retry-after", "7");
        let server = Server::start([answer]).await;
        let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert!(error.message.contains(said) && error.message.contains(advice), "{error}");
    }
}

#[tokio::test]
async fn where_nobody_listens_it_is_asked_whether_ollama_runs() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = ProviderSettings::new(Provider::Ollama).base_url(format!("http://{unused}"));
    let model = ProviderModel::new("qwen3:8b", settings).unwrap();
    let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Network);
    assert!(error.message.ends_with("is Ollama running? Start it with `ollama serve`"), "{error}");
}

#[tokio::test]
async fn where_nobody_listens_at_its_port_it_is_asked_whether_lm_studio_runs() {
    let settings = ProviderSettings::new(Provider::OpenAiCompatible).base_url("http://127.0.0.1:1234/v1");
    let model = ProviderModel::new("qwen3", settings).unwrap();
    let Err(error) = ask(&model, ModelRequest::new("Hi")).await else { return };
    if error.kind == ModelErrorKind::Network {
        assert!(
            error.message.contains("is LM Studio's server running? Start it with `lms server start`"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_reply_is_typed_too() {
    for (error, kind) in [
        (json!("an error was encountered while running the model"), ModelErrorKind::Overloaded),
        (json!("context length exceeded"), ModelErrorKind::ContextTooLong),
        (json!({"code": 7}), ModelErrorKind::Other),
    ] {
        let server = Server::start([Answer::lines([said("Hel"), json!({"error": error})])]).await;
        let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with("ollama/qwen3:8b: "), "{error}");
    }
}

#[tokio::test]
async fn half_a_reply_is_none() {
    for answer in [Answer::lines([said("Hel")]), Answer::lines([said("Hel")]).cut()] {
        let server = Server::start([answer]).await;
        let model = model(&server);
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::Interrupted, Category::Transient));
        let deltas = pieces(&model, ModelRequest::new("Hi")).await;
        assert!(!deltas.iter().any(|delta| matches!(delta, Ok(ReplyDelta::Finished { .. }))));
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_shown_in_part() {
    let nonsense = format!("{{\"message\": {}\n", "x".repeat(1_000));
    let server = Server::start([Answer::new(200, "application/x-ndjson", vec![nonsense])]).await;
    let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("{\"message\": xxx") && error.message.len() < 300, "{error}");
}

#[tokio::test]
async fn silence_ends_in_time() {
    for (answer, limits, words) in [
        (Answer::lines([]).hang(), SOON_SILENT, "no sign of an answer came within"),
        (Answer::lines([said("Hel")]).hang(), SOON_STALLED, "stopped for"),
    ] {
        let server = Server::start([answer]).await;
        let settings = settings(&server).time_limits(limits);
        let model = ProviderModel::new("qwen3:8b", settings).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::TimedOut, Category::Transient));
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_key_is_sent_if_there_is_one_and_shown_nowhere() {
    let said = format!("{KEY} is no good");
    let refused = Answer::json(401, json!({"error": said}));
    let server = Server::start([hello(), refused, Answer::lines([json!({"error": said})])]).await;
    let settings = settings(&server).key(ApiKey::new(KEY));
    let model = ProviderModel::new("qwen3:8b", settings.clone()).unwrap();
    ask(&model, ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(server.last().headers["authorization"], format!("Bearer {KEY}"));
    for _ in 0..2 {
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
    }
    assert!(!format!("{model:?} {settings:?}").contains(KEY));
    assert_eq!(model.name(), "ollama/qwen3:8b");
}
