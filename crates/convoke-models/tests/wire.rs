//! Tests of what all providers have in common: addresses, errors, and time limits of replies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::server::{Answer, Server, ask, pieces};
use convoke_core::{
    BoxFuture, Category, Embedder, EmbeddingPurpose, Message, ModelErrorKind, ModelRequest, ReplyDelta, Usage,
};
use convoke_models::http::{HttpReply, HttpRequest, TransportError, TransportFailure};
use convoke_models::provider::TimeLimits;
use convoke_models::resilience::{Attempts, Retrying};
use convoke_models::{ApiKey, Provider, ProviderEmbedder, ProviderModel, ProviderSettings, Transport};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const KEY: &str = "sk-very-secret";

fn settings(provider: Provider, url: &str) -> ProviderSettings {
    ProviderSettings::new(provider).base_url(url).key(ApiKey::new(KEY))
}

fn model(provider: Provider, url: &str, name: &str) -> ProviderModel {
    ProviderModel::new(name, settings(provider, url)).unwrap()
}

fn sensitive(value: &'static str) -> HeaderValue {
    let mut value = HeaderValue::from_static(value);
    value.set_sensitive(true);
    value
}

/// The short answer of a provider, as it is streamed.
fn hello(provider: Provider) -> Answer {
    match provider {
        Provider::Anthropic => Answer::typed_events([
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello."}}),
            json!({"type": "message_stop"}),
        ]),
        Provider::OpenAi => Answer::typed_events([
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hello."}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ]),
        Provider::Gemini => Answer::events([gemini(json!([{"text": "Hello."}]))]),
        Provider::Ollama => Answer::lines([json!({"message": {"content": "Hello."}, "done": true})]),
        _ => Answer::events([chat(json!({"content": "Hello."})).to_string(), "[DONE]".to_owned()]),
    }
}

fn chat(delta: Value) -> Value {
    json!({"choices": [{"delta": delta, "finish_reason": "stop"}]})
}

fn gemini(parts: Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
}

#[tokio::test]
async fn neither_key_nor_conversation_goes_where_a_server_sends_them() {
    let elsewhere = Server::start([hello(Provider::Anthropic)]).await;
    let other_name = elsewhere.url.replace("127.0.0.1", "localhost");
    for (status, location) in [
        (301, format!("{other_name}/taken?token=t-secret")),
        (302, format!("{}/taken?token=t-secret", elsewhere.url)),
        (307, format!("{other_name}/taken?token=t-secret")),
        (308, elsewhere.url.replace("http://", "http://u:t-secret@")),
    ] {
        let server = Server::start([Answer::json(status, json!({})).header("location", &location)]).await;
        let model = model(Provider::Anthropic, &server.url, "claude-opus-5");
        let error = ask(&model, ModelRequest::new("private")).await.unwrap_err();
        assert_eq!((error.kind, error.status), (ModelErrorKind::InvalidRequest, Some(status)));
        assert_ne!(error.category(), Category::Transient);
        let place = elsewhere.url.rsplit(':').next().unwrap();
        assert!(error.message.contains(&format!(":{place};")), "{error}");
        assert!(error.message.contains("set base_url to"), "{error}");
        assert!(!error.message.contains("taken") && !error.message.contains("t-secret"), "{error}");
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_server_that_sends_to_another_path_of_its_own_is_not_followed_either() {
    let server = Server::start([Answer::json(308, json!({})).header("location", "/v2")]).await;
    let model = model(Provider::OpenAi, &server.url, "gpt-5");
    let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
    assert!(error.message.contains("check base_url (HTTP 308)"), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn no_secret_of_a_request_is_in_an_error() {
    let said = "bad token `Bearer team-secret`, key gate-secret, user pass-secret, api word-secret, sk-very-secret, \
         Basic dXNlcjpwYXNzLXNlY3JldA==";
    let long = format!("{}{said}", "x".repeat(290));
    let refused = json!({"error": {"message": said}});
    let answers = [
        Answer::json(401, refused.clone()),
        Answer::new(401, "text/plain", vec![said.to_owned()]),
        // A secret at the place where what is shown is cut off.
        Answer::new(502, "text/plain", vec![long]),
        Answer::events([refused]),
        // The same where a piece of a reply is quoted that makes no sense.
        Answer::new(
            200,
            "text/event-stream",
            vec![format!("data: {}Bearer team-secret\n\n", "x".repeat(106))],
        ),
        Answer::new(200, "text/event-stream", vec![format!("data: {}sk-very-secret\n\n", "x".repeat(110))]),
        Answer::new(200, "text/html", vec![format!("{}gate-secret", "x".repeat(113))]),
    ];
    for answer in answers {
        let server = Server::start([answer]).await;
        let url = server.url.replace("http://", "http://user:pass-secret@") + "/v1?api_key=word-secret";
        let mut settings = settings(Provider::OpenAiCompatible, &url);
        settings.headers.insert("x-team", sensitive("Bearer team-secret"));
        settings.headers.insert("x-auth-token", HeaderValue::from_static("gate-secret"));
        let error =
            ask(&ProviderModel::new("m", settings).unwrap(), ModelRequest::new("Hi")).await.unwrap_err();
        assert!(
            !error.message.contains("secret")
                && !error.message.contains("bad token `Bearer t")
                && !error.message.contains("dXNlcjp")
                && !error.message.contains("team-se")
                && !error.message.contains("sk-very")
                && !error.message.contains("gate-"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn no_secret_of_a_request_is_in_the_id_of_a_reply() {
    let mut reply = chat(json!({"content": "Hello."}));
    reply["id"] = json!(format!("reply-to-{KEY}"));
    let server = Server::start([Answer::events([reply.to_string(), "[DONE]".to_owned()])]).await;
    let model = model(Provider::OpenAiCompatible, &server.url, "m");
    let reply = ask(&model, ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(reply.request_id.as_deref(), Some("reply-to-(hidden)"));
}

#[tokio::test]
async fn settings_show_neither_passwords_nor_headers() {
    let mut settings = settings(Provider::OpenAi, "https://u:pw-secret@h.example/v1?key=k-secret");
    settings.headers.insert("x-team", sensitive("team-secret"));
    let shown = format!("{settings:?}");
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("https://h.example/v1"), "{shown}");
}

#[tokio::test]
async fn a_path_goes_before_the_query_of_the_base() {
    for (provider, base, path) in [
        (Provider::OpenAiCompatible, "/openai?api-version=1", "/openai/chat/completions?api-version=1"),
        (Provider::OpenAi, "/v1/?a=b&c=d", "/v1/responses?a=b&c=d"),
        (Provider::Gemini, "/v1?x=y", "/v1/models/m:streamGenerateContent?alt=sse&x=y"),
        (Provider::Anthropic, "", "/v1/messages"),
    ] {
        let server = Server::start([hello(provider)]).await;
        let model = model(provider, &format!("{}{base}", server.url), "m");
        ask(&model, ModelRequest::new("Hi")).await.unwrap();
        assert_eq!(server.last().path, path);
    }
}

#[tokio::test]
async fn what_was_used_before_an_error_in_the_same_bytes_is_told() {
    let begun =
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 50, "output_tokens": 1}}});
    let broken = json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}});
    let failed = json!({"status": "failed", "error": {"code": "server_error", "message": "x"},
        "usage": {"input_tokens": 50, "output_tokens": 1}});
    let usage = json!({"prompt_tokens": 50, "completion_tokens": 1});
    let counted = json!({"promptTokenCount": 50, "candidatesTokenCount": 1});
    let cases = [
        (Provider::Anthropic, vec![begun, broken]),
        (Provider::OpenAi, vec![json!({"type": "response.failed", "response": failed})]),
        (Provider::OpenAiCompatible, vec![json!({"error": {"message": "x"}, "usage": usage.clone()})]),
        (
            Provider::OpenAiCompatible,
            vec![json!({"choices": [{"delta": {}, "finish_reason": "abort"}], "usage": usage})],
        ),
        (
            Provider::Gemini,
            vec![json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": counted})],
        ),
    ];
    for (provider, events) in cases {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let server = Server::start([Answer::new(200, "text/event-stream", vec![body])]).await;
        let came = pieces(&model(provider, &server.url, "m"), ModelRequest::new("Hi")).await;
        let used = Ok(ReplyDelta::Usage(Usage::tokens(50, 1)));
        assert!(matches!(&came[..], [first, Err(_)] if *first == used), "{provider:?}: {came:?}");
    }
}

#[tokio::test]
async fn counts_no_server_can_mean_do_no_harm() {
    let most = u64::MAX;
    let cases = [
        (
            Provider::Anthropic,
            json!({"type": "message", "content": [{"type": "text", "text": "x"}], "usage": {
                "input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": 5,
                "output_tokens": most,
            }}),
        ),
        (
            Provider::Gemini,
            json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": most, "toolUsePromptTokenCount": 7,
                    "candidatesTokenCount": most, "thoughtsTokenCount": most}}),
        ),
        (
            Provider::OpenAiCompatible,
            json!({"choices": [{"message": {"content": "x"}}], "usage": {
                "prompt_tokens": most, "completion_tokens": most, "total_tokens": most}}),
        ),
    ];
    for (provider, document) in cases {
        let server = Server::start([Answer::json(200, document)]).await;
        let reply = ask(&model(provider, &server.url, "m"), ModelRequest::new("Hi")).await.unwrap();
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (0, 0), "{provider:?}");
    }
    let embedded = json!({"data": [{"index": 0, "embedding": [1.0]}], "usage": {"prompt_tokens": most}});
    let server = Server::start([Answer::json(200, embedded)]).await;
    let embedder =
        ProviderEmbedder::new("e", 1, settings(Provider::OpenAi, &server.url)).unwrap().batches_of(1);
    let texts = vec!["one".to_owned(), "two".to_owned()];
    let answer = embedder.embed(texts, EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(answer.usage.input_tokens, most);
}

#[tokio::test]
async fn limits_without_end_are_limits_too() {
    let server = Server::start([hello(Provider::Anthropic)]).await;
    let limits = TimeLimits { first_token: Duration::MAX, idle: Duration::MAX };
    let settings = settings(Provider::Anthropic, &server.url).time_limits(limits);
    let reply = ask(&ProviderModel::new("m", settings).unwrap(), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(reply.text(), "Hello.");
}

#[tokio::test]
async fn what_is_no_reply_is_not_asked_for_again_and_says_what_it_is() {
    let page = || Answer::new(200, "text/html", vec!["<html>\n<b>data: log in</b>\n</html>".to_owned()]);
    let cases = [
        (Provider::OpenAiCompatible, page(), "text/html"),
        (Provider::Anthropic, page(), "<b>data: log in</b>"),
        (Provider::OpenAiCompatible, Answer::new(200, "text/plain", vec!["{\"a\": ".to_owned()]), "{\"a\":"),
        (Provider::OpenAi, Answer::new(200, "text/plain", Vec::new()), "nothing"),
        (Provider::OpenAi, Answer::json(200, json!({"status": "fine"})), "{\"status\":\"fine\"}"),
        (Provider::Gemini, Answer::new(200, "text/plain", vec!["{\"a\": 1}".to_owned()]), "{\"a\": 1}"),
    ];
    for (provider, answer, words) in cases {
        let server = Server::start([answer]).await;
        let retrying = Retrying::new(
            Arc::new(model(provider, &server.url, "m")),
            Attempts::default().first_wait(Duration::ZERO),
        );
        let error = ask(&retrying, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, server.asked().len()), (ModelErrorKind::Malformed, 1), "{error}");
        assert!(error.message.contains(words) && error.message.contains("check base_url"), "{error}");
    }
}

#[tokio::test]
async fn a_document_is_read_whatever_type_it_says_it_has() {
    let document = json!({"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]});
    let pretty = serde_json::to_string_pretty(&document).unwrap();
    for kind in ["text/plain", "application/octet-stream", "text/event-stream"] {
        let server = Server::start([Answer::new(200, kind, vec![pretty.clone()])]).await;
        let model = model(Provider::OpenAiCompatible, &server.url, "m");
        assert_eq!(ask(&model, ModelRequest::new("Hi")).await.unwrap().text(), "Hello.", "{kind}");
    }
}

#[tokio::test]
async fn events_that_end_before_the_first_one_were_cut_off() {
    for pieces in [vec![], vec![": still here\n\n".to_owned()]] {
        let server = Server::start([Answer::new(200, "text/event-stream", pieces)]).await;
        let model = model(Provider::OpenAiCompatible, &server.url, "m");
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::Interrupted, Category::Transient));
    }
}

#[tokio::test]
async fn a_provider_that_says_not_to_try_again_is_believed() {
    for (status, body) in [
        (429, json!({"error": {"message": "no more"}})),
        (500, json!({"error": {"message": "broken"}})),
        (408, json!({"error": {"message": "too slow"}})),
        (529, json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})),
    ] {
        let answer = |should: &str| {
            Answer::json(status, body.clone()).header("retry-after", "0.01").header("x-should-retry", should)
        };
        let server = Server::start([answer("true"), answer("false")]).await;
        let model = model(Provider::Anthropic, &server.url, "m");
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.category(), Category::Transient, "{error:?}");
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_ne!(error.category(), Category::Transient, "{error:?}");
        assert!(error.message.contains(&format!("(HTTP {status})")), "{error}");
        assert!(error.message.contains("trying again will not help"), "{error}");
    }
}

