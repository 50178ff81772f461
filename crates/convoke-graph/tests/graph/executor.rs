//! Cases 115 to 142: one path through a graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use convoke_core::{Canceller, Error, EventKind, RunStatus, StepEnd};
use convoke_graph::{NodeBudgetExhausted, NodeDefinition};
use serde_json::{Value, json};

use super::{Home, graph, passes, writes};

#[tokio::test]
async fn flowcraft_115_116_nodes_run_one_after_the_other() {
    let home = Home::new();
    let board = home.done(graph(json!([passes("a")]), &[]), json!({"k": 1})).await;
    assert_eq!(board.get("k"), Some(&json!(1)));
    let nodes = json!([writes("a", json!({"k": "a"})), writes("b", json!({"k": "b"}))]);
    let board = home.done(graph(nodes, &[("a", "b"), ("b", "__end__")]), json!({})).await;
    assert_eq!(board.text("k"), "b");
}

fn choice() -> Value {
    json!([passes("a"), writes("b", json!({"took": "b"})), writes("c", json!({"took": "c"}))])
}

#[tokio::test]
async fn flowcraft_117_118_conditions_go_first_and_the_rest_is_the_else_branch() {
    let home = Home::new();
    for (edges, x, took) in [
        (vec![("a", "b if x == 1"), ("a", "c if x == 2")], 2, Some("c")),
        (vec![("a", "b if x == 1"), ("a", "c")], 1, Some("b")),
        (vec![("a", "b if x == 1"), ("a", "c")], 9, Some("c")),
        (vec![("a", "b if x == 1"), ("a", "c if x == 2")], 9, None),
    ] {
        let board = home.done(graph(choice(), &edges), json!({"x": x})).await;
        assert_eq!(board.get("took").and_then(Value::as_str), took, "{edges:?} with {x}");
    }
}

#[tokio::test]
async fn flowcraft_119_a_node_is_passed_over() {
    let skips = |condition: &str| {
        let mut skipped = writes("b", json!({"b": 1}));
        skipped["skip_condition"] = json!(condition);
        graph(json!([passes("a"), skipped, writes("c", json!({"c": 1}))]), &[("a", "b"), ("b", "c")])
    };
    let home = Home::new();
    let board = home.done(skips("true"), json!({})).await;
    assert_eq!((board.get("b"), board.get("c")), (None, Some(&json!(1))));
    assert_eq!(home.heard.custom("graph.node_skipped"), [json!({"node": "b"})]);
    assert!(home.done(skips("x == 1"), json!({})).await.get("b").is_some());
}

#[tokio::test]
async fn flowcraft_121_122_166_a_loop_without_end_is_ended_and_an_exact_fit_is_not() {
    let home = Home::new();
    let mut endless = graph(json!([passes("a"), passes("b")]), &[("a", "b"), ("b", "a")]);
    endless["max_nodes"] = json!(5);
    let outcome = home.run(endless, json!({})).await;
    assert_eq!(outcome.status, RunStatus::Failed);
    let error = outcome.error.unwrap();
    assert!(error.downcast_ref::<NodeBudgetExhausted>().is_some_and(|used_up| used_up.limit == 5), "{error}");
    let mut exact = graph(json!([passes("a"), passes("b")]), &[("a", "b"), ("b", "__end__")]);
    exact["max_nodes"] = json!(2);
    home.done(exact, json!({})).await;
    let nodes = json!([passes("start"), passes("a"), passes("a2"), passes("b")]);
    let mut within = graph(nodes, &[("start", "a"), ("start", "b"), ("a", "a2"), ("a2", "a")]);
    within["max_nodes"] = json!(9);
    let error = home.run(within, json!({})).await.error.unwrap();
    let used_up = error.downcast_ref::<NodeBudgetExhausted>();
    assert!(
        used_up.is_some_and(|used_up| used_up.limit == 9),
        "nor is there a loop without end in a branch: {error}"
    );
}

