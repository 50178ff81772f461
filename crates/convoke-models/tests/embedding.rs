//! Tests of embeddings by providers: requests, replies, errors.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::server::{Answer, SOON_SILENT, SOON_STALLED, Server};
use convoke_core::{
    BoxFuture, Embedder, EmbeddingPurpose, Embeddings, ModelError, ModelErrorKind, Money, Price, Usage,
};
use convoke_models::http::{HttpReply, HttpRequest, TransportError};
use convoke_models::provider::TimeLimits;
use convoke_models::{ApiKey, Provider, ProviderEmbedder, ProviderSettings, Transport};
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret";

fn settings(provider: Provider, url: &str) -> ProviderSettings {
    ProviderSettings::new(provider).base_url(url).key(ApiKey::new(KEY))
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

async fn embed(
    embedder: &ProviderEmbedder,
    texts: Vec<String>,
    purpose: EmbeddingPurpose,
) -> Result<Embeddings, ModelError> {
    let embedder: &dyn Embedder = embedder;
    embedder.embed(texts, purpose).await
}

fn openai_answer() -> Value {
    json!({
        "object": "list",
        "model": "text-embedding-3-small",
        // Not in the order of the texts.
        "data": [
            {"object": "embedding", "index": 1, "embedding": [0.0, -2.0]},
            {"object": "embedding", "index": 0, "embedding": [3.0, 4.0]},
        ],
        "usage": {"prompt_tokens": 500_000, "total_tokens": 500_000},
    })
}

#[tokio::test]
async fn openai_and_what_is_compatible_are_asked_for_embeddings() {
    for provider in [Provider::OpenAi, Provider::OpenAiCompatible] {
        let server = Server::start([Answer::json(200, openai_answer())]).await;
        let price = Price::new(Money::from_cents(2), Money::ZERO);
        let settings = settings(provider, &server.url).price(Some(price));
        let embedder = ProviderEmbedder::new("text-embedding-3-small", 2, settings).unwrap();
        let found = embed(&embedder, texts(["one", "two"]), EmbeddingPurpose::Query).await.unwrap();
        assert_eq!(found.vectors, [[0.6, 0.8], [0.0, -1.0]]);
        let cost = Some(Money::from_cents(1));
        assert_eq!(found.usage, Usage { cost, ..Usage::tokens(500_000, 0) });
        let asked = server.last();
        assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/embeddings"));
        assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(asked.body, json!({"model": "text-embedding-3-small", "input": ["one", "two"]}));
    }
}

#[tokio::test]
async fn gemini_is_told_what_the_texts_are_for_as_each_model_wants_it() {
    let answer = Answer::json(200, json!({"embeddings": [{"values": [2.0]}, {"values": [-0.5]}]}));
    let server = Server::start([answer]).await;
    let embedder = |model| ProviderEmbedder::new(model, 1, settings(Provider::Gemini, &server.url)).unwrap();
    let entry = |model: &str, text: &str| json!({"model": model, "content": {"parts": [{"text": text}]}});
    let task = |text: &str, task: &str| {
        let mut entry = entry("models/gemini-embedding-001", text);
        entry["taskType"] = json!(task);
        entry
    };

    let found = embed(&embedder("gemini-embedding-001"), texts(["a", "b"]), EmbeddingPurpose::Document)
        .await
        .unwrap();
    assert_eq!(found.vectors, [[1.0], [-1.0]]);
    let asked = server.last();
    assert_eq!(asked.path, "/models/gemini-embedding-001:batchEmbedContents");
    assert_eq!(asked.headers["x-goog-api-key"], KEY);
    let expected = json!({"requests": [task("a", "RETRIEVAL_DOCUMENT"), task("b", "RETRIEVAL_DOCUMENT")]});
    assert_eq!(asked.body, expected);

    embed(&embedder("gemini-embedding-001"), texts(["a", "b"]), EmbeddingPurpose::Query).await.unwrap();
    let expected = json!({"requests": [task("a", "RETRIEVAL_QUERY"), task("b", "RETRIEVAL_QUERY")]});
    assert_eq!(server.last().body, expected);

    let newer = embedder("gemini-embedding-2").shortened_to(1);
    let shortened = |text: &str| {
        let mut entry = entry("models/gemini-embedding-2", text);
        entry["outputDimensionality"] = json!(1);
        entry
    };
    embed(&newer, texts(["a", "b"]), EmbeddingPurpose::Document).await.unwrap();
    let expected =
        json!({"requests": [shortened("title: none | text: a"), shortened("title: none | text: b")]});
    assert_eq!(server.last().body, expected);
    embed(&newer, texts(["a", "b"]), EmbeddingPurpose::Query).await.unwrap();
    let first = &server.last().body["requests"][0]["content"]["parts"][0]["text"];
    assert_eq!(first, "task: search result | query: a");
}

#[tokio::test]
async fn ollama_must_not_cut_texts_and_can_be_given_prefixes() {
    let answer = json!({"model": "nomic-embed-text", "embeddings": [[0.0, 5.0]], "prompt_eval_count": 7});
    let server = Server::start([Answer::json(200, answer)]).await;
    let settings = ProviderSettings::new(Provider::Ollama).base_url(&server.url).price(Some(Price::FREE));
    let embedder = ProviderEmbedder::new("nomic-embed-text", 768, settings)
        .unwrap()
        .shortened_to(2)
        .prefixes("search_document: ", "search_query: ");
    let found = embed(&embedder, texts(["where?"]), EmbeddingPurpose::Query).await.unwrap();
    assert_eq!(found.vectors, [[0.0, 1.0]]);
    assert_eq!(found.usage, Usage { cost: Some(Money::ZERO), ..Usage::tokens(7, 0) });
    let asked = server.last();
    assert_eq!((asked.path.as_str(), asked.headers.get("authorization")), ("/api/embed", None));
    let expected = json!({
        "model": "nomic-embed-text", "input": ["search_query: where?"], "truncate": false, "dimensions": 2,
    });
    assert_eq!(asked.body, expected);
    assert_eq!((embedder.name(), embedder.dimensions()), ("ollama/nomic-embed-text@2", 2));
}

#[tokio::test]
async fn a_cost_is_known_only_if_the_tokens_are() {
    let server = Server::start([
        Answer::json(200, json!({"embeddings": [{"values": [1.0]}]})),
        Answer::json(
            200,
            json!({"embeddings": [{"values": [1.0]}], "usageMetadata": {"promptTokenCount": 9}}),
        ),
    ])
    .await;
    let price = Price::new(Money::from_dollars(1_000_000), Money::ZERO);
    let settings = settings(Provider::Gemini, &server.url).price(Some(price));
    let embedder = ProviderEmbedder::new("gemini-embedding-001", 1, settings).unwrap();
    let unknown = embed(&embedder, texts(["a"]), EmbeddingPurpose::Query).await.unwrap();
    assert_eq!(unknown.usage, Usage::default());
    let known = embed(&embedder, texts(["a"]), EmbeddingPurpose::Query).await.unwrap();
    assert_eq!(known.usage, Usage { cost: Some(Money::from_dollars(9)), ..Usage::tokens(9, 0) });
}

/// Answers every batch with vectors that tell the texts apart, in OpenAI's words and in Gemini's; the first batch last.
#[derive(Debug, Default)]
struct Backwards {
    batches: Mutex<Vec<usize>>,
}

impl Transport for Backwards {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        Box::pin(async move {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let texts: Vec<&Value> = match body["requests"].as_array() {
                Some(requests) => requests.iter().map(|one| &one["content"]["parts"][0]["text"]).collect(),
                None => body["input"].as_array().unwrap().iter().collect(),
            };
            let numbers: Vec<u64> =
                texts.iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect();
            self.batches.lock().unwrap().push(numbers.len());
            // The clock is paused: this orders the answers and takes no time.
            tokio::time::sleep(Duration::from_secs(60) - Duration::from_millis(numbers[0])).await;
            let body = json!({
                "data": numbers.iter().map(|number| json!({"embedding": [1, number]})).collect::<Vec<_>>(),
                "embeddings": numbers.iter().map(|number| json!({"values": [1, number]})).collect::<Vec<_>>(),
                "usage": {"prompt_tokens": numbers.len()},
                "usageMetadata": {"promptTokenCount": numbers.len()},
            });
            Ok(HttpReply {
                status: StatusCode::OK,
                headers: HeaderMap::new(),
                body: Box::pin(stream::iter([Ok(body.to_string().into())])),
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn many_texts_go_out_in_batches_and_their_vectors_come_back_in_order() {
    for (provider, model, count, expected) in [
        (Provider::OpenAi, "text-embedding-3-small", 1_500, vec![476, 512, 512]),
        (Provider::OpenAiCompatible, "bge-m3", 200, vec![8, 32, 32, 32, 32, 32, 32]),
        (Provider::Gemini, "gemini-embedding-001", 501, vec![1, 100, 100, 100, 100, 100]),
    ] {
        let transport = Arc::new(Backwards::default());
        let settings = settings(provider, "http://127.0.0.1").transport(transport.clone());
        let embedder = ProviderEmbedder::new(model, 2, settings).unwrap();
        let many: Vec<_> = (0..count).map(|number: u32| number.to_string()).collect();
        let found = embed(&embedder, many, EmbeddingPurpose::Document).await.unwrap();
        assert_eq!(found.vectors.len(), count as usize);
        for (number, vector) in (0..count).zip(&found.vectors) {
            let length = f64::from(number).hypot(1.0);
            let expected = [1.0 / length, f64::from(number) / length].map(|number| number as f32);
            assert_eq!(*vector, expected, "{number}");
        }
        assert_eq!(found.usage.input_tokens, u64::from(count));
        let mut batches = transport.batches.lock().unwrap().clone();
        batches.sort_unstable();
        assert_eq!(batches, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn batches_can_be_made_smaller() {
    let transport = Arc::new(Backwards::default());
    let settings = settings(Provider::OpenAi, "http://127.0.0.1").transport(transport.clone());
    let embedder = ProviderEmbedder::new("m", 2, settings).unwrap().batches_of(2);
    embed(&embedder, texts(["1", "2", "3"]), EmbeddingPurpose::Document).await.unwrap();
    let mut batches = transport.batches.lock().unwrap().clone();
    batches.sort_unstable();
    assert_eq!(batches, [1, 2]);
}

#[tokio::test]
async fn nothing_to_embed_asks_nobody() {
    let server = Server::start([Answer::json(500, json!({}))]).await;
    let embedder = ProviderEmbedder::new("m", 1, settings(Provider::OpenAi, &server.url)).unwrap();
    let found = embed(&embedder, Vec::new(), EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(found, Embeddings::default());
    let error = embed(&embedder, texts(["a", " \n"]), EmbeddingPurpose::Document).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
    assert!(error.message.contains("text 2 of 2"), "{error}");
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn answers_that_make_no_sense_are_not_taken() {
    let numbered = |numbers: [usize; 2]| json!({"data": numbers.map(|index| json!({"index": index, "embedding": [1.0, 0.0]}))});
    let of = |vectors: Value| {
        let data: Vec<_> = vectors.as_array().unwrap().iter().map(|one| json!({"embedding": one})).collect();
        json!({ "data": data })
    };
    for (answer, kind, sign) in [
        (of(json!([[1.0, 0.0]])), ModelErrorKind::Malformed, "1 vectors came for 2 texts"),
        (numbered([0, 0]), ModelErrorKind::Malformed, "numbered"),
        (numbered([1, 2]), ModelErrorKind::Malformed, "numbered"),
        (of(json!([[1.0, 0.0], [0.0, 0.0]])), ModelErrorKind::Malformed, "direction"),
        (of(json!([[1.0, 0.0], [1.0, 0.0, 0.0]])), ModelErrorKind::InvalidRequest, "3 numbers, not 2"),
        (json!({"error": "try later"}), ModelErrorKind::Malformed, "try later"),
    ] {
        let server = Server::start([Answer::json(200, answer)]).await;
        let embedder = ProviderEmbedder::new("m", 2, settings(Provider::OpenAi, &server.url)).unwrap();
        let error = embed(&embedder, texts(["a", "b"]), EmbeddingPurpose::Document).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(sign) && error.message.contains("openai/m"), "{error}");
    }
}

#[tokio::test]
async fn failures_are_typed_as_a_model_s_are() {
    let fault = |code: u16, status: &str| {
        Answer::json(
            code,
            json!({"error": {"code": code, "status": status, "message": format!("not {KEY}")}}),
        )
        .header("retry-after", "5")
    };
    let half = || Answer::new(200, "application/json", vec!["{\"embeddings\": [".into()]);
    let limits = TimeLimits::default();
    for (answer, limits, kind) in [
        (fault(401, "UNAUTHENTICATED"), limits, ModelErrorKind::Authentication),
        (fault(429, "RESOURCE_EXHAUSTED"), limits, ModelErrorKind::RateLimited),
        (fault(503, "UNAVAILABLE"), limits, ModelErrorKind::Overloaded),
        (half(), limits, ModelErrorKind::Malformed),
        (half().cut(), limits, ModelErrorKind::Interrupted),
        (half().hang(), SOON_STALLED, ModelErrorKind::TimedOut),
        (Answer::new(200, "application/json", Vec::new()).hang(), SOON_SILENT, ModelErrorKind::TimedOut),
    ] {
        let server = Server::start([answer]).await;
        let settings = settings(Provider::Gemini, &server.url).time_limits(limits);
        let embedder = ProviderEmbedder::new("gemini-embedding-001", 1, settings).unwrap();
        let error = embed(&embedder, texts(["a"]), EmbeddingPurpose::Document).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with("gemini/gemini-embedding-001: "), "{error}");
        assert!(!format!("{error:?} {embedder:?}").contains(KEY));
        if error.status.is_some() {
            assert_eq!(error.retry_after, Some(Duration::from_secs(5)));
        }
    }
}

#[test]
fn what_cannot_be_is_said_when_the_embedder_is_made() {
    let kind = |provider| {
        let settings = ProviderSettings::new(provider);
        ProviderEmbedder::new("m", 1, settings).map(|_| ()).unwrap_err().kind
    };
    assert_eq!(kind(Provider::Anthropic), ModelErrorKind::InvalidRequest);
    assert_eq!(kind(Provider::OpenAiCompatible), ModelErrorKind::InvalidRequest);
    assert_eq!(kind(Provider::OpenAi), ModelErrorKind::Authentication);
}