/// A reply of each provider that thinks and speaks.
fn thinking(provider: Provider) -> Answer {
    match provider {
        Provider::Anthropic => Answer::typed_events([
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "plan", "signature": "c2ln"}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "cGxhbg=="}}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "Hello."}}),
            json!({"type": "message_stop"}),
        ]),
        Provider::OpenAi => Answer::typed_events([json!({"type": "response.completed", "response": {
            "status": "completed",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "plan"}], "encrypted_content": "plan"},
                {"type": "message", "content": [{"type": "output_text", "text": "Hello."}]},
            ],
        }})]),
        Provider::Gemini => Answer::events([gemini(json!([
            {"text": "plan", "thought": true, "thoughtSignature": "cGxhbg=="},
            {"text": "Hello.", "thoughtSignature": "cGxhbg=="},
        ]))]),
        Provider::Ollama => Answer::lines([
            json!({"message": {"content": "", "thinking": "plan"}}),
            json!({"message": {"content": "Hello."}, "done": true}),
        ]),
        _ => Answer::events([
            json!({"choices": [{"delta": {"reasoning_content": "plan"}}]}).to_string(),
            chat(json!({"content": "Hello."})).to_string(),
            "[DONE]".to_owned(),
        ]),
    }
}

/// Whether a request has any of the thoughts in it.
fn has_thoughts(request: &Value) -> bool {
    ["plan", "cGxhbg==", "c2ln"].iter().any(|sign| request.to_string().contains(sign))
}

