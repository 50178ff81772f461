//! Tests of servers that die, hang, ask, and are remote.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Log, Person, Web, call, call_in, calling, fake, started, until_gone};
use convoke_core::{Answer, Canceller, Question, RunId, Runtime, Store};
use convoke_mcp::{McpError, McpServers, Protocol, ServerConfig, ServerStatus};
use convoke_store::MemoryStore;
use serde_json::{Value, json};

#[tokio::test]
async fn a_call_fails_at_once_when_its_server_dies_and_is_not_made_again() {
    let log = Log::new();
    let config = log.of(fake("srv").variable("SECRET", "hush-hush"));
    let servers = started([config]).await;
    let (content, failed) = call(&servers, "srv", "die", json!({})).await;
    assert!(failed);
    assert_eq!(
        content,
        "MCP server `srv` went away while `die` was at work. It wrote: dying of (hidden). Nobody knows whether it took \
         effect, and it was not called again: find out before you do"
    );
    let calls = log.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(calls, 1);
    assert!(matches!(servers.reports()[0].status, ServerStatus::Down { .. }));
    assert_eq!(call(&servers, "srv", "echo", json!({"text": "back"})).await, ("back".into(), false));
}

#[tokio::test]
async fn a_call_that_only_reads_is_made_again() {
    let log = Log::new();
    let servers = started([log.of(fake("srv")).trust_annotations()]).await;
    assert_eq!(call(&servers, "srv", "die_reading", json!({})).await, ("alive".into(), false));
}

