//! Cases 147 to 155, and graphs that are killed everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use convoke_agent::FunctionTool;
use convoke_core::store::{Batch, NewRun};
use convoke_core::{
    Answer, BoxFuture, EffectKind, Entry, Error, Fork, LostResult, Outcome, Phase, RunId, RunStatus, Scope,
    Step, Workflow,
};
use convoke_graph::{Board, Graph};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Map, Value, json};

use super::{Home, graph, passes, writes};

/// Everything that can be interrupted: a loop with a tool that acts, a fork with an approval, a join, a graph within.
fn everything() -> Value {
    let mut made = graph(
        json!([
            {"id": "think", "type": "llm", "config": {"tool_names": ["pay"]}},
            {"id": "guard", "type": "loopguard", "config": {"max_count": 4}},
            passes("fork"),
            {"id": "ask", "type": "approval", "config": {"prompt": "Fine?"}},
            {"id": "call", "type": "tool", "config": {"tool": "pay", "output_key": "receipt"}},
            {"id": "sum", "type": "llm", "config": {"prompt": "Sum up ${board.receipt}", "output_key": "summary"}},
            {"id": "inner", "type": "graph", "config": {"graph": "note", "inputs": {"text": "${board.summary}"}, "output_key": "note"}},
            {"id": "out", "type": "answer", "config": {"keys": ["note", "approval_status"]}},
        ]),
        &[
            ("think", "guard if tool_pending"),
            ("think", "fork"),
            ("guard", "think"),
            ("fork", "ask"),
            ("fork", "call"),
            ("call", "sum"),
            ("sum", "inner"),
            ("inner", "out"),
            ("ask", "out"),
            ("out", "__end__"),
        ],
    );
    made["graphs"] = json!({"note": graph(
        json!([{"id": "ask", "type": "llm", "config": {"prompt": "Note: ${board.text}", "output_key": "answer"}}]), &[])});
    made
}

struct World {
    home: Home,
    paid: Arc<AtomicU32>,
}

fn world() -> World {
    let model = ScriptedModel::builder()
        .when(Match::last_contains("Sum up"), "Paid once.")
        .when(Match::last_contains("Note:"), "Noted.")
        .when(Match::has_tool_result(), "Thought.")
        .otherwise(Reply::tool("pay", json!({})))
        .build();
    let paid = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&paid);
    let pay = FunctionTool::new("pay", "Pays.", move |_: Map<String, Value>| {
        let counter = Arc::clone(&counter);
        async move {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Error>("paid".to_owned())
        }
    })
    .idempotent();
    World { home: Home::with_model(model).tool(pay), paid }
}

impl World {
    async fn drive(&self, mut outcome: Outcome<Board>) -> Board {
        let run = outcome.run.clone();
        while outcome.status == RunStatus::Suspended {
            self.home.answer(&run, Answer::approve()).await;
            outcome = self.home.resume(everything(), &run).await;
        }
        outcome.completed().unwrap()
    }

    async fn entries(&self, run: &RunId) -> Vec<convoke_core::Entry> {
        self.home.store.entries(run, 1, usize::MAX).await.unwrap()
    }
}

#[tokio::test]
async fn flowcraft_151_a_graph_that_is_killed_anywhere_comes_to_the_same_board_and_does_nothing_twice() {
    let world = world();
    let first = world.home.run(everything(), json!({"query": "go"})).await;
    let run = first.run.clone();
    assert_eq!(first.status, RunStatus::Suspended);
    let whole = world.drive(first).await;
    assert_eq!(whole.text("answer"), "Noted.\napproved");
    assert_eq!(world.paid.load(Ordering::Relaxed), 2);
    let entries = world.entries(&run).await;
    assert!(entries.len() >= 8, "{}", entries.len());
    for cut in 1..=entries.len() as u64 {
        let before = world.paid.load(Ordering::Relaxed);
        let finished = |entry: &&convoke_core::Entry| {
            entry.seq < cut
                && entry.effect == convoke_core::EffectKind::Tool
                && entry.phase == convoke_core::Phase::Finished
        };
        let paid_before = entries.iter().filter(finished).count();
        let killed = Fork::new(run.clone(), cut).create(&world.home.store).await.unwrap();
        let again = world.home.resume(everything(), &killed).await;
        let ended = world.drive(again).await;
        assert_eq!(ended, whole, "killed before entry {cut}");
        let paid = (world.paid.load(Ordering::Relaxed) - before) as usize;
        assert_eq!(paid + paid_before, 2, "killed before entry {cut}");
        let replay = world
            .home
            .builder()
            .build()
            .replay(&world.home.graph(everything()).workflow(), &killed)
            .await
            .unwrap();
        assert!(replay.error.is_none(), "killed before entry {cut}: {:?}", replay.error);
    }
}