#[tokio::test]
async fn thoughts_go_back_to_the_model_they_came_from_and_to_nobody_else() {
    for provider in Provider::ALL {
        let here = Server::start([thinking(provider), hello(provider)]).await;
        let first = model(provider, &here.url, "one");
        let reply = ask(&first, ModelRequest::new("Hi")).await.unwrap();
        let request =
            || ModelRequest::new(vec![Message::user("Hi"), reply.message.clone(), Message::user("And?")]);
        ask(&first, request()).await.unwrap();
        assert!(has_thoughts(&here.last().body), "{provider:?} lost them: {}", here.last().body);
        // Another model at the same place, and the same model elsewhere.
        ask(&model(provider, &here.url, "two"), request()).await.unwrap();
        assert!(!has_thoughts(&here.last().body), "{provider:?}: {}", here.last().body);
        for other in Provider::ALL {
            let there = Server::start([hello(other)]).await;
            ask(&model(other, &there.url, "one"), request()).await.unwrap();
            assert!(!has_thoughts(&there.last().body), "{provider:?} to {other:?}: {}", there.last().body);
        }
    }
}

/// Replies made of waits and bytes, on the test's own clock.
#[derive(Debug)]
struct Timed(Mutex<VecDeque<TimedReply>>);

/// A status, and pieces of a body, each after so many seconds.
type TimedReply = (u16, Vec<(u64, String)>);

