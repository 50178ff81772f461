//! Agents that are asked, beyond one process: their conversations in the memory that everything shares, and their tasks in the store.
#![cfg(all(feature = "graph", feature = "tools", feature = "sqlite"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use convoke::agent::memory::MemorySession;
use convoke::core::{Message, Role, SharedStep, Store};
use convoke::graph::agents::{
    Agent, Agents, Dependencies, GraphStrategy, Request, Status, Strategy, Task, Tasks, When,
};
use convoke::graph::{Board, GraphDefinition, NodeTypes};
use convoke::models::{Match, ScriptedModel};
use convoke::prelude::{Answer, Error, RunId, Runtime, Scope, SqliteStore, task_boxed};
use convoke::tools::memory::Memory;
use serde_json::json;

const FOLDER: &str = "CONVOKE_AGENTS_FOLDER";

fn memory(folder: &Path) -> Memory {
    Memory::open(folder.join("memory.db"), "/home/ann").unwrap()
}

/// What a process has: nothing but two files.
fn agents(folder: &Path, model: &ScriptedModel) -> Agents {
    let store = SqliteStore::open(folder.join("runs.db")).unwrap();
    let runtime = Runtime::builder().store(store).model(model.clone()).patience(Duration::ZERO);
    Agents::new(runtime.build()).memories(memory(folder))
}

fn talker() -> Agent {
    let graph = GraphDefinition::new("talk", "llm")
        .node("llm", "llm", json!({}))
        .node("out", "answer", json!({}))
        .edge("llm", "out");
    Agent::new("talker", GraphStrategy::new(graph, NodeTypes::standard()))
}

/// What a model was told last, beside the last thing that was said.
fn told(model: &ScriptedModel) -> Vec<(Role, String)> {
    let mut told: Vec<_> =
        model.requests().pop().unwrap().messages.iter().map(|said| (said.role, said.text())).collect();
    told.pop();
    told
}

#[tokio::test]
async fn a_conversation_is_remembered_whatever_becomes_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let model = ScriptedModel::builder()
        .when(Match::user_contains("Write one summary"), "They have a cat, Ada.")
        .otherwise("Noted.")
        .build();
    let ask = |words: &str| {
        let (agents, request) = (agents(folder.path(), &model), Request::text(words).context("ann"));
        async move { agents.run(&talker(), request).await.unwrap() }
    };
    assert_eq!(ask("My cat is called Ada.").await.status, Status::Completed);
    let result = ask("What is it called?").await;
    let (user, assistant) = ("My cat is called Ada.".to_owned(), "Noted.".to_owned());
    assert_eq!(told(&model), [(Role::User, user), (Role::Assistant, assistant)]);
    assert_eq!(result.messages.len(), 2, "what was said before is not said again");
    for number in 0..15 {
        ask(&format!("Train {number} is late.")).await;
    }
    ask("Tell me about Ada.").await;
    let told = told(&model);
    assert!(told[0].1.contains("In short:\n    They have a cat, Ada."), "{}", told[0].1);
    assert!(told[0].1.contains("Said about this:") && told[0].1.contains("My cat is called Ada."));
    assert!(told.iter().all(|(role, _)| *role != Role::System), "instructions are the agent's own");
    // It is the memory of everybody else.
    let session = memory(folder.path()).session("ann").unwrap();
    assert_eq!(session.load().await.unwrap().len(), 36);
    session.save(json!({"tone": "kind"}).as_object().unwrap()).await.unwrap();
    assert_eq!(ask("And now?").await.board.text("tone"), "kind");
    let other = Request::text("Who am I?").context("bob");
    agents(folder.path(), &model).run(&talker(), other).await.unwrap();
    assert_eq!(model.requests().pop().unwrap().messages.len(), 1, "nobody else's");
}

