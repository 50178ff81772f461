//! Whole runs over HTTP: what an agent sends, what it costs, and where its key must not turn up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

#[path = "../../convoke-models/tests/server/mod.rs"]
mod server;

use std::sync::{Arc, Mutex};

use convoke::core::{BoxFuture, Price, Reality};
use convoke::models::http::{HttpReply, HttpRequest, HttpTransport, TransportError};
use convoke::models::{ApiKey, Cassette, Provider, ProviderModel, ProviderSettings, Transport};
use convoke::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use server::{Answer, Server};

/// Nobody's key.
const KEY: &str = "sk-test-4f9a1c7e2b8d";

#[derive(Default, Serialize, Deserialize)]
struct Case {
    request: String,
    answer: String,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// Where.
    city: String,
}

fn workflow() -> Workflow<Case> {
    let weather = FunctionTool::new("weather", "Tells the weather.", |place: Place| async move {
        Ok::<_, Error>(format!("sunny in {}", place.city))
    });
    let agent = Agent::builder("forecaster").system("You tell the weather.").tool(weather).build().unwrap();
    let step = AgentStep::new("forecast", agent, |case: &Case| case.request.clone())
        .store(|case: &mut Case, result| case.answer = result.text());
    Workflow::new(step)
}

fn case() -> Case {
    Case { request: "How is the weather in Oslo and Bergen?".into(), ..Case::default() }
}

/// Two turns with a tool call each, and an answer, as chat completions.
fn conversation() -> Vec<Answer> {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
    };
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}).to_string();
    let ended = |pieces: Vec<String>| {
        Answer::events(pieces.into_iter().chain([usage.clone(), "[DONE]".to_owned()]))
            .at_once()
            .header("x-request-id", "req-7")
    };
    let call = |id: &str, city: &str| {
        let function = json!({"name": "weather", "arguments": format!("{{\"city\":\"{city}\"}}")});
        let delta = json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]});
        ended(vec![chunk(delta, Value::Null), chunk(json!({}), json!("tool_calls"))])
    };
    let words = chunk(json!({"content": "Sunny in both."}), Value::Null);
    vec![call("a", "Oslo"), call("b", "Bergen"), ended(vec![words, chunk(json!({}), json!("stop"))])]
}

/// The real transport, to a server of the test's own: nothing is spent.
#[derive(Debug)]
struct Loopback;

impl Transport for Loopback {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        assert!(request.url.starts_with("http://127.0.0.1:"), "tests do not leave this machine");
        Box::pin(async { HttpTransport::shared().send(request).await })
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }
}

fn settings(server: &Server) -> ProviderSettings {
    ProviderSettings::new(Provider::OpenAiCompatible)
        .transport(Arc::new(Loopback))
        .base_url(&server.url)
        .key(ApiKey::new(KEY))
        .price(Some(Price::new(Money::from_dollars(1), Money::from_dollars(10))))
}

#[tokio::test]
async fn a_growing_conversation_only_ever_appends_and_the_rest_of_the_request_stays_the_same() {
    let server = Server::start(conversation()).await;
    let runtime = Runtime::builder().model(ProviderModel::new("m", settings(&server)).unwrap()).build();
    let case = runtime.start(&workflow(), case()).await.unwrap().completed().unwrap();
    assert_eq!(case.answer, "Sunny in both.");
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    for (earlier, later) in asked.iter().zip(&asked[1..]) {
        let text = |body: &Value| body["messages"].to_string();
        let prefix = text(&earlier.body);
        let prefix = prefix.strip_suffix(']').unwrap();
        assert!(text(&later.body).starts_with(prefix), "{prefix} is not how the next one begins");
        let rest = |body: &Value| {
            let mut body = body.clone();
            body.as_object_mut().unwrap().remove("messages");
            body
        };
        assert_eq!(rest(&earlier.body), rest(&later.body));
    }
}

#[tokio::test]
async fn cost_is_in_events_totals_and_budgets() {
    let server = Server::start(conversation()).await;
    let runtime = Runtime::builder().model(ProviderModel::new("m", settings(&server)).unwrap()).build();
    let (events, outcome) = runtime.start(&workflow(), case()).stream().collect().await;
    // 100 tokens in at a dollar a million, 10 out at ten.
    let per_call = Money::from_micros(200);
    let costs: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::MessageEnded { usage, .. } => usage.cost,
            _ => None,
        })
        .collect();
    assert_eq!(costs, [per_call; 3]);
    assert_eq!(outcome.unwrap().totals.usage.cost, Some(per_call + per_call + per_call));

    let server = Server::start(conversation()).await;
    let runtime = Runtime::builder().model(ProviderModel::new("m", settings(&server)).unwrap()).build();
    let limits = Limits::default().cost(Money::from_micros(300));
    let outcome = runtime.start(&workflow(), case()).limits(limits).await.unwrap();
    assert!(server.asked().len() < 3, "the budget did not hold: {:?}", outcome.status);
}

#[tokio::test]
async fn the_key_is_sent_and_turns_up_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let (database, tape) = (folder.path().join("runs.db"), folder.path().join("tape.json"));
    // A server that repeats what it was sent, as some do in their errors.
    let mut answers = conversation();
    let echo = format!("no such thing for Bearer {KEY}");
    answers.push(Answer::json(400, json!({"error": {"message": echo}})).header("x-echo", KEY));
    let server = Server::start(answers).await;
    let cassette = Arc::new(Cassette::record(&tape, Arc::new(Loopback)));
    let settings = settings(&server).transport(cassette);
    let shown = Arc::new(Mutex::new(format!("{settings:?}")));
    let model = ProviderModel::new("m", settings).unwrap();
    shown.lock().unwrap().push_str(&format!("{model:?}"));
    let runtime = Runtime::builder().store(SqliteStore::open(&database).unwrap()).model(model).build();

    let (events, outcome) = runtime.start(&workflow(), case()).stream().collect().await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let failed = runtime.start(&workflow(), case()).stream().collect().await;
    let error = failed.1.unwrap().error.expect("the server refuses");
    {
        let mut shown = shown.lock().unwrap();
        shown.push_str(&format!("{events:?}{:?}{error}{error:?}", failed.0));
        shown.push_str(&serde_json::to_string(&events).unwrap());
    }
    drop(runtime);

    assert!(server.asked().iter().all(|asked| asked.headers["authorization"] == format!("Bearer {KEY}")));
    assert!(!shown.lock().unwrap().contains(KEY), "{}", shown.lock().unwrap());
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", path.display());
    }
}