impl Timed {
    /// The bodies of one reply after the other; nothing comes after the last bytes of each.
    fn replies(replies: impl IntoIterator<Item = TimedReply>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(replies.into_iter().collect())))
    }
}

impl Transport for Timed {
    fn send<'a>(&'a self, _: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        let (status, pieces) = self.0.lock().unwrap().pop_front().unwrap();
        let is_refusal = status != 200;
        let bytes = stream::iter(pieces).then(async |(seconds, piece)| {
            sleep(Duration::from_secs(seconds)).await;
            Ok(piece.into())
        });
        let kind = if is_refusal { "application/json" } else { "text/event-stream" };
        let reply = HttpReply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::from_iter([(
                HeaderName::from_static("content-type"),
                HeaderValue::from_static(kind),
            )]),
            body: if is_refusal { Box::pin(bytes) } else { Box::pin(bytes.chain(stream::pending())) },
        };
        Box::pin(async { Ok(reply) })
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

#[tokio::test(start_paused = true)]
async fn a_model_that_shows_signs_of_life_may_think_for_as_long_as_its_first_word_may_take() {
    let busy = event(&json!({"type": "response.in_progress", "response": {}}));
    let mut body = vec![(599, busy.clone())];
    body.extend((0..30).map(|_| (119, busy.clone())));
    let done = json!({"type": "response.completed", "response": {"status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Hello."}]},
    ]}});
    body.push((1, event(&done)));
    let settings = settings(Provider::OpenAi, "http://thinker.example")
        .transport(Timed::replies([(200, body.clone()), (200, body)]));
    let usual = ask(&ProviderModel::new("gpt-5", settings.clone()).unwrap(), ModelRequest::new("Hi")).await;
    assert_eq!(usual.unwrap_err().kind, ModelErrorKind::TimedOut, "not within ten minutes");
    let patient =
        settings.time_limits(TimeLimits { first_token: Duration::from_hours(2), ..TimeLimits::default() });
    let reply = ask(&ProviderModel::new("gpt-5", patient).unwrap(), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(reply.text(), "Hello.");
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_is_one_though_the_protocol_never_comes_to_its_end() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let late = vec![(0, event(&chat(json!({"content": "Hello."})))), (2, event(&usage))];
    let alive = std::iter::repeat_n((1, ": still here\n\n".to_owned()), 1_000);
    let never = late[..1].iter().cloned().chain(alive).collect();
    for (body, used) in [(late, Usage::tokens(3, 2)), (never, Usage::default())] {
        let transport = Timed::replies([(200, body)]);
        let settings = settings(Provider::OpenAiCompatible, "http://open.example").transport(transport);
        let model = ProviderModel::new("m", settings).unwrap();
        let started = Instant::now();
        let reply = ask(&model, ModelRequest::new("Hi")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.usage), ("Hello.", used));
        assert_eq!(started.elapsed(), Duration::from_secs(5));
    }
}