#[tokio::test]
async fn flowcraft_151_a_graph_that_is_gone_on_with_counts_on_and_runs_no_node_again() {
    let counter = Arc::new(AtomicU32::new(0));
    let calls = Arc::clone(&counter);
    let count = FunctionTool::new("count", "Counts.", move |_: Map<String, Value>| {
        let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
        async move { Ok::<_, Error>(number.to_string()) }
    });
    let home = Home::new().tool(count);
    let nodes = json!([{"id": "count", "type": "tool", "config": {"tool": "count"}}, {"id": "ok", "type": "approval"}]);
    let made = graph(nodes, &[("count", "ok"), ("ok", "count if __iterations < 5")]);
    let mut outcome = home.run(made.clone(), json!({})).await;
    for round in ["1", "2", "3"] {
        let stands =
            (outcome.status, outcome.state.text("tool_output"), outcome.state.text("approval_status"));
        assert_eq!(stands, (RunStatus::Suspended, round, "pending"));
        home.answer(&outcome.run, Answer::approve()).await;
        outcome = home.resume(made.clone(), &outcome.run).await;
    }
    assert_eq!(outcome.completed().unwrap().text("approval_status"), "approved");
    assert_eq!(counter.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn flowcraft_152_a_run_does_not_go_on_with_another_graph() {
    let home = Home::new();
    let asks = |prompt: &str| {
        graph(
            json!([{"id": "llm", "type": "llm", "config": {"prompt": prompt}},
        {"id": "ok", "type": "approval"}]),
            &[("llm", "ok")],
        )
    };
    let outcome = home.run(asks("one"), json!({})).await;
    home.answer(&outcome.run, Answer::approve()).await;
    let error = home.resume(asks("two"), &outcome.run).await.error.unwrap();
    assert!(matches!(error.root(), Error::Diverged(_)), "{error}");
    home.resume(asks("one"), &outcome.run).await.completed().unwrap();
    let (workflow, runtime) = (home.graph(asks("one")).workflow(), home.builder().build());
    let nobody = runtime.resume(&workflow, "nobody".parse().unwrap()).await;
    assert!(nobody.unwrap_err().to_string().contains("nobody"), "there is no such run");
    assert!("".parse::<RunId>().is_err(), "nor one without a name");
}

/// Runs a graph as far as its first question in a form in which the rules that have changed do not matter, so nothing says which they
/// are, as in journals of builds that knew no others; goes on with the graph itself, and gives it with what a new run of it leaves.
async fn begun_by_an_earlier_build(harmless: Value, made: Value) -> (Board, Board) {
    let mut boards = Vec::new();
    for beginning in [harmless, made.clone()] {
        let home = Home::new().tool(super::nodes::careful_shell());
        let run = home.run(beginning, json!({})).await.run;
        home.answer(&run, Answer::approve()).await;
        boards.push(home.resume(made.clone(), &run).await.completed().unwrap());
        let again = home.builder().build().replay(&home.graph(made.clone()).workflow(), &run).await.unwrap();
        assert_eq!(Some(&again.state), boards.last());
    }
    let new = boards.pop().unwrap();
    (boards.pop().unwrap(), new)
}

#[tokio::test]
async fn guards_within_loops_count_on_in_runs_that_began_when_they_did() {
    let nodes = json!([
        {"id": "ask", "type": "approval"},
        {"id": "outer", "type": "loopguard", "config": {"max_count": 4}},
        {"id": "inner", "type": "loopguard", "config": {"max_count": 3}},
        {"id": "work", "type": "assigner", "config": {"assignments": [{"target": "worked", "expression": "(worked ?? 0) + 1"}]}},
        passes("out"),
    ]);
    let harmless = [("ask", "outer"), ("outer", "inner"), ("inner", "work"), ("work", "out")];
    let loops = [
        ("ask", "outer"),
        ("outer", "out if loop_count_exceeded"),
        ("outer", "inner"),
        ("inner", "outer if loop_count_exceeded"),
        ("inner", "work"),
        ("work", "inner"),
    ];
    let mut harmless = graph(nodes.clone(), &harmless);
    for guard in [1, 2] {
        harmless["nodes"][guard] = passes(["outer", "inner"][guard - 1]);
    }
    let (old, new) = begun_by_an_earlier_build(harmless, graph(nodes, &loops)).await;
    assert_eq!((old.get("worked"), new.get("worked")), (Some(&json!(2)), Some(&json!(6))));
}

#[tokio::test]
async fn guards_of_loops_in_unguarded_ones_count_on_in_runs_that_began_when_they_did() {
    let nodes = json!([
        {"id": "ask", "type": "approval"},
        passes("start"),
        {"id": "work", "type": "assigner", "config": {"assignments": [{"target": "worked", "expression": "(worked ?? 0) + 1"}]}},
        {"id": "guard", "type": "loopguard", "config": {"max_count": 3}},
        {"id": "again", "type": "assigner", "config": {"assignments": [{"target": "rounds", "expression": "(rounds ?? 0) + 1"}]}},
    ]);
    let harmless = [("ask", "start"), ("start", "work"), ("work", "guard"), ("guard", "again")];
    let loops = [
        ("ask", "start"),
        ("start", "work"),
        ("work", "guard"),
        ("guard", "again if loop_count_exceeded"),
        ("guard", "work"),
        ("again", "start if rounds < 3"),
    ];
    let (harmless, made) = (graph(nodes.clone(), &harmless), graph(nodes, &loops));
    let (old, new) = begun_by_an_earlier_build(harmless.clone(), made.clone()).await;
    assert_eq!((old.get("worked"), new.get("worked")), (Some(&json!(5)), Some(&json!(9))));
    let home = Home::new();
    let workflow = Workflow::new(SecondRules(home.graph(harmless)));
    let run = home.builder().build().start(&workflow, Board::new()).await.unwrap().run;
    home.answer(&run, Answer::approve()).await;
    let old = home.resume(made, &run).await.completed().unwrap();
    assert_eq!(old.get("worked"), Some(&json!(5)), "nor did they by the rules that came next");
}

/// A graph as a build began it that knew two sets of rules.
struct SecondRules(Graph);

impl Step<Board> for SecondRules {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn run<'a>(&'a self, scope: &'a Scope, board: &'a mut Board) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            scope.version("rules of loops and merges", 1..=2)?;
            self.0.run(scope, board).await
        })
    }
}

