//! A thousand agents and the agents they ask, at one gate, against a server that allows fifty requests a second.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::limited::{Counting, Gated, LimitedServer, Says, Seen};
use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use convoke_agent::{Agent, AgentTool, Conversation};
use convoke_core::{Message, Model, ModelRequest, Runtime, Workflow};
use convoke_models::gate::{Ceilings, Gate};
use convoke_models::http::{HttpRequest, HttpTransport};
use convoke_models::resilience::{Attempts, Retrying};
use convoke_models::{ApiKey, Match, Reply, ScriptedModel, Transport};
use futures_util::TryStreamExt;
use http::{HeaderMap, Method};
use serde_json::json;
use tokio::task::JoinSet;

const AGENTS: usize = 1_000;
const SECOND: Duration = Duration::from_secs(1);

/// Agents that ask a sage, who is an agent too, before they answer: three requests each. All of them must come to an end.
async fn agents(count: usize, gate: &Arc<Gate>, server: &Arc<LimitedServer>) {
    let pause = Duration::from_millis(50);
    let asks = Reply::with(|request: &ModelRequest| {
        let question = request.messages.last().map(Message::text).unwrap_or_default();
        Reply::tool("sage", json!({"query": format!("{question}, asked for another")}))
    });
    let script = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("So it is.").delay_per_chunk(pause))
        .when(Match::offers_tool("sage"), asks)
        .otherwise(Reply::text("It is so.").delay_per_chunk(pause))
        .forget_requests()
        .build();
    let model = Gated { gate: Arc::clone(gate), server: Arc::clone(server), script, latency: pause };
    let model: Arc<dyn Model> = Arc::new(Retrying::new(Arc::new(model), Attempts::default()));
    let runtime = Runtime::new();
    let mut running = JoinSet::new();
    for number in 0..count {
        let sage = Agent::builder("sage").shared_model(Arc::clone(&model)).build().unwrap();
        let asks = Agent::builder("asks").shared_model(Arc::clone(&model)).tool(AgentTool::new(sage));
        let (runtime, workflow) = (runtime.clone(), Workflow::new(asks.build().unwrap()));
        running.spawn(async move {
            let question = Conversation::from(number.to_string().as_str());
            let outcome = runtime.start(&workflow, question).await.unwrap();
            outcome.completed().unwrap().result.unwrap().transcript.last().unwrap().text()
        });
    }
    let mut answers = Vec::new();
    while let Some(answer) = running.join_next().await {
        answers.push(answer.unwrap());
    }
    assert_eq!(answers, vec!["So it is."; count]);
    assert_eq!((gate.under_way(), gate.waiting()), (0, 0));
}

/// Runs the crowd against a server that talks like this, and gives what it saw.
async fn crowd(counting: Counting, says: Says) -> Vec<Seen> {
    let server = Arc::new(LimitedServer::new(50, SECOND, counting, says));
    agents(AGENTS, &Arc::new(Gate::new()), &server).await;
    let seen = server.seen();
    let accepted = seen.iter().filter(|seen| !seen.is_refused).count();
    assert_eq!(accepted, AGENTS * 3, "each agent asks twice, and its sage once");
    seen
}

fn refused(seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.is_refused).count()
}

/// Everybody has had a turn before anybody has a second one.
fn assert_fair(seen: &[Seen]) {
    let first: HashSet<&str> = seen[..AGENTS].iter().map(|seen| seen.who.as_str()).collect();
    assert_eq!(first.len(), AGENTS, "some had a second turn before others had their first");
}

