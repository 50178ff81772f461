//! Memory: remembering, recalling and forgetting.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use common::call;
use convoke_agent::{Agent, Conversation};
use convoke_core::{
    AccessMode, BoxFuture, Embedder, EmbeddingPurpose, Embeddings, IdempotencyKey, Invocation, ModelError,
    Origin, Preparation, Repeat, Runtime, Step, Timestamp, Tool, ToolEffect, Usage, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_tools::embedding::LazyEmbedder;
use convoke_tools::memory::{self, Memory, StorageError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A user's memory, seen from a workspace.
struct Mind {
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Mind {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tools = memory::all(&open(&folder, "/home/ann/a"));
        Self { folder, tools }
    }

    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name() == name).unwrap()
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<String, String> {
        call(self.tool(name), arguments).await
    }

    async fn done(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap()
    }
}

fn open(folder: &TempDir, workspace: &str) -> Memory {
    Memory::open(folder.path().join("memory.db"), workspace).unwrap()
}

#[tokio::test]
async fn what_is_remembered_is_found_by_its_words_with_where_it_is_from() {
    let mind = Mind::new();
    let stored = mind
        .done(
            "remember",
            json!({
                "findings": ["The build needs cmake.", "Tests run with nextest."],
                "insights": ["Builds fail without cmake installed"],
                "lessons": ["Check for cmake first", ""],
            }),
        )
        .await;
    assert_eq!(stored, "stored 4 (#1, #2, #3, #4)");
    let found = mind.done("recall", json!({"query": "why does the building of cmake fail?"})).await;
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines[0], "Findings:");
    assert_eq!(lines[1], "- #1: The build needs cmake.");
    assert!(
        lines[2].starts_with("  (workspace, from run ") && lines[2].contains(" at call/remember"),
        "{found}"
    );
    assert_eq!(lines[3..5], ["Insights:", "- #3: Builds fail without cmake installed"]);
    assert_eq!(lines[6..8], ["Lessons:", "- #4: Check for cmake first"]);
    assert!(!found.contains("nextest"));
    assert_eq!(mind.done("recall", json!({"query": "zebra"})).await, "No relevant memories found");
    let many: Vec<String> = (0..30).map(|number| format!("cmake fact {number}")).collect();
    mind.done("remember", json!({"findings": many})).await;
    let found = mind.done("recall", json!({"query": "cmake", "limit": 2})).await;
    assert_eq!(found.matches("\n- #").count(), 4, "two findings, one insight, one lesson: {found}");
}

/// Knows that a cat is a pet.
struct Pets;

impl Embedder for Pets {
    fn name(&self) -> &str {
        "pets"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn embed<'a>(
        &'a self,
        texts: Vec<String>,
        _: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        let is_pet = |text: &String| ["cat", "pet"].iter().any(|pet| text.contains(pet));
        let vectors = texts.iter().map(|text| if is_pet(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] });
        Box::pin(std::future::ready(Ok(Embeddings { vectors: vectors.collect(), usage: Usage::default() })))
    }
}

#[tokio::test]
async fn what_is_remembered_is_found_by_what_it_means_where_something_says_that() {
    let folder = tempfile::tempdir().unwrap();
    let by_words = memory::all(&open(&folder, "/a"));
    let pets = LazyEmbedder::new(|| Some(Arc::new(Pets) as Arc<dyn Embedder>));
    let by_meaning = memory::all(&open(&folder, "/a").embedder(pets));
    let tool = |tools: &[Arc<dyn Tool>], name: &str| {
        Arc::clone(tools.iter().find(|tool| tool.spec().name() == name).unwrap())
    };
    let facts = json!({"findings": ["Ada the cat sleeps.", "The train is late."]});
    call(&tool(&by_words, "remember"), facts.clone()).await.unwrap();
    let query = json!({"query": "which pet?"});
    let recalled = call(&tool(&by_meaning, "recall"), query.clone()).await.unwrap();
    assert_eq!(recalled, "No relevant memories found", "nobody said what they mean");
    call(&tool(&by_meaning, "remember"), facts).await.unwrap();
    let recalled = call(&tool(&by_meaning, "recall"), query.clone()).await.unwrap();
    assert!(recalled.contains("Ada") && !recalled.contains("train"), "{recalled}");
    let both = call(&tool(&by_meaning, "recall"), json!({"query": "a pet on a train"})).await.unwrap();
    assert!(both.contains("Ada") && both.contains("train"), "{both}");
    assert_eq!(call(&tool(&by_words, "recall"), query).await.unwrap(), "No relevant memories found");
}

