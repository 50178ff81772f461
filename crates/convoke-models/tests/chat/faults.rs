//! Tests of errors.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{ModelError, ModelErrorKind, ModelReply, ModelRequest};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

use super::{KEY, chunk, finish, hello, model};
use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server, ask};

async fn error(answer: Answer) -> ModelError {
    let server = Server::start([answer]).await;
    let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
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
        (403, json!({"error": {"message": "no"}}), Kind::Authentication),
        (
            403,
            json!({"error": {"code": 403, "message": "no", "metadata": {"flagged_input": "x"}}}),
            Kind::Refused,
        ),
        (
            402,
            json!({"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}),
            Kind::Quota,
        ),
        (429, named("insufficient_quota"), Kind::Quota),
        (429, named("rate_limit_exceeded"), Kind::RateLimited),
        (413, named("rate_limit_exceeded"), Kind::ContextTooLong),
        (400, named("context_length_exceeded"), Kind::ContextTooLong),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "no"}}),
            Kind::ContextTooLong,
        ),
        (
            400,
            json!({"object": "error", "message": "maximum context length is 4096", "code": 400}),
            Kind::ContextTooLong,
        ),
        (400, named("content_filter"), Kind::Refused),
        (400, named("unknown_parameter"), Kind::InvalidRequest),
        (404, named("model_not_found"), Kind::InvalidRequest),
        (422, json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "x"]}]}), Kind::InvalidRequest),
        (500, json!({"error": "boom"}), Kind::Overloaded),
        (503, named("slow_down"), Kind::Overloaded),
    ] {
        let error = error(Answer::json(status, body.clone())).await;
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{body}");
    }
}

#[tokio::test]
async fn an_error_says_who_what_and_how_long_to_wait() {
    let answer = Answer::json(429, named("rate_limit_exceeded"));
    let error = error(answer.header("retry-after", "7").header("x-request-id", "req-1")).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(error.request_id.as_deref(), Some("req-1"));
    assert!(
        error.message.contains("compatible/qwen3: It failed. (HTTP 429); it asks to try again in 7 s"),
        "{error}"
    );
}

#[tokio::test]
async fn a_long_wait_is_said_as_people_say_it() {
    for (seconds, words) in
        [("119", "in 119 s"), ("120", "in 2 min"), ("3601", "in 61 min"), ("99999", "in 27 h 47 min")]
    {
        let error =
            error(Answer::json(429, named("rate_limit_exceeded")).header("retry-after", seconds)).await;
        assert!(error.message.ends_with(words), "{error}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_within_an_event_is_cut_off_as_between_events() {
    let whole = chunk(json!({"content": "Hello."})).to_string();
    for end in 1..whole.len() {
        let first = format!("data: {}\n\n", chunk(json!({"content": "Well. "})));
        let cut = Answer::new(200, "text/event-stream", vec![first, format!("data: {}", &whole[..end])]);
        let transport = std::sync::Arc::new(cut);
        let settings = super::settings_at("http://127.0.0.1:1/v1").transport(transport);
        let model = ProviderModel::new("qwen3", settings).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Interrupted, "at {end}: {error}");
    }
    // An event that ended and makes no sense will make none next time.
    let broken = Answer::events([whole[..whole.len() - 1].to_owned()]);
    assert_eq!(error(broken).await.kind, ModelErrorKind::Malformed);
}

#[tokio::test]
async fn a_reply_without_end_is_stopped_at_its_limit() {
    let text = "x".repeat(1024);
    let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": arguments}}]});
    for piece in [json!({"content": text}), json!({"reasoning_content": text}), call(&text)] {
        let endless = Answer::events((0..5000).map(|_| chunk(piece.clone()).to_string())).at_once().hang();
        let server = Server::start([endless]).await;
        let settings = super::settings_at(&format!("{}/v1", server.url)).max_reply_bytes(2 * 1024 * 1024);
        let error =
            ask(&ProviderModel::new("qwen3", settings).unwrap(), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Malformed);
        assert!(
            error.message.contains("longer than 2 MiB") && error.message.contains("max_reply_mib"),
            "{error}"
        );
    }
}

/// What becomes of an answer that is there already, to a request for ten tokens.
async fn of_ten_tokens(answer: Answer) -> Result<ModelReply, ModelError> {
    let settings = super::settings_at("http://liar.example/v1").transport(Arc::new(answer));
    let mut request = ModelRequest::new("Hi");
    request.params.max_tokens = Some(10);
    ask(&ProviderModel::new("qwen3", settings).unwrap(), request).await
}

#[tokio::test]
async fn a_server_that_does_not_heed_the_limit_on_tokens_is_stopped() {
    let word = chunk(json!({"content": "word ".repeat(20)})).to_string();
    let call = json!({"index": 0, "id": "c", "function": {"name": "look", "arguments": "x".repeat(100)}});
    let arguments = chunk(json!({"tool_calls": [call]})).to_string();
    for piece in [&word, &arguments] {
        let endless = Answer::events(std::iter::repeat_n(piece, 1_000));
        let error = of_ten_tokens(endless).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Malformed, "asking again would bring the same: {error}");
        assert!(error.message.contains("at most 10 tokens were asked for"), "{error}");
    }
    let thoughts = std::iter::repeat_n(chunk(json!({"reasoning_content": "hm ".repeat(40)})), 1_000);
    let end = [chunk(json!({"content": "Hello."})), finish("stop")];
    let thinking = thoughts.chain(end);
    of_ten_tokens(Answer::events(thinking)).await.expect("thoughts may be counted apart");
    let whole =
        json!({"choices": [{"message": {"content": "word ".repeat(20_000)}, "finish_reason": "stop"}]});
    of_ten_tokens(Answer::json(200, whole)).await.expect("what is whole was paid for");
}