#[tokio::test]
async fn a_no_over_a_no_is_passed_over_in_runs_that_began_when_it_was() {
    let nodes = json!([
        writes("start", json!({"ok": false})), {"id": "ask", "type": "approval"},
        writes("a", json!({"ok": false})), writes("b", json!({"ok": true})), passes("join"),
    ]);
    let edges = [("start", "ask"), ("ask", "a"), ("ask", "b"), ("a", "join"), ("b", "join")];
    let harmless = graph(nodes, &edges);
    let mut made = harmless.clone();
    made["merge"] = json!({"ok": "all"});
    let (old, new) = begun_by_an_earlier_build(harmless, made).await;
    assert_eq!((old.get("ok"), new.get("ok")), (Some(&json!(true)), Some(&json!(false))));
}

#[tokio::test]
async fn gates_in_branches_meet_as_they_did_in_runs_that_began_then() {
    let edges = [("start", "ask"), ("ask", "a"), ("ask", "b"), ("a", "join"), ("b", "join")];
    let made = |kind: &str, a: Value, b: Value| {
        let failed = json!({"gate_result": "fail", "gate_result_output": "Exit code: 1", "gate_result_failed_command": "false"});
        let node = |id: &str, config: Value| json!({"id": id, "type": kind, "config": config});
        let nodes =
            [writes("start", failed), node("ask", json!({})), node("a", a), node("b", b), passes("join")];
        let mut made = graph(json!(nodes), &edges);
        made["nodes"][1]["type"] = json!("approval");
        made
    };
    let gates = made("gate", json!({"commands": ["ok"]}), json!({"commands": ["false"]}));
    let (old, new) = begun_by_an_earlier_build(made("passthrough", json!({}), json!({})), gates).await;
    assert_eq!((old.text("gate_result"), new.text("gate_result")), ("pass", "fail"));
    assert_eq!((old.get("gate_results"), new.get("gate_results").is_some()), (None, true));
}