#[tokio::test]
async fn a_query_is_nothing_but_words() {
    let mind = Mind::new();
    mind.done("remember", json!({"findings": ["AND and NEAR are words", "东京在下雨", "naïve café"]})).await;
    for query in [
        "\"",
        "AND",
        "a OR",
        "NEAR(",
        "text:",
        "*",
        "^x",
        "-and",
        "((",
        "'; DROP TABLE memories; --",
        "a\"b",
        "\\",
        "{x}:",
        "\0",
        "🦀",
        "%",
        "_",
        ".",
    ] {
        mind.done("recall", json!({"query": query})).await;
    }
    for (query, found) in [("NEAR", "AND and NEAR"), ("下雨", "东京"), ("NAIVE", "naïve"), ("cafe", "naïve")]
    {
        let told = mind.done("recall", json!({"query": query})).await;
        assert!(told.contains(found), "{query}: {told}");
    }
}

#[tokio::test]
async fn the_same_thing_is_kept_once() {
    let mind = Mind::new();
    mind.done("remember", json!({"findings": ["The port is 8080."]})).await;
    let again = mind
        .done(
            "remember",
            json!({"lessons": ["  the PORT is\n8080 ", "New"], "findings": ["the port is 8080!"]}),
        )
        .await;
    assert_eq!(again, "stored 1 (#2); known already: 2 (#1, #1)");
    let found = mind.done("recall", json!({"query": "port"})).await;
    assert!(found.contains("The port is 8080.") && found.contains("said 3 times"), "{found}");
    assert_eq!(found.matches("- #").count(), 1);
    // Another scope is another memory.
    let users = mind.done("remember", json!({"findings": ["The port is 8080."], "scope": "user"})).await;
    assert_eq!(users, "stored 1 (#3)");
}

#[tokio::test]
async fn a_workspace_sees_its_own_memories_and_the_users() {
    let mind = Mind::new();
    mind.done("remember", json!({"findings": ["apple is here"]})).await;
    mind.done("remember", json!({"findings": ["apple is everywhere"], "scope": "user"})).await;
    let elsewhere = memory::all(&open(&mind.folder, "/home/ann/b"));
    let tool = |name: &str| elsewhere.iter().find(|tool| tool.spec().name() == name).unwrap();
    let found = call(tool("recall"), json!({"query": "apple"})).await.unwrap();
    assert!(
        found.contains("apple is everywhere")
            && found.contains("(user, ")
            && !found.contains("apple is here"),
        "{found}"
    );
    assert!(!call(tool("memory_list"), json!({})).await.unwrap().contains("apple is here"));
    let refused = call(tool("forget"), json!({"id": 1})).await.unwrap_err();
    assert!(refused.contains("there is no memory #1"), "{refused}");
    assert!(mind.done("recall", json!({"query": "apple"})).await.contains("apple is here"));
    assert!(matches!(Memory::open(mind.folder.path().join("memory.db"), ""), Err(StorageError::Unfit(_))));
}

#[tokio::test]
async fn memories_expire() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_000_000_000_000_000));
    let clock = Arc::clone(&now);
    let day = Duration::from_secs(24 * 3_600);
    let memory = open(&folder, "/w")
        .lifetime(10 * day)
        .clock(move || Timestamp::from_micros(clock.load(Ordering::SeqCst)));
    let mind = Mind { folder, tools: memory::all(&memory) };
    let wait = |days: i64| now.fetch_add(days * 24 * 3_600 * 1_000_000, Ordering::SeqCst);
    mind.done("remember", json!({"findings": ["short apple"], "expires_in_days": 2})).await;
    mind.done("remember", json!({"findings": ["usual apple"]})).await;
    mind.done("remember", json!({"findings": ["renewed apple"], "expires_in_days": 2})).await;
    assert!(mind.done("recall", json!({"query": "short"})).await.contains(", until "));
    wait(1);
    mind.done("remember", json!({"findings": ["renewed apple"], "expires_in_days": 5})).await;
    mind.done("remember", json!({"findings": ["usual apple"], "expires_in_days": 1})).await;
    wait(2);
    let found = mind.done("recall", json!({"query": "apple"})).await;
    assert!(!found.contains("short") && found.contains("usual") && found.contains("renewed"), "{found}");
    assert!(!mind.done("memory_list", json!({})).await.contains("short"));
    assert!(mind.done("remember", json!({"findings": ["short apple"]})).await.starts_with("stored 1"));
    wait(8);
    let found = mind.done("recall", json!({"query": "apple"})).await;
    assert!(found.contains("short") && !found.contains("usual"), "{found}");
}