/// One piece of a body, after which the connection breaks.
#[derive(Debug)]
struct Cut(String);

impl Transport for Cut {
    fn send<'a>(&'a self, _: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        let error = TransportError::new(TransportFailure::Broken, "it broke");
        let body = stream::iter([Ok(self.0.clone().into()), Err(error)]);
        let reply = HttpReply { status: StatusCode::OK, headers: HeaderMap::new(), body: Box::pin(body) };
        Box::pin(async { Ok(reply) })
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_a_whole_answer_breaks_nothing() {
    let answer = |chunk: &Value| {
        let settings = settings(Provider::OpenAiCompatible, "http://cut.example");
        ProviderModel::new("m", settings.transport(Arc::new(Cut(event(chunk))))).unwrap()
    };
    let whole = answer(&chat(json!({"content": "Hello."})));
    assert_eq!(ask(&whole, ModelRequest::new("Hi")).await.unwrap().text(), "Hello.");
    let half = answer(&json!({"choices": [{"delta": {"content": "Hel"}}]}));
    let error = ask(&half, ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_stands_in_the_body_holds_for_everybody() {
    let refusal = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
    ]}});
    let said = event(&gemini(json!([{"text": "Hello."}])));
    let whole = Timed::replies([(429, vec![(0, refusal.to_string())]), (200, vec![(0, said)])]);
    let settings = settings(Provider::Gemini, "http://slow.example").transport(whole);
    let model = ProviderModel::new("gemini-3-flash", settings).unwrap();
    let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(34)));
    let refused_at = Instant::now();
    let mut reply = convoke_core::Model::reply(&model, ModelRequest::new("Hi"), crate::server::context());
    assert_eq!(reply.next().await, Some(Ok(ReplyDelta::Text("Hello.".into()))));
    assert_eq!(refused_at.elapsed(), Duration::from_secs(34));
}