#[tokio::test]
async fn a_task_that_another_process_goes_on_with_remembers_what_it_did_and_adds_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let model = ScriptedModel::builder().otherwise("Noted.").build();
    let graph = GraphDefinition::new("talk", "ok")
        .node("ok", "approval", json!({}))
        .node("llm", "llm", json!({}))
        .edge("ok", "llm");
    let careful = Agent::new("careful", GraphStrategy::new(graph, NodeTypes::standard()));
    let (asked, store) = {
        let agents = agents(folder.path(), &model);
        agents.run(&talker(), Request::text("I am Ann.").context("ann")).await.unwrap();
        let asked = agents.run(&careful, Request::text("Who am I?").context("ann")).await.unwrap();
        (asked, SqliteStore::open(folder.path().join("runs.db")).unwrap())
    };
    assert_eq!(asked.status, Status::InputRequired);
    let session = memory(folder.path()).session("ann").unwrap();
    assert_eq!(session.load().await.unwrap().len(), 2, "what waits is not remembered yet");
    let open = store.questions(Some(&asked.run_id)).await.unwrap();
    store.answer(&asked.run_id, &open[0].id, Answer::approve()).await.unwrap();
    // An attendant that knows nothing of who asked.
    let team = agents(folder.path(), &model).team([careful.clone()]);
    let tasks = team.tasks().unwrap();
    tokio::select! {
        ended = team.attend() => ended.unwrap(),
        () = over(&tasks, &asked.run_id) => {}
    }
    assert_eq!(told(&model)[0].1, "I am Ann.");
    let again = agents(folder.path(), &model).resume(&careful, &asked.run_id).await.unwrap();
    assert_eq!(again.status, Status::Completed);
    let said: Vec<String> = session.load().await.unwrap().iter().map(Message::text).collect();
    assert_eq!(said, ["I am Ann.", "Noted.", "Who am I?", "Noted."]);
}

async fn over(tasks: &Tasks, run: &RunId) {
    while tasks.get(run).await.unwrap().unwrap().status != Status::Completed {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Sleeps for an hour, and keeps its process busy with it.
struct Sleeps;

impl Strategy for Sleeps {
    fn kind(&self) -> &str {
        "sleeps"
    }

    fn build(&self, _: &Agent, _: &Dependencies) -> Result<SharedStep<Board>, Error> {
        Ok(Arc::new(task_boxed("sleeps", |scope: &Scope, _: &mut Board| {
            Box::pin(async move { scope.sleep(Duration::from_secs(3_600)).await })
        })))
    }
}

/// Only does something when the test below starts this binary again; otherwise it is an empty test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = SqliteStore::open(Path::new(&folder).join("runs.db")).unwrap();
    let agents = Agents::new(Runtime::builder().store(store).patience(Duration::MAX).build());
    let (sleeper, request) = (Agent::new("sleeper", Sleeps), || Request::text("Sleep!"));
    agents.submit(&sleeper, request().task("one")).await.unwrap();
    agents.submit(&sleeper, request().task("two")).await.unwrap();
    let later = agents.clone().team([sleeper.clone()]);
    later.schedule(&sleeper, request().task("later"), When::after("1h").unwrap()).await.unwrap();
    std::future::pending().await
}

#[tokio::test]
async fn tasks_are_listed_waited_for_and_cancelled_from_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.path().join("runs.db")).unwrap());
    let tasks = Tasks::new(Arc::clone(&store));
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let is_there = |found: &[Task]| {
        found.len() == 3 && found.iter().filter(|task| task.status == Status::Working).count() == 3
    };
    let found = loop {
        let found = tasks.list(Some("sleeper")).await.unwrap();
        let begun = found.iter().filter(|task| task.stage == convoke::graph::agents::Stage::Claimed).count();
        if is_there(&found) && begun == 2 {
            break found;
        }
        assert!(worker.try_wait().unwrap().is_none(), "the other process has ended");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let named = |name: &str| found.iter().find(|task| task.task_id.as_deref() == Some(name)).unwrap();
    let (one, two, later) = (named("one"), named("two"), named("later"));
    assert_eq!(tasks.get(&one.run).await.unwrap().unwrap().agent, "sleeper");
    tasks.cancel(&one.run, "enough").await.unwrap();
    assert_eq!(tasks.wait(&one.run).await.unwrap().status, Status::Canceled);
    worker.kill().unwrap();
    worker.wait().unwrap();
    let left = tasks.get(&two.run).await.unwrap().unwrap();
    assert_eq!(left.status, Status::Interrupted, "its process is gone");
    tasks.cancel(&two.run, "nobody works on it").await.unwrap();
    let ended = tasks.wait(&two.run).await.unwrap();
    assert_eq!(
        (ended.status, ended.error.as_deref()),
        (Status::Canceled, Some("cancelled: nobody works on it"))
    );
    tasks.cancel(&later.run, "not begun").await.unwrap();
    assert_eq!(tasks.get(&later.run).await.unwrap().unwrap().status, Status::Canceled);
}