#[tokio::test]
async fn calls_without_end_are_stopped() {
    let call = |index: usize| json!({"index": index, "id": format!("c{index}"), "function": {"name": "look", "arguments": "{}"}});
    let one_by_one = (0..200_000).map(|index| chunk(json!({"tool_calls": [call(index)]})).to_string());
    let calls: Vec<_> = (0..50_000).map(call).collect();
    let at_once = [chunk(json!({"tool_calls": calls})).to_string(), finish("tool_calls").to_string()];
    for answer in [Answer::events(one_by_one), Answer::events(at_once)] {
        let settings = super::settings_at("http://liar.example/v1").transport(Arc::new(answer));
        let model = ProviderModel::new("qwen3", settings).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Malformed, "{error}");
        assert!(error.message.contains("more than 1024 tool calls"), "{error}");
    }
}

#[tokio::test]
async fn a_compressed_reply_is_named_and_not_asked_for_again() {
    let packed = |status| Answer::new(status, "text/event-stream", vec!["\u{1f}\u{8b}...".into()]);
    let error = error(packed(200).header("content-encoding", "gzip")).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed, "{error}");
    assert!(error.message.contains("compressed (gzip)"), "{error}");
    let refused = self::error(packed(400).header("content-encoding", "br")).await;
    assert!(refused.message.contains("compressed (br)") && !refused.message.contains('\u{1f}'), "{refused}");
    of_ten_tokens(hello().header("content-encoding", "identity")).await.unwrap();
}

#[tokio::test]
async fn a_server_that_refuses_to_be_asked_for_usage_is_asked_without() {
    let refusal = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]});
    let server = Server::start([Answer::json(422, refusal.clone()), hello()]).await;
    for asked in [2, 3] {
        assert_eq!(ask(&model(&server), ModelRequest::new("Hi")).await.unwrap().text(), "Hello.");
        assert_eq!(server.asked().len(), asked, "it is remembered");
        assert!(server.last().body.get("stream_options").is_none());
    }
    let keys = server.asked().into_iter().map(|request| request.headers["idempotency-key"].clone());
    let keys: Vec<_> = keys.collect();
    assert_ne!(keys[0], keys[1], "another body under the same key would be an error");
    // Who refuses it in any case is not asked for ever.
    let server = Server::start([Answer::json(422, refusal)]).await;
    let error = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!((error.kind, server.asked().len()), (ModelErrorKind::InvalidRequest, 2), "{error}");
}

#[tokio::test]
async fn a_server_without_tools_is_told_with_what_to_do() {
    for words in ["llama2 does not support tools", "\"auto\" tool choice requires --enable-auto-tool-choice"]
    {
        let error = error(Answer::json(400, json!({"error": {"message": words}}))).await;
        assert!(error.message.contains("`TOOLS none`"), "{error}");
    }
}