#[tokio::test]
async fn every_call_in_flight_fails_when_the_server_dies() {
    let log = Log::new();
    let servers = started([log.of(fake("srv"))]).await;
    let (runtime, waiting) = (Runtime::new(), calling(&servers, "srv", "slow", json!({})).await);
    let slow = async { runtime.start(&waiting, None).await.unwrap().completed().unwrap().unwrap() };
    let die = async {
        log.until(|message| message["params"]["name"] == "slow").await;
        call(&servers, "srv", "die", json!({})).await
    };
    let (slow, die) = tokio::join!(slow, die);
    assert!(slow.1 && slow.0.contains("went away while `slow` was at work"), "{}", slow.0);
    assert!(die.1);
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_left_alone() {
    let servers = started([fake("srv").restarts(2)]).await;
    for _ in 0..3 {
        let (content, _) = call(&servers, "srv", "die", json!({})).await;
        assert!(content.contains("went away"), "{content}");
    }
    let error = servers.tool("srv", "die").await.err().unwrap();
    assert!(matches!(error, McpError::GivenUp { times: 3, .. }), "{error}");
}

#[tokio::test]
async fn a_call_nobody_waits_for_is_cancelled_at_the_server() {
    let log = Log::new();
    let servers = started([log.of(fake("srv"))]).await;
    let workflow = calling(&servers, "srv", "slow", json!({})).await;
    let (canceller, runtime) = (Canceller::new(), Runtime::new());
    let run = runtime.start(&workflow, None).canceller(&canceller);
    let cancel = async {
        let call = log.until_method("tools/call").await;
        canceller.cancel("enough");
        call["id"].clone()
    };
    let (outcome, id) = tokio::join!(run, cancel);
    assert!(outcome.unwrap().error.unwrap().to_string().contains("enough"));
    assert_eq!(log.until_method("notifications/cancelled").await["params"]["requestId"], id);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_too() {
    let log = Log::new();
    let servers = started([log.of(fake("srv").timeout(Duration::from_millis(200)))]).await;
    let (content, failed) = call(&servers, "srv", "slow", json!({})).await;
    assert!(failed && content.contains("200ms"), "{content}");
    assert!(content.contains("Nobody knows whether it took effect"), "{content}");
    log.until_method("notifications/cancelled").await;
}

#[tokio::test]
async fn nothing_is_left_behind() {
    for gently in [true, false] {
        let servers = started([fake("srv")]).await;
        let (child, _) = call(&servers, "srv", "spawn", json!({})).await;
        assert!(common::is_running(&child));
        if gently {
            servers.close().await;
        }
        drop(servers);
        until_gone(&child).await;
    }
}

fn form() -> [Answer; 5] {
    [
        Answer::text("x"), // too short
        Answer::text("Ann"),
        Answer::choose("medium"),
        Answer::text(""),
        Answer::choose("yes"),
    ]
}

const FILLED: &str =
    r#"{"action": "accept", "content": {"age": 30, "keep": true, "name": "Ann", "size": "m"}}"#;

#[tokio::test]
async fn what_a_server_asks_goes_to_a_person() {
    for stateless in [false, true] {
        let options: &[&str] = if stateless { &["--stateless"] } else { &[] };
        let servers = started([fake("srv").args(options.iter().copied()).protocol(Protocol::Auto)]).await;
        let person = Person::saying(form());
        let outcome = call_in(&person.runtime(), &servers, "srv", "ask", json!({})).await;
        let (content, failed) = outcome.completed().unwrap().unwrap();
        assert!(!failed, "{content}");
        let (given, filled): (Value, Value) =
            (serde_json::from_str(&content).unwrap(), serde_json::from_str(FILLED).unwrap());
        assert_eq!(given, filled, "stateless: {stateless}");
        let asked = person.asked.lock().unwrap().clone();
        let titles: Vec<&str> = asked.iter().map(|pending| pending.question.title.as_str()).collect();
        let title = |field: &str| format!("[MCP:srv] Who are you? ({field})");
        let expected = [title("Your name"), title("Your name"), title("size"), title("age"), title("keep")];
        assert_eq!(titles, expected);
        assert!(asked[1].question.details.contains("at least 2 characters"), "{}", asked[1].question.details);
        assert_eq!(asked[2].question.kind, Question::choice("", ["small", "medium"]).kind);
        assert_eq!(asked[0].path.to_string(), "calling/mcp_srv_ask", "it is asked within the call");
    }
}

#[tokio::test]
async fn who_rejects_a_question_declines_the_form() {
    let servers = started([fake("srv")]).await;
    let person = Person::new(|_| Some(Answer::reject("none of its business")));
    let outcome = call_in(&person.runtime(), &servers, "srv", "ask", json!({})).await;
    assert_eq!(outcome.completed().unwrap().unwrap().0, r#"{"action": "decline"}"#);
}

#[tokio::test]
async fn a_question_nobody_answers_suspends_the_run_and_the_call_is_in_doubt() {
    let log = Log::new();
    let servers = started([log.of(fake("srv"))]).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let workflow = calling(&servers, "srv", "ask", json!({})).await;
    let id = RunId::mint();
    let outcome = runtime.start(&workflow, None).id(id.clone()).await.unwrap();
    assert!(matches!(outcome.error, Some(convoke_core::Error::Suspended(_))), "{:?}", outcome.error);
    log.until_method("notifications/cancelled").await;
    // Whether the tool did anything before it asked is not known: a person decides, nothing is done again silently.
    let outcome = runtime.resume(&workflow, id).await.unwrap();
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("was interrupted and may have acted already"), "{error}");
    let calls = log.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(calls, 1);
}

#[tokio::test]
async fn a_question_without_a_call_is_turned_away() {
    let log = Log::new();
    let servers = started([log.of(fake("srv"))]).await;
    call(&servers, "srv", "ask_late", json!({})).await;
    let late = log.until(|message| message.get("late").is_some()).await;
    assert_eq!(late["late"], json!({"action": "cancel"}));
}

#[tokio::test]
async fn roots_are_the_workspace_and_nobody_lends_a_model() {
    let config = fake("srv");
    let servers = McpServers::builder().server(config).workspace("/srv/project").start().await.unwrap();
    let (roots, _) = call(&servers, "srv", "roots", json!({})).await;
    assert_eq!(roots, r#"{"roots": [{"uri": "file:///srv/project"}]}"#);
    let (refused, _) = call(&servers, "srv", "sample", json!({})).await;
    assert!(refused.contains("does not lend its model"), "{refused}");
}

#[tokio::test]
async fn servers_somewhere_else_are_spoken_to_over_http() {
    for (options, expected) in [(vec![], "2025-11-25"), (vec!["--stateless"], "2026-07-28")] {
        let mut options = options;
        options.extend(["--token", "the-token"]);
        let web = Web::start(&options).await;
        let config = ServerConfig::http("web", &web.url).header("Authorization", "Bearer ${TOKEN}");
        let variables = |name: &str| (name == "TOKEN").then(|| "the-token".to_owned());
        let servers = McpServers::builder().server(config).variables(variables).start().await.unwrap();
        assert_eq!(servers.warnings(), Vec::<String>::new());
        let ServerStatus::Ready { protocol, .. } = servers.reports()[0].status.clone() else {
            panic!("not ready")
        };
        assert_eq!(protocol, expected);
        assert_eq!(call(&servers, "web", "echo", json!({"text": "hi"})).await, ("hi".into(), false));
        assert_eq!(call(&servers, "web", "steps", json!({})).await.0, "done");
        let person = Person::saying(form());
        let outcome = call_in(&person.runtime(), &servers, "web", "ask", json!({})).await;
        let content = outcome.completed().unwrap().unwrap().0;
        let (given, filled): (Value, Value) =
            (serde_json::from_str(&content).unwrap(), serde_json::from_str(FILLED).unwrap());
        assert_eq!(given, filled);
        servers.close().await;
    }
}

#[tokio::test]
async fn who_is_not_let_in_is_told_what_to_do() {
    let web = Web::start(&["--token", "the-token"]).await;
    let servers = McpServers::builder().server(ServerConfig::http("web", &web.url)).start().await.unwrap();
    let [warning] = &servers.warnings()[..] else { panic!("one warning") };
    assert!(warning.contains("give it a key in `headers`"), "{warning}");
}

#[tokio::test]
async fn a_server_that_goes_away_over_http_fails_calls_at_once() {
    let log = Log::new();
    let path = log.path();
    let mut web = Web::start(&["--log", path.to_str().unwrap()]).await;
    let servers = started([ServerConfig::http("web", &web.url)]).await;
    let (runtime, waiting) = (Runtime::new(), calling(&servers, "web", "slow", json!({})).await);
    let slow = async { runtime.start(&waiting, None).await.unwrap().completed().unwrap().unwrap() };
    let kill = async {
        log.until(|message| message["params"]["name"] == "slow").await;
        web.kill();
    };
    let (slow, ()) =
        tokio::time::timeout(Duration::from_secs(30), async { tokio::join!(slow, kill) }).await.unwrap();
    assert!(slow.1, "{}", slow.0);
    let (content, failed) = call(&servers, "web", "echo", json!({"text": "x"})).await;
    assert!(failed, "{content}");
}

#[tokio::test]
async fn how_a_call_was_lost_is_said() {
    let web = Web::start(&["--busy"]).await;
    let servers = started([ServerConfig::http("web", &web.url)]).await;
    let (content, failed) = call(&servers, "web", "echo", json!({"text": "x"})).await;
    assert!(failed && content.contains("503") && content.contains("Nobody knows whether"), "{content}");
}

#[tokio::test]
async fn an_answer_that_is_cut_off_over_http_is_not_asked_for_again() {
    for options in [vec!["--cut"], vec!["--cut", "--stateless"]] {
        let log = Log::new();
        let path = log.path();
        let web = Web::start(&[&options[..], &["--log", path.to_str().unwrap()]].concat()).await;
        let servers = started([ServerConfig::http("web", &web.url)]).await;
        let (content, failed) = call(&servers, "web", "echo", json!({"text": "x"})).await;
        assert!(failed && content.contains("Nobody knows whether"), "{options:?}: {content}");
        assert_eq!(log.methods().iter().filter(|method| *method == "tools/call").count(), 1, "{options:?}");
    }
}

#[tokio::test]
async fn a_server_that_has_lost_its_session_is_greeted_again() {
    let log = Log::new();
    let path = log.path();
    let web = Web::start(&["--forget", "--log", path.to_str().unwrap()]).await;
    let config = ServerConfig::http("web", &web.url).protocol(Protocol::Initialize);
    let servers = started([config]).await;
    assert_eq!(call(&servers, "web", "echo", json!({"text": "x"})).await, ("x".into(), false));
    let count = |method: &str| log.methods().iter().filter(|heard| *heard == method).count();
    assert_eq!((count("initialize"), count("tools/call")), (2, 1));
}

#[tokio::test]
async fn addresses_that_are_none_are_named_without_what_may_be_secret() {
    for (url, expected) in
        [("ftp://h.example/x?key=secret", "`ftp://h.example/x`"), ("nonsense secret", "(not an address)")]
    {
        let servers = McpServers::builder().server(ServerConfig::http("web", url)).start().await.unwrap();
        let warnings = servers.warnings().join("\n");
        assert!(warnings.contains(expected) && !warnings.contains("secret"), "{warnings}");
    }
}

#[tokio::test]
async fn of_a_server_that_cannot_be_reached_it_is_said_why_without_its_address() {
    // Bound and never listening: nobody else gets the port, and nobody is there.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/mcp?key=secret", taken.local_addr().unwrap());
    let servers = McpServers::builder().server(ServerConfig::http("web", url)).start().await.unwrap();
    let warnings = servers.warnings().join("\n");
    assert!(warnings.contains("it cannot be reached: Connection refused"), "{warnings}");
    assert!(!warnings.contains("secret"), "{warnings}");
}