/// A join with a way back into one arm, which ran before the other arm in earlier builds.
#[tokio::test]
async fn joins_with_ways_back_come_before_their_arms_in_runs_that_began_when_they_did() {
    let counts = json!({"id": "join", "type": "assigner", "config": {"assignments": [{"target": "joined", "expression": "(joined ?? 0) + 1"}]}});
    let nodes = json!([{"id": "ask", "type": "approval"}, passes("a"), passes("b"), counts, passes("out")]);
    let harmless = [("ask", "a"), ("ask", "b"), ("a", "join"), ("b", "join"), ("join", "out")];
    let back = [&harmless[..4], &[("join", "a if joined > 5"), ("join", "out")]].concat();
    let mut made = graph(nodes.clone(), &back);
    made["merge"] = json!({"joined": "sum"});
    let (old, new) = begun_by_an_earlier_build(graph(nodes, &harmless), made).await;
    assert_eq!((old.get("joined"), new.get("joined")), (Some(&json!(2)), Some(&json!(1))));
}

#[cfg(feature = "script")]
#[tokio::test]
async fn what_scripts_change_of_all_variables_is_lost_in_runs_that_began_when_it_was() {
    let made = |source: &str| {
        let script = json!({"id": "script", "type": "script", "config": {"source": source}});
        let nodes =
            json!([writes("start", json!({"a": {"k": 1}})), {"id": "ask", "type": "approval"}, script]);
        graph(nodes, &[("start", "ask"), ("ask", "script")])
    };
    let (old, new) =
        begun_by_an_earlier_build(made(""), made("board.getVars().a.k = 7; board.setVar('b', 1)")).await;
    assert_eq!((old.get("a"), new.get("a")), (Some(&json!({"k": 1})), Some(&json!({"k": 7}))));
}

/// The same run, killed while its first call of a tool was under way, of which a person said that it took effect.
async fn killed_in_a_call(home: &Home, made: &Value, run: &RunId) -> RunId {
    let record = home.store.run(run).await.unwrap().unwrap();
    let entries = home.store.entries(run, 1, usize::MAX).await.unwrap();
    let begun = entries.iter().position(|entry| entry.effect == EffectKind::Tool).unwrap();
    assert_eq!(entries[begun].phase, Phase::Started);
    let past = Batch { entries: entries[..=begun].to_vec(), ..Batch::default() };
    let new = NewRun {
        id: RunId::mint(),
        workflow: record.workflow,
        version: record.version,
        input: record.input,
        outline: record.outline,
        launch: record.launch,
        seed: record.seed,
        forked_from: None,
        past,
    };
    let lease = home.store.create(new).await.unwrap();
    home.store.release(&lease);
    let waits = home.resume(made.clone(), &lease.run).await;
    assert_eq!(waits.status, RunStatus::Suspended, "{:?}", waits.error);
    home.answer(&lease.run, Answer::choose("done")).await;
    lease.run
}

#[tokio::test]
async fn a_result_that_is_lost_is_no_result_and_a_fork_says_what_it_was() {
    for (kind, config, key, left) in [
        ("gate", json!({"commands": ["v1"]}), "gate_result", "pass"),
        ("tool", json!({"tool": "bash", "arguments": {"command": "v1"}, "output_key": "v"}), "v", "v2"),
        ("context", json!({"commands": [{"command": "v1", "state_key": "v"}]}), "v", "v2"),
    ] {
        let home = Home::new().tool(super::nodes::careful_shell());
        let made = graph(json!([{"id": "n", "type": kind, "config": config}]), &[]);
        let whole = home.run(made.clone(), json!({})).await;
        let killed = killed_in_a_call(&home, &made, &whole.run).await;
        for _ in 0..2 {
            let failed = home.resume(made.clone(), &killed).await;
            let error = failed.error.expect("the sentence about it is no result");
            let lost = error.downcast_ref::<LostResult>().unwrap();
            assert_eq!((&*lost.tool, lost.path.as_str()), ("bash", "test/n/bash"));
        }
        let entries = home.store.entries(&killed, 1, usize::MAX).await.unwrap();
        let ended = |entry: &&Entry| entry.effect == EffectKind::Tool && entry.phase == Phase::Finished;
        let at = entries.iter().find(ended).unwrap().seq;
        let fork = Fork::new(killed, at).with_outcome(json!({"content": "v2"}));
        let fork = fork.create(&home.store).await.unwrap();
        let board = home.resume(made, &fork).await.completed().unwrap();
        assert_eq!(board.text(key), left, "{kind}");
    }
}
