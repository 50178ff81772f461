//! The scratchpad.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;

use convoke_core::{
    Access, BoxFuture, Error, Origin, Repeat, RunId, Runtime, Scope, Step, Store, Tool, ToolCall, ToolEffect,
    ToolResult, Workflow,
};
use convoke_store::MemoryStore;
use convoke_tools::scratchpad::{self, Scratchpad};
use serde_json::{Value, json};
use tempfile::TempDir;

fn open(folder: &TempDir) -> Scratchpad {
    Scratchpad::open(folder.path().join("scratchpad.db")).unwrap()
}

/// Makes calls one after the other in one run; fails after them if told so.
struct Calls {
    tools: Vec<Arc<dyn Tool>>,
    calls: Vec<(&'static str, Value)>,
    then_fail: bool,
}

impl Calls {
    fn new(scratchpad: &Scratchpad, calls: &[(&'static str, Value)]) -> Self {
        Self { tools: scratchpad::all(scratchpad), calls: calls.to_vec(), then_fail: false }
    }
}

impl Step<Vec<ToolResult>> for Calls {
    fn name(&self) -> &str {
        "calls"
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        results: &'a mut Vec<ToolResult>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            for (name, arguments) in &self.calls {
                let tool = self.tools.iter().find(|tool| tool.spec().name() == *name).unwrap();
                let call =
                    ToolCall { id: "1".to_owned(), name: (*name).to_owned(), arguments: arguments.clone() };
                results.push(scope.tool_scope(&**tool, None).tool(tool, &call).await?);
            }
            if self.then_fail { Err(Error::failed("the process is gone")) } else { Ok(()) }
        })
    }
}

async fn run(scratchpad: &Scratchpad, calls: &[(&'static str, Value)]) -> Vec<String> {
    let outcome =
        Runtime::new().start(&Workflow::new(Calls::new(scratchpad, calls)), Vec::new()).await.unwrap();
    outcome.completed().unwrap().into_iter().map(|result| result.content).collect()
}

#[tokio::test]
async fn notes_are_written_read_listed_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let results = run(
        &open(&folder),
        &[
            ("scratchpad_list", json!({})),
            ("scratchpad_search", json!({"query": "x"})),
            ("scratchpad_write", json!({"key": "plan/b", "value": "Second\nThing"})),
            ("scratchpad_write", json!({"key": "plan/a", "value": "first"})),
            ("scratchpad_write", json!({"key": "plan/a", "value": "FIRST, anew"})),
            ("scratchpad_read", json!({"key": "plan/a"})),
            ("scratchpad_list", json!({})),
            ("scratchpad_list", json!({"filter": "/b"})),
            ("scratchpad_search", json!({"query": "thing"})),
            ("scratchpad_search", json!({"query": "plan"})),
            ("scratchpad_read", json!({"key": "other"})),
        ],
    )
    .await;
    assert_eq!(
        results,
        [
            "no keys found",
            "no matching entries found",
            "wrote `plan/b` (12 characters)",
            "wrote `plan/a` (5 characters)",
            "wrote `plan/a` (11 characters)",
            "FIRST, anew",
            "plan/a (11 characters)\nplan/b (12 characters)",
            "plan/b (12 characters)",
            "plan/b: Second Thing",
            "plan/a: FIRST, anew\nplan/b: Second Thing",
            "there is no note `other`; scratchpad_list shows which there are",
        ]
    );
}

#[tokio::test]
async fn a_run_does_not_see_the_notes_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let scratchpad = open(&folder);
    run(&scratchpad, &[("scratchpad_write", json!({"key": "mine", "value": "secret"}))]).await;
    let results = run(
        &scratchpad,
        &[("scratchpad_list", json!({})), ("scratchpad_search", json!({"query": "secret"}))],
    )
    .await;
    assert_eq!(results, ["no keys found", "no matching entries found"]);
}

#[tokio::test]
async fn notes_are_there_when_a_run_is_resumed_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let id: RunId = "the-run".parse().unwrap();
    let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).build();
    let write = ("scratchpad_write", json!({"key": "a", "value": "written before"}));
    let mut first = Calls::new(&open(&folder), std::slice::from_ref(&write));
    first.then_fail = true;
    let failed = runtime().start(&Workflow::new(first), Vec::new()).id(id.clone()).await.unwrap();
    assert!(failed.completed().is_err());
    // The write is answered by the journal; the read is made now, on a file that was closed in between.
    let scratchpad = open(&folder);
    let second = Calls::new(&scratchpad, &[write, ("scratchpad_read", json!({"key": "a"}))]);
    let outcome = runtime().resume(&Workflow::new(second), id.clone()).await.unwrap();
    let results: Vec<ToolResult> = outcome.completed().unwrap();
    assert_eq!(results[1].content, "written before");

    scratchpad.forget(&id).await.unwrap();
    let third = Calls::new(&scratchpad, &[("scratchpad_list", json!({}))]);
    let outcome = Runtime::new().start(&Workflow::new(third), Vec::new()).id(id).await.unwrap();
    assert_eq!(outcome.completed().unwrap()[0].content, "no keys found");
}