/// Never are more refused in a second than are allowed in one.
fn assert_no_storm(seen: &[Seen]) {
    let refused: Vec<_> = seen.iter().filter(|seen| seen.is_refused).map(|seen| seen.at).collect();
    for start in &refused {
        let storm = refused.iter().filter(|time| *time >= start && **time < *start + SECOND).count();
        assert!(storm < 50, "{storm} were refused within a second");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_what_is_left_has_next_to_nothing_to_refuse() {
    for counting in [Counting::Windows, Counting::Bucket] {
        for says in [Says::Spans, Says::Dates] {
            let seen = crowd(counting, says).await;
            assert!(refused(&seen) * 100 < seen.len(), "{counting:?}, {says:?}: {}", refused(&seen));
            assert_fair(&seen);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_says_how_long_to_wait_refuses_few() {
    for counting in [Counting::Windows, Counting::Bucket] {
        let seen = crowd(counting, Says::RetryAfter).await;
        assert!(refused(&seen) * 20 < seen.len(), "{counting:?}: {} of {}", refused(&seen), seen.len());
        assert_fair(&seen);
        assert_no_storm(&seen);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_at_all_refuses_few() {
    for counting in [Counting::Windows, Counting::Bucket] {
        let seen = crowd(counting, Says::Nothing).await;
        assert!(refused(&seen) * 20 < seen.len(), "{counting:?}: {} of {}", refused(&seen), seen.len());
        assert_fair(&seen);
        assert_no_storm(&seen);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_by_the_minute_is_found_too() {
    for says in [Says::RetryAfter, Says::Nothing] {
        let server = Arc::new(LimitedServer::new(60, SECOND * 60, Counting::Bucket, says));
        agents(200, &Arc::new(Gate::new()), &server).await;
        let seen = server.seen();
        assert!(refused(&seen) * 10 < seen.len(), "{says:?}: {} of {}", refused(&seen), seen.len());
    }
}

#[tokio::test(start_paused = true)]
async fn agents_within_agents_get_through_where_only_one_may_pass_at_a_time() {
    let server = Arc::new(LimitedServer::new(1_000, SECOND, Counting::Bucket, Says::Nothing));
    let gate = Arc::new(Gate::new());
    gate.limit(Ceilings::none().concurrent(1));
    agents(50, &gate, &server).await;
    assert_eq!(refused(&server.seen()), 0);
}

/// A client of a real server on this machine.
struct Client {
    url: String,
    gate: Arc<Gate>,
}

impl Client {
    fn new(url: &str) -> Self {
        let key = ApiKey::new("sk-crowd");
        Self { url: url.to_owned(), gate: Gate::shared(url, Some(&key)) }
    }

    /// Asks until it is let.
    async fn ask(&self) {
        loop {
            let mut admission = self.gate.admit(1).await;
            let request = HttpRequest {
                method: Method::POST,
                url: self.url.clone(),
                headers: HeaderMap::new(),
                body: "{}".into(),
            };
            let reply = HttpTransport::shared().send(request).await.unwrap();
            admission.record_response(reply.status, &reply.headers);
            let body: Vec<_> = reply.body.try_collect().await.unwrap();
            if reply.status.is_success() {
                assert_eq!(body.concat(), b"yes");
                return;
            }
        }
    }
}

async fn serve(State(server): State<Arc<LimitedServer>>) -> impl IntoResponse {
    let (status, headers) = server.ask("somebody".to_owned());
    (status, headers, if status.is_success() { "yes" } else { "no" })
}

#[tokio::test]
async fn it_works_over_real_connections_and_for_clients_that_know_nothing_of_each_other() {
    let period = Duration::from_millis(200);
    let server = Arc::new(LimitedServer::new(20, period, Counting::Windows, Says::Spans));
    let router = Router::new().fallback(serve).with_state(Arc::clone(&server));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let clients = [Arc::new(Client::new(&url)), Arc::new(Client::new(&format!("{url}/")))];
    let mut running = JoinSet::new();
    for number in 0..60 {
        let client = Arc::clone(&clients[number % 2]);
        running.spawn(async move {
            client.ask().await;
            client.ask().await;
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
    serving.abort();
    let seen = server.seen();
    assert_eq!(seen.len() - refused(&seen), 120);
    assert!(refused(&seen) < 60, "{} of {} were refused", refused(&seen), seen.len());
    assert_eq!((clients[0].gate.under_way(), clients[1].gate.waiting()), (0, 0));
}