#[tokio::test]
async fn a_gateway_s_error_tells_what_the_provider_behind_it_said() {
    let body = json!({"error": {"code": "server_error", "message": "Provider returned error", "metadata": {"raw": "out of memory"}}});
    let error = error(Answer::json(502, body)).await;
    assert!(error.message.contains("Provider returned error: out of memory"), "{error}");
}

#[tokio::test]
async fn a_server_that_repeats_the_key_does_not_get_it_shown() {
    let said = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    let error = error(Answer::json(401, said)).await;
    assert!(error.message.contains("Incorrect API key provided: (hidden)"), "{error}");
}

#[tokio::test]
async fn errors_in_the_middle_of_a_reply_are_typed() {
    use ModelErrorKind as Kind;
    for (event, kind) in [
        (named("rate_limit_exceeded"), Kind::RateLimited),
        (json!({"error": {"code": 502, "message": "upstream"}}), Kind::Overloaded),
        (json!({"error": {"code": 429, "message": "slow down"}}), Kind::RateLimited),
        (json!({"error": {"type": "invalid_request_error", "message": "no"}}), Kind::InvalidRequest),
        (json!({"error": "it broke"}), Kind::Overloaded),
        (
            json!({"object": "error", "message": "it broke", "type": "BadRequestError", "code": 400}),
            Kind::InvalidRequest,
        ),
        (
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 502, "message": "x"}}]}),
            Kind::Overloaded,
        ),
        (finish("insufficient_system_resource"), Kind::Overloaded),
    ] {
        let answer =
            Answer::events([chunk(json!({"content": "Hel"})), event.clone()]).header("x-request-id", "req-2");
        let error = error(answer).await;
        assert_eq!((error.kind, error.status), (kind, None), "{event}");
        assert_eq!(error.request_id.as_deref(), Some("req-2"));
    }
}

#[tokio::test]
async fn an_error_in_place_of_a_reply_is_an_error() {
    let error = error(Answer::json(200, named("server_error"))).await;
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
    assert!(error.message.contains("compatible/qwen3: It failed."), "{error}");
}

#[tokio::test]
async fn a_reply_that_ends_early_is_not_finished() {
    let begun = || [chunk(json!({"content": "Hel"}))];
    // The body ends, the connection breaks, and `[DONE]` comes without a reason.
    assert_eq!(error(Answer::events(begun())).await.kind, ModelErrorKind::Interrupted);
    assert_eq!(error(Answer::events(begun()).cut()).await.kind, ModelErrorKind::Interrupted);
    let done = begun().map(|chunk| chunk.to_string()).into_iter().chain(["[DONE]".to_owned()]);
    assert_eq!(error(Answer::events(done)).await.kind, ModelErrorKind::Interrupted);
    assert_eq!(error(Answer::events(Vec::<String>::new())).await.kind, ModelErrorKind::Interrupted);
}

#[tokio::test]
async fn nonsense_is_malformed_and_shown_in_short() {
    let answer =
        Answer::events([chunk(json!({"content": "Hel"})).to_string(), "{\"choices\": [".repeat(100)]);
    let error = error(answer).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("compatible/qwen3: this piece of the reply is not JSON"), "{error}");
    assert!(error.message.len() < 400, "{error}");
}

#[tokio::test]
async fn a_call_without_a_name_is_malformed() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"arguments": "{}"}}]});
    let error = error(Answer::events([chunk(call), finish("tool_calls")])).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed);
}

#[tokio::test]
async fn silence_is_noticed_before_the_first_chunk_and_after_it() {
    let begun = Answer::events([chunk(json!({"content": "Hel"}))]);
    let role = Answer::events([chunk(json!({"role": "assistant", "content": ""}))]);
    for (answer, limits, words) in [
        (Answer::events(Vec::<String>::new()).hang(), SOON_SILENT, "no sign of an answer"),
        (role.hang(), SOON_STALLED, "stopped for"),
        (begun.hang(), SOON_STALLED, "stopped for"),
    ] {
        let server = Server::start([answer]).await;
        let settings = ProviderSettings::new(Provider::OpenAiCompatible).base_url(&server.url);
        let model = ProviderModel::new("m", settings.key(ApiKey::new(KEY)).time_limits(limits)).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TimedOut);
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_stays_open_after_the_end_does_not_matter() {
    let server = Server::start([hello().hang()]).await;
    assert_eq!(ask(&model(&server), ModelRequest::new("Hi")).await.unwrap().text(), "Hello.");
}