#[tokio::test]
async fn memories_are_listed_in_pages_and_forgotten_for_good() {
    let mind = Mind::new();
    assert_eq!(mind.done("memory_list", json!({})).await, "Nothing is remembered.");
    let many: Vec<String> = (1..=5).map(|number| format!("number {number}")).collect();
    mind.done("remember", json!({"findings": many, "lessons": ["a lesson"]})).await;
    let page = mind.done("memory_list", json!({"limit": 2})).await;
    assert!(page.starts_with("#6 lesson: a lesson (workspace"), "{page}");
    assert!(page.ends_with("[1 to 2 of 6; go on with offset 3]"), "{page}");
    let last = mind.done("memory_list", json!({"kind": "finding", "offset": 5})).await;
    assert!(last.starts_with("#1 finding: number 1") && !last.contains("go on"), "{last}");
    assert_eq!(mind.done("memory_list", json!({"offset": 9})).await, "[there is no memory 9: there are 6]");
    assert_eq!(mind.done("forget", json!({"id": 3})).await, "forgot #3");
    assert!(mind.call("forget", json!({"id": 3})).await.unwrap_err().contains("there is no memory #3"));
    assert!(!mind.done("recall", json!({"query": "number", "limit": 20})).await.contains("number 3"));
}

#[tokio::test]
async fn what_cannot_be_remembered_is_refused_with_the_reason() {
    let mind = Mind::new();
    for (arguments, because) in [
        (json!({}), "at least one finding, insight or lesson"),
        (json!({"findings": ["  ", "..."]}), "at least one finding"),
        (json!({"findings": ["x".repeat(4_001)]}), "a finding has 4001 characters; the most is 4000"),
        (json!({"lessons": vec!["x"; 51]}), "51 things are too many"),
        (json!({"findings": ["x"], "scope": "world"}), "scope"),
        (json!({"findings": ["x"], "expires_in_days": 0}), "expires_in_days"),
        (json!({"facts": ["x"]}), "facts"),
    ] {
        let said = mind.call("remember", arguments).await.unwrap_err();
        assert!(said.contains(because), "{because}: {said}");
    }
    assert!(mind.call("recall", json!({"query": "x", "limit": 0})).await.is_err());
    let long: Vec<String> = (0..40).map(|number| format!("apple {number} {}", "x".repeat(3_900))).collect();
    mind.done("remember", json!({"findings": long})).await;
    let found = mind.done("recall", json!({"query": "apple", "limit": 20})).await;
    assert!(found.len() < 60_000 && found.contains("more are left out"), "{}", found.len());
}

#[tokio::test]
async fn several_processes_may_remember_at_once() {
    // A second connection stands for a second process: SQLite's locks are the same.
    let folder = tempfile::tempdir().unwrap();
    let mut work = tokio::task::JoinSet::new();
    for process in 0..4 {
        let tools = memory::all(&open(&folder, "/home/ann/a"));
        work.spawn(async move {
            for number in 0..10 {
                call(&tools[0], json!({"findings": [format!("said by {process}: {number}"), "said by all"]}))
                    .await
                    .unwrap();
            }
        });
    }
    work.join_all().await;
    let mind = Mind { tools: memory::all(&open(&folder, "/home/ann/a")), folder };
    let list = mind.done("memory_list", json!({"limit": 100})).await;
    assert_eq!(list.lines().count(), 41, "{list}");
    assert!(list.contains("said 40 times"));
}

#[tokio::test]
async fn a_call_that_is_made_again_with_its_key_changes_nothing() {
    let mind = Mind::new();
    let script = json!({"findings": ["once"]});
    let twice = Twice { tool: Arc::clone(mind.tool("remember")), arguments: script };
    let outcome = Runtime::new().start(&Workflow::new(twice), Vec::new()).await.unwrap();
    let results: Vec<String> = outcome.completed().unwrap();
    assert_eq!(results, ["stored 1 (#1)", "stored 1 (#1)"]);
    assert!(!mind.done("recall", json!({"query": "once"})).await.contains("said 2 times"));
    let twice = Twice { tool: Arc::clone(mind.tool("forget")), arguments: json!({"id": 1}) };
    let outcome = Runtime::new().start(&Workflow::new(twice), Vec::new()).await.unwrap();
    let results: Vec<String> = outcome.completed().unwrap();
    assert_eq!(results, ["forgot #1", "forgot #1"]);
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_any_more() {
    let mind = Mind::new();
    mind.done("remember", json!({"findings": ["the zebrafinch nests", "a lark sings"]})).await;
    mind.done("forget", json!({"id": 1})).await;
    let Mind { folder, tools } = mind;
    // The log goes into the file with the last connection.
    drop(tools);
    let file = std::fs::read(folder.path().join("memory.db")).unwrap();
    let has = |word: &str| file.windows(word.len()).any(|part| part == word.as_bytes());
    assert!(has("lark") && !has("zebrafinch"));
}

/// Makes one call twice, as after a crash in the midst of it.
struct Twice {
    tool: Arc<dyn Tool>,
    arguments: Value,
}

impl Step<Vec<String>> for Twice {
    fn name(&self) -> &str {
        "twice"
    }

    fn run<'a>(
        &'a self,
        scope: &'a convoke_core::Scope,
        results: &'a mut Vec<String>,
    ) -> convoke_core::BoxFuture<'a, Result<(), convoke_core::Error>> {
        Box::pin(async move {
            let key = IdempotencyKey::derive(scope.run_id(), scope.path(), 1);
            for _ in 0..2 {
                let prepared = Preparation::default();
                let (key, arguments) = (&key, &self.arguments);
                let call = Invocation { scope, key, arguments, prepared: &prepared };
                results.push(self.tool.call(call).await?);
            }
            Ok(())
        })
    }
}