#[tokio::test]
async fn iterations_in_one_another_run_no_more_nodes_than_the_whole_graph_may() {
    let all = json!({"id": "all", "type": "iteration", "config": {"input_key": "item", "graph": "inner"}});
    let list: Vec<Value> = (0..40).map(Value::from).collect();
    let innermost = graph(json!([passes("p")]), &[]);
    let nested = |inner: Value| {
        let nodes = json!([writes("w", json!({"item": list})), all]);
        let mut made = graph(nodes, &[("w", "all")]);
        made["graphs"] = json!({"inner": inner});
        made
    };
    let mut made = nested(nested(nested(innermost)));
    let error = Home::new().run(made.clone(), json!({})).await.error.unwrap();
    let used_up = error.downcast_ref::<NodeBudgetExhausted>().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(used_up.limit, 100);
    made["graphs"]["inner"]["max_nodes"] = json!(5);
    let error = Home::new().failed(made, json!({})).await;
    assert!(
        error.contains("has run 5 nodes") && error.contains("those of graphs within it included"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn flowcraft_123_a_node_has_its_time() {
    let home = Home::new()
        .node("waits", |call| Box::pin(async move { call.scope.sleep(Duration::from_secs(60)).await }));
    let slow = json!([{"id": "slow", "type": "waits", "timeout": "50ms"}]);
    let error = home.run(graph(slow, &[]), json!({})).await.error.unwrap();
    assert!(matches!(error.root(), Error::TimedOut(_)), "{error:?}");
}

#[tokio::test]
async fn flowcraft_124_050_who_cancels_a_run_ends_it_there() {
    let canceller = Canceller::new();
    let stop = canceller.clone();
    let home = Home::new().node("stops", move |_| {
        stop.cancel("enough");
        Box::pin(std::future::pending())
    });
    let nodes = json!([{"id": "a", "type": "stops"}, writes("b", json!({"b": 1}))]);
    let workflow = home.graph(graph(nodes, &[("a", "b")])).workflow();
    let outcome =
        home.builder().build().start(&workflow, Default::default()).canceller(&canceller).await.unwrap();
    assert_eq!((outcome.status, outcome.state.get("b")), (RunStatus::Cancelled, None));
    assert!(matches!(outcome.error.unwrap().root(), Error::Cancelled { .. }));
}

fn flaky(times: u32, error: fn() -> Error) -> (Home, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&calls);
    let home = Home::new().node("flaky", move |call| {
        let call_number = counter.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            call.board.append("tries", call_number)?;
            call.board.push("", convoke_core::Message::assistant("half"))?;
            if call_number < times { Err(error()) } else { Ok(()) }
        })
    });
    (Home { patience: Duration::MAX, ..home }, calls)
}

fn retried(retries: u32) -> Value {
    graph(json!([{"id": "f", "type": "flaky", "retries": retries}]), &[])
}

#[tokio::test(start_paused = true)]
async fn flowcraft_127_128_a_node_is_tried_again_on_the_board_it_was_given() {
    let (home, calls) = flaky(2, || Error::transient("busy"));
    let begun = tokio::time::Instant::now();
    let board = home.done(retried(5), json!({})).await;
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(board.get("tries"), Some(&json!([2])), "what failed attempts wrote is undone");
    assert_eq!(board.channel("").len(), 1);
    assert_eq!(begun.elapsed(), Duration::from_millis(500 + 1_000));
}

#[tokio::test(start_paused = true)]
async fn flowcraft_130_what_will_not_pass_is_not_tried_again() {
    let (home, calls) = flaky(9, || Error::permanent("wrong"));
    assert!(home.failed(retried(5), json!({})).await.contains("wrong"));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let (home, calls) = flaky(9, || Error::transient("busy"));
    assert!(home.failed(retried(2), json!({})).await.contains("busy"));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    // Nor is a budget that is used up: the graph within has run as often as it may.
    let (home, calls) = flaky(0, || Error::permanent("never"));
    let mut inner = graph(json!([{"id": "f", "type": "flaky"}]), &[("f", "f")]);
    inner["max_nodes"] = json!(4);
    let mut made =
        graph(json!([{"id": "g", "type": "graph", "retries": 5, "config": {"graph": "inner"}}]), &[]);
    made["graphs"] = json!({"inner": inner});
    assert!(home.failed(made, json!({})).await.contains("max_nodes"));
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    // Nor is what is wrong with a configuration, or a node during which somebody ended the run.
    let begun = tokio::time::Instant::now();
    let wrong =
        json!([{"id": "t", "type": "template", "retries": 5, "config": {"template": "${board.missing}"}}]);
    let home = Home { patience: Duration::MAX, ..Home::new() };
    assert!(home.failed(graph(wrong, &[]), json!({})).await.contains("board.missing"));
    let (calls, canceller) = (Arc::new(AtomicU32::new(0)), Canceller::new());
    let (counter, stop) = (Arc::clone(&calls), canceller.clone());
    let home = home.node("stops", move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        stop.cancel("enough");
        Box::pin(std::future::pending())
    });
    let stops = json!([{"id": "s", "type": "stops", "retries": 5}]);
    let workflow = home.graph(graph(stops, &[])).workflow();
    let run = home.builder().build().start(&workflow, Default::default()).canceller(&canceller).await;
    assert_eq!((run.unwrap().status, calls.load(Ordering::Relaxed)), (RunStatus::Cancelled, 1));
    assert_eq!(begun.elapsed(), Duration::ZERO, "nobody waited to try again");
}

#[tokio::test(start_paused = true)]
async fn flowcraft_129_who_waits_to_try_again_can_be_cancelled() {
    let (home, _) = flaky(9, || Error::transient("busy"));
    let canceller = Canceller::new();
    let workflow = home.graph(retried(9)).workflow();
    let runtime = home.builder().build();
    let begun = tokio::time::Instant::now();
    let run = runtime.start(&workflow, Default::default()).canceller(&canceller);
    let (outcome, ()) = tokio::join!(run, async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        canceller.cancel("enough");
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, begun.elapsed()), (RunStatus::Cancelled, Duration::from_millis(700)));
    assert!(matches!(outcome.error.unwrap().root(), Error::Cancelled(_)));
}

