//! Questions of servers that nobody is there to answer: the run waits, the process ends, somebody answers, another process
//! goes on.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::sync::Arc;

use common::{Given, Log, calling, fake, started};
use convoke_core::{Answer, Error, Outcome, PendingQuestion, RunId, Runtime, Store};
use convoke_mcp::Protocol;
use convoke_store::MemoryStore;
use serde_json::{Value, json};

/// A run of one call, each time in what might be another process: another server, another runtime, the same store.
struct Run {
    log: Log,
    store: Arc<dyn Store>,
    id: RunId,
    tool: &'static str,
    stateless: bool,
}

impl Run {
    fn of(tool: &'static str, stateless: bool) -> Self {
        Self { log: Log::new(), store: Arc::new(MemoryStore::new()), id: RunId::mint(), tool, stateless }
    }

    async fn go_on(&self, is_new: bool) -> Outcome<Option<Given>> {
        let config = self.log.of(fake("srv").args(["--more"])).trust_annotations().protocol(Protocol::Auto);
        let config = if self.stateless { config.args(["--stateless"]) } else { config };
        let servers = started([config]).await;
        let runtime = Runtime::builder().shared_store(Arc::clone(&self.store)).build();
        let workflow = calling(&servers, "srv", self.tool, json!({})).await;
        let outcome = match is_new {
            true => runtime.start(&workflow, None).id(self.id.clone()).await.unwrap(),
            false => runtime.resume(&workflow, self.id.clone()).await.unwrap(),
        };
        servers.close().await;
        outcome
    }

    async fn questions(&self) -> Vec<PendingQuestion> {
        self.store.questions(Some(&self.id)).await.unwrap()
    }

    async fn answer(&self, question: &PendingQuestion, answer: Answer) {
        self.store.answer(&self.id, &question.id, answer).await.unwrap();
    }

    /// The calls that came to a server.
    fn calls(&self) -> Vec<Value> {
        let is_call = |message: &Value| {
            message["method"] == "tools/call" && message["params"].get("inputResponses").is_none()
        };
        self.log.messages().into_iter().filter(is_call).collect()
    }
}

fn is_suspended(outcome: &Outcome<Option<Given>>) -> bool {
    matches!(outcome.error, Some(Error::Suspended(_)))
}

/// The field a question is about, from `[MCP:srv] Who are you? (field)`.
fn field(question: &PendingQuestion) -> &str {
    question.question.title.rsplit('(').next().unwrap().trim_end_matches(')')
}

fn said(field: &str) -> Answer {
    match field {
        "Your name" => Answer::text("Ann"),
        "size" => Answer::choose("medium"),
        "age" => Answer::text(""),
        "keep" => Answer::choose("yes"),
        other => panic!("nobody asked for {other}"),
    }
}

fn filled() -> Value {
    json!({"action": "accept", "content": {"age": 30, "keep": true, "name": "Ann", "size": "m"}})
}

#[tokio::test]
async fn a_call_that_only_reads_is_made_again_and_finds_the_answers() {
    for stateless in [false, true] {
        let run = Run::of("ask_reading", stateless);
        let mut outcome = run.go_on(true).await;
        let mut asked = Vec::new();
        while is_suspended(&outcome) {
            let [question] = &run.questions().await[..] else { panic!("one question at a time") };
            asked.push(field(question).to_owned());
            run.answer(question, said(field(question))).await;
            outcome = run.go_on(false).await;
        }
        assert_eq!(asked, ["Your name", "size", "age", "keep"], "each is asked once");
        let (content, failed) = outcome.completed().unwrap().unwrap();
        assert!(!failed, "{content}");
        assert_eq!(serde_json::from_str::<Value>(&content).unwrap(), filled(), "stateless: {stateless}");
        let calls = run.calls();
        assert_eq!(calls.len(), 5, "once for every process");
        let key = |call: &Value| call["params"]["_meta"]["convoke/idempotencyKey"].clone();
        assert!(key(&calls[0]).is_string() && calls.iter().all(|call| key(call) == key(&calls[0])));
        assert_eq!(run.questions().await, [], "nothing is left open");
    }
}

/// A run whose tool may have done something before it asked: what is known after the process has ended.
async fn in_doubt(stateless: bool) -> (Run, PendingQuestion) {
    let run = Run::of("ask", stateless);
    assert!(is_suspended(&run.go_on(true).await));
    let [question] = &run.questions().await[..] else { panic!("one question") };
    run.answer(question, said(field(question))).await;
    let outcome = run.go_on(false).await;
    assert!(is_suspended(&outcome), "{:?}", outcome.error);
    let open = run.questions().await;
    let is_doubt = |question: &&PendingQuestion| {
        question.question.title.contains("`mcp_srv_ask` was interrupted and may have acted already")
    };
    let doubt = open.iter().find(is_doubt).unwrap_or_else(|| panic!("it is said: {open:?}")).clone();
    assert_eq!(run.calls().len(), 1, "nothing is called again behind anybody's back");
    (run, doubt)
}

#[tokio::test]
async fn a_call_that_may_have_acted_is_asked_about_and_taken_as_done() {
    for stateless in [false, true] {
        let (run, doubt) = in_doubt(stateless).await;
        run.answer(&doubt, Answer::choose("done")).await;
        let (content, failed) = run.go_on(false).await.completed().unwrap().unwrap();
        assert!(!failed && content.contains("took effect before an interruption"), "{content}");
        assert_eq!(run.calls().len(), 1);
        assert_eq!(run.questions().await, [], "nobody is asked any more");
    }
}

#[tokio::test]
async fn a_call_that_may_have_acted_is_made_again_if_somebody_says_so() {
    for stateless in [false, true] {
        let (run, doubt) = in_doubt(stateless).await;
        run.answer(&doubt, Answer::choose("again")).await;
        // It goes on with the answer it has, and waits for the next one.
        let outcome = run.go_on(false).await;
        assert!(is_suspended(&outcome), "{:?}", outcome.error);
        assert_eq!(run.calls().len(), 2);
        let open = run.questions().await;
        let [next] = &open[..] else { panic!("one question: {open:?}") };
        assert_eq!(field(next), "size", "what was answered is not asked again");
        // Every interruption is in doubt again, and said again.
        run.answer(next, said("size")).await;
        let outcome = run.go_on(false).await;
        assert!(is_suspended(&outcome), "{:?}", outcome.error);
        assert_eq!(run.calls().len(), 2);
        let open = run.questions().await;
        assert!(open.iter().any(|question| question.question.title.contains("was interrupted")), "{open:?}");
    }
}
