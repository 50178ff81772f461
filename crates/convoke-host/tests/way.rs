//! The way that a run of a pack took, wherever it was killed: read off what is on record, exactly.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::sync::Arc;

use convoke_config::{Environment, Loader};
use convoke_core::{Fork, RunId, Store};
use convoke_goals::Values;
use convoke_history::History;
use convoke_host::{ActiveRun, Host, StartOptions, way_of};
use convoke_store::MemoryStore;
use tempfile::TempDir;

/// Two events lead from `sort` to `answer`; the composition, which has the name of that state, fires the second, after it was run again
/// as often as its model says. `answer` turns to somebody who moves through the same workflow on their own.
const PACK: &str = r#"
id: t
name: T
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts:
  p: {id: p, name: P, version: 1.0.0, system_template: Sort.}
  q: {id: q, name: Q, version: 1.0.0, system_template: Answer., tools: [a2a__helper]}
  helper: {id: helper, name: H, version: 1.0.0, system_template: Help.}
compositions:
  answer:
    version: 1
    engine: {on_output: [{predicate: {path: "${a.output}", op: equals, value: again}, event: Again}, {event: Zed}]}
    steps: [{id: a, kind: prompt, prompt_task: p, input: go}]
workflow:
  version: 2
  entry: sort
  states:
    sort: {orchestration: composition, composition: answer, on_event: {Again: sort, Alpha: answer, Zed: answer}}
    answer: {prompt_task: q, on_event: {Done: end, Back: sort}}
    help: {prompt_task: helper, on_event: {Done: end}}
    end: {prompt_task: p, terminal: true}
agents:
  entry: q
  members: {q: {}, helper: {state: help}}
"#;

const SCRIPT: &str = r#"
[[rule]]
once = true
reply = "again"

[[rule]]
once = true
reply = "again"

[[rule]]
when = { system_contains = "Sort." }
reply = "over"

[[rule]]
when = { system_contains = "Help." }
reply = { tool_calls = [{ name = "workflow__transition", arguments = { event = "Done", context = "" } }] }

[[rule]]
when = { system_contains = "Answer.", has_tool_result = true }
reply = { tool_calls = [{ name = "workflow__transition", arguments = { event = "Done", context = "" } }] }

[[rule]]
reply = { tool_calls = [{ name = "a2a__helper", arguments = { query = "Help me." } }] }
"#;

fn moves(history: &History) -> (String, Vec<String>) {
    let way = way_of(history).unwrap();
    let moves = way.transitions.iter().flat_map(|taken| {
        std::iter::repeat_n(format!("{} {} {}", taken.from, taken.event, taken.to), taken.times as usize)
    });
    (way.current, moves.collect())
}

/// Where a pack and its replies are.
struct Place {
    home: TempDir,
    project: TempDir,
}

impl Place {
    fn new(pack: &str, script: &str) -> Self {
        let place = Self { home: tempfile::tempdir().unwrap(), project: tempfile::tempdir().unwrap() };
        std::fs::write(place.project.path().join("t.pack.yaml"), pack).unwrap();
        std::fs::write(place.project.path().join("script.toml"), script).unwrap();
        place
    }

    /// Begins to run the pack.
    async fn begin(&self) -> (Arc<dyn Store>, RunId, ActiveRun) {
        let project = self.project.path();
        let environment = Environment::of([
            ("HOME", self.home.path().to_str().unwrap()),
            ("CONVOKE_MODEL", &format!("scripted/{}", project.join("script.toml").display())),
            ("CONVOKE_WORKSPACE", project.to_str().unwrap()),
            ("PATH", "/usr/bin:/bin"),
        ]);
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let config = Loader::new(environment).folder(project).load().unwrap();
        let host = Host::builder(config).store(Arc::clone(&store)).build().unwrap();
        let loaded = host.load(project.join("t.pack.yaml")).unwrap();
        let run: RunId = "whole".parse().unwrap();
        let mut options = StartOptions::default();
        options.id = Some(run.clone());
        let running = host.start(loaded, Values::from_iter([("message", "Hello.")]), options).await.unwrap();
        (store, run, running)
    }
}

#[tokio::test]
async fn a_transition_that_waits_for_another_call_of_its_reply_has_not_happened() {
    let pack = PACK.replace("entry: sort", "entry: answer").replace("tools: [a2a__helper]", "tools: [look]");
    let calls = "reply = { tool_calls = [{ name = \"workflow__transition\", arguments = { event = \"Done\" } }, \
         { name = \"look\", arguments = {} }] }";
    let place = Place::new(
        &pack.replace("prompts:", "tools: {look: {name: look, description: l}}\nprompts:"),
        &format!("[[rule]]\n{calls}\n"),
    );
    let (store, run, running) = place.begin().await;
    let waiting = tokio::spawn(running.finish());
    let history = loop {
        let history = History::load(&*store, &run).await.unwrap();
        if !history.awaited().is_empty() {
            break history;
        }
        assert!(!waiting.is_finished(), "it waits for its client");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    waiting.abort();
    assert_eq!(history.awaited()[0].channel, "tool_results");
    assert_eq!(moves(&history), ("answer".to_owned(), Vec::new()));
}

#[tokio::test]
async fn the_way_of_a_run_that_was_killed_anywhere_is_the_one_it_took_until_then() {
    let place = Place::new(PACK, SCRIPT);
    let (store, run, running) = place.begin().await;
    let finished = running.finish().await.unwrap();
    assert!(finished.error().is_none(), "{:?}", finished.error());

    let whole = moves(&History::load(&*store, &run).await.unwrap());
    let taken = ["sort Again sort", "sort Again sort", "sort Zed answer", "answer Done end"];
    assert_eq!(whole, ("end".to_owned(), taken.map(str::to_owned).to_vec()));
    let entries = store.entries(&run, 1, usize::MAX).await.unwrap();
    let mut known = 0;
    for cut in 1..=entries.len() as u64 {
        let killed = Fork::new(run.clone(), cut).create(&store).await.unwrap();
        let (current, until) = moves(&History::load(&*store, &killed).await.unwrap());
        assert_eq!(until[..], taken[..until.len()], "killed before entry {cut}");
        let last = until.last().map_or("sort", |last| last.rsplit_once(' ').unwrap().1);
        assert_eq!(current, last, "killed before entry {cut}");
        // It is known as soon as the next thing is on record, and never forgotten.
        assert!((known..=known + 1).contains(&until.len()), "killed before entry {cut}: {until:?}");
        known = until.len();
    }
    assert_eq!(known, taken.len());
}