#[test]
fn flowcraft_131_retries_cannot_be_negative() {
    let (compiled, findings) = convoke_graph::read(
        "{\"name\": \"g\", \"entry\": \"a\", \"nodes\": [{\"id\": \"a\", \"type\": \"passthrough\", \"retries\": -1}]}",
        &convoke_graph::NodeTypes::standard(),
    );
    assert!(compiled.is_none());
    assert_eq!((findings[0].code, findings[0].path.as_str()), ("wrong-value", "/nodes/0/retries"));
    assert_eq!(NodeDefinition::new("a", "b").retries, 0);
}

#[tokio::test]
async fn flowcraft_135_one_graph_runs_many_times_at_once() {
    let home = Home::new();
    let nodes = json!([{"id": "a", "type": "assigner", "config": {"assignments": [{"target": "out", "value": "${board.n}"}]}}]);
    let workflow = home.graph(graph(nodes, &[])).workflow();
    let runtime = home.builder().build();
    let runs = (0..20).map(|n| {
        let mut board = convoke_graph::Board::new();
        board.set("n", n).unwrap();
        runtime.start(&workflow, board).into_future()
    });
    let ended = futures_util::future::join_all(runs).await;
    for (n, outcome) in ended.into_iter().enumerate() {
        assert_eq!(outcome.unwrap().completed().unwrap().get("out"), Some(&json!(n)));
    }
}

/// Every step that started has exactly one end, and the run has one, last.
pub(super) fn assert_paired(home: &Home) {
    let mut open = std::collections::BTreeMap::new();
    let events = home.heard.all();
    for event in &events {
        match &event.kind {
            EventKind::StepStarted { .. } => {
                assert!(open.insert(event.path.clone(), ()).is_none(), "{:?}", event.path)
            }
            EventKind::StepEnded(_) => {
                assert!(open.remove(&event.path).is_some(), "{:?} ended twice", event.path)
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "without an end: {open:?}");
    let ends = events.iter().filter(|event| matches!(event.kind, EventKind::RunEnded(_))).count();
    assert_eq!(ends, 1);
    assert!(matches!(events.last().unwrap().kind, EventKind::RunEnded(_)));
}

#[tokio::test]
async fn flowcraft_138_139_every_start_has_one_end_whatever_happens() {
    let run = |home: Home, graph: Value| async move {
        let outcome = home.run(graph, json!({})).await;
        assert_paired(&home);
        (outcome.status, home)
    };
    let chain = graph(json!([passes("a"), passes("b")]), &[("a", "b")]);
    let (status, home) = run(Home::new(), chain).await;
    assert_eq!(status, RunStatus::Completed);
    let events = home.heard.all();
    assert!(matches!(events[0].kind, EventKind::RunStarted { .. }));
    assert!(events.iter().all(|event| event.run == events[0].run));
    let fails =
        graph(json!([{"id": "t", "type": "template", "config": {"template": "${board.missing}"}}]), &[]);
    let (status, home) = run(Home::new(), fails).await;
    assert_eq!(status, RunStatus::Failed);
    let failed =
        |event: &convoke_core::Event| matches!(&event.kind, EventKind::StepEnded(StepEnd::Failed { .. }));
    assert!(home.heard.all().iter().any(|event| failed(event) && event.path.as_str().ends_with("/t")));
    let waits = graph(json!([{"id": "ok", "type": "approval"}]), &[]);
    assert_eq!(run(Home::new(), waits).await.0, RunStatus::Suspended);
    let mut endless = graph(json!([passes("a")]), &[("a", "a")]);
    endless["max_nodes"] = json!(3);
    assert_eq!(run(Home::new(), endless).await.0, RunStatus::Failed);
    let hangs = || Home::new().node("hangs", |_| Box::pin(std::future::pending()));
    let slow = graph(json!([{"id": "slow", "type": "hangs", "timeout": "10ms"}]), &[]);
    assert_eq!(run(hangs(), slow).await.0, RunStatus::TimedOut);
    let (home, canceller) = (hangs(), Canceller::new());
    let workflow = home.graph(graph(json!([{"id": "h", "type": "hangs"}]), &[])).workflow();
    let runtime = home.builder().build();
    let (outcome, ()) = tokio::join!(
        runtime.start(&workflow, Default::default()).canceller(&canceller).into_future(),
        async { canceller.cancel("enough") }
    );
    assert_eq!(outcome.unwrap().status, RunStatus::Cancelled);
    assert_paired(&home);
    let fork = graph(
        json!([passes("a"), {"id": "t", "type": "template", "config": {"template": "${board.missing}"}}, passes("c")]),
        &[("a", "t"), ("a", "c")],
    );
    assert_eq!(run(Home::new(), fork).await.0, RunStatus::Failed);
}

#[tokio::test]
async fn a_panic_in_a_node_is_its_failure() {
    let home = Home::new().node("panics", |_| Box::pin(async { panic!("oh no") }));
    let error = home.failed(graph(json!([{"id": "p", "type": "panics"}]), &[]), json!({})).await;
    assert!(error.contains("`p`") && error.contains("oh no"), "{error}");
    assert_paired(&home);
}