#[tokio::test]
async fn limits_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut calls = vec![
        ("scratchpad_write", json!({"key": " ", "value": "x"})),
        ("scratchpad_write", json!({"key": "a\nb", "value": "x"})),
        ("scratchpad_write", json!({"key": "long", "value": "x".repeat(70_000)})),
        ("scratchpad_write", json!({"key": "no value"})),
    ];
    calls.extend(
        (0..150)
            .map(|number| ("scratchpad_write", json!({"key": format!("note {number:03}"), "value": "x"}))),
    );
    calls.push(("scratchpad_list", json!({})));
    calls.push(("scratchpad_list", json!({"offset": 101})));
    calls.push(("scratchpad_search", json!({"query": "NOTE", "offset": 500})));
    let results = run(&open(&folder), &calls).await;
    assert!(results[0].contains("1 to 200 characters") && results[1].contains("on one line"), "{results:?}");
    assert!(results[2].contains("a note may have 65536: write several"), "{}", results[2]);
    assert!(results[3].contains("\"value\" is missing"), "{}", results[3]);
    let [.., first, second, none] = &results[..] else { panic!() };
    assert!(first.ends_with("note 099 (1 characters)\n[1 to 100 of 150; go on with offset 101]"), "{first}");
    assert!(second.starts_with("note 100") && second.ends_with("note 149 (1 characters)"), "{second}");
    assert_eq!(none, "[there is no entry 500: there are 150]");
}

#[test]
fn writers_of_one_note_do_not_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let tools = scratchpad::all(&open(&folder));
    let tool = |name: &str| tools.iter().find(|tool| tool.spec().name() == name).unwrap();
    let accesses = |name: &str, arguments: Value| -> Access { tool(name).accesses(&arguments).remove(0) };
    let write = |key: &str| accesses("scratchpad_write", json!({"key": key, "value": "x"}));
    assert!(write("a").conflicts_with(&write("a")) && !write("a").conflicts_with(&write("b")));
    assert!(write("a").conflicts_with(&accesses("scratchpad_read", json!({"key": "a"}))));
    assert!(write("a").conflicts_with(&accesses("scratchpad_list", json!({}))));
    let spec = tool("scratchpad_write").spec();
    assert!(spec.effects.contains(ToolEffect::Writes) && spec.repeat == Repeat::Safe);
    assert_eq!(tool("scratchpad_read").origin(&json!({"key": "a"})), Origin::Memory("scratchpad".to_owned()));
}

#[cfg(unix)]
#[test]
fn notes_are_not_written_through_a_link_wherever_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let [outside, link] = ["npmrc", "scratchpad.db"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let told = Scratchpad::open(&link).unwrap_err().to_string();
    assert!(told.contains("is a link"), "{told}");
    assert!(!outside.exists());
}

#[test]
fn a_file_of_notes_that_somebody_else_has_prepared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scratchpad.db");
    drop(open(&folder));
    let trigger = "CREATE TRIGGER reader AFTER INSERT ON notes BEGIN DELETE FROM notes; END";
    rusqlite::Connection::open(&path).unwrap().execute_batch(trigger).unwrap();
    let told = Scratchpad::open(&path).unwrap_err().to_string();
    assert!(told.contains("trigger \"reader\""), "{told}");
    rusqlite::Connection::open(&path).unwrap().execute_batch("DROP TRIGGER reader").unwrap();
    std::fs::write(folder.path().join("scratchpad.db-journal"), "planted").unwrap();
    let told = Scratchpad::open(&path).unwrap_err().to_string();
    assert!(told.contains("scratchpad.db-journal"), "{told}");
    std::fs::remove_file(folder.path().join("scratchpad.db-journal")).unwrap();
    assert!(Scratchpad::open(&path).is_ok());
}

#[test]
fn a_database_of_another_program_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scratchpad.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(Scratchpad::open(&path).is_err());
    assert!(std::fs::read(&path).unwrap() == before);
}