/// A model that replies so, and is done once it has read what came of it.
fn calling_once(reply: Reply) -> ScriptedModel {
    ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(reply).build()
}

fn agent(model: &ScriptedModel, tools: &[Arc<dyn Tool>]) -> Workflow<Conversation> {
    let mut agent = Agent::builder("helper").model(model.clone());
    for tool in tools {
        agent = agent.shared_tool(Arc::clone(tool));
    }
    Workflow::new(agent.build().unwrap())
}

#[tokio::test]
async fn agent_074_remembering_among_other_calls_is_done_before_the_run_ends_and_its_failure_is_not_the_turns()
 {
    let mind = Mind::new();
    let calls = Reply::tool("remember", json!({"findings": ["apple"]}))
        .and_tool("recall", json!({"query": "pear"}))
        .and_tool("remember", json!({"findings": []}))
        .and_tool("remember", json!({"lessons": ["cherry"]}));
    let model = calling_once(calls);
    let workflow = agent(&model, &mind.tools);
    let outcome = Runtime::new().start(&workflow, Conversation::from("go")).await.unwrap();
    let conversation = outcome.completed().unwrap();
    assert_eq!(conversation.text(), "done");
    let results: Vec<(String, bool)> = model.requests()[1]
        .messages
        .iter()
        .flat_map(|message| message.results())
        .map(|result| (result.content.clone(), result.is_error))
        .collect();
    assert_eq!(results.len(), 4, "in the order of the calls: {results:?}");
    assert!(
        results[0].0.starts_with("stored 1 (#") && results[3].0.starts_with("stored 1 (#"),
        "{results:?}"
    );
    let failed: Vec<bool> = results.iter().map(|(_, is_error)| *is_error).collect();
    assert_eq!(failed, [false, false, true, false], "{results:?}");
    // Another connection sees it: it was written when the run was over.
    let tools = memory::all(&open(&mind.folder, "/home/ann/a"));
    let list = call(&tools[3], json!({})).await.unwrap();
    assert!(list.contains("apple") && list.contains("cherry"), "{list}");
}

#[tokio::test]
async fn a_file_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    convoke_tools::scratchpad::Scratchpad::open(&path).unwrap();
    let error = Memory::open(&path, "/w").unwrap_err().to_string();
    assert!(error.contains("other.db: it is the file of something else"), "{error}");
    std::fs::write(
        folder.path().join("text.db"),
        "this is a text and by no means a database, whatever it is called",
    )
    .unwrap();
    assert!(Memory::open(folder.path().join("text.db"), "/w").is_err());
    assert!(Memory::open(folder.path(), "/w").unwrap_err().to_string().contains("cannot be made or opened"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
    }
}

#[test]
fn they_say_what_they_do_and_where_results_are_from() {
    let mind = Mind::new();
    let arguments = json!({"findings": ["x"]});
    let remember = mind.tool("remember");
    assert!(remember.spec().effects.contains(ToolEffect::Writes) && remember.spec().repeat == Repeat::Safe);
    let forget = mind.tool("forget");
    assert!(forget.spec().effects.contains(ToolEffect::Irreversible) && forget.spec().repeat == Repeat::Safe);
    let recall = mind.tool("recall");
    assert!(!recall.spec().effects.changes_the_world());
    assert_eq!(recall.origin(&json!({"query": "x"})), Origin::Memory("memory".to_owned()));
    let (write, read) = (remember.accesses(&arguments), recall.accesses(&json!({"query": "x"})));
    assert!(
        write[0].mode == AccessMode::Write
            && write[0].conflicts_with(&read[0])
            && !read[0].conflicts_with(&read[0])
    );
}
