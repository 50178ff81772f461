//! The way that a run took, from what is on record of it.

use std::collections::HashMap;

use convoke_core::{Answer, Error, Path, RunId, StepNote};
use convoke_diagram::{Item, ItemId, Mark};
use convoke_graph::NodeTrace;
use serde_json::{Value, json};

use super::{Home, graph, passes, writes};

/// How often every edge was taken, and which nodes are not over, from the journal alone.
async fn drawn(home: &Home, made: Value, run: &RunId, failed: &str) -> Vec<String> {
    let (mut traces, mut versions) = (HashMap::new(), HashMap::new());
    for entry in home.store.entries(run, 1, usize::MAX).await.unwrap() {
        let kept =
            entry.outcome.as_deref().map(|json| serde_json::from_slice::<Value>(json).unwrap()["ok"].clone());
        if entry.ordinal == StepNote::Route.ordinal() {
            traces.insert(entry.path, NodeTrace::Routed(serde_json::from_value(kept.unwrap()).unwrap()));
        } else if entry.ordinal == StepNote::LeftOut.ordinal() {
            let reason = kept.unwrap().as_str().unwrap().to_owned();
            traces.insert(entry.path, NodeTrace::LeftOut(reason));
        } else if let Some(version) = kept.and_then(|kept| u32::try_from(kept.as_u64()?).ok()) {
            versions.insert(entry.path, version);
        }
    }
    let compiled = home.compiled(made).unwrap();
    let trace = |path: &Path| match traces.get(path) {
        _ if path.as_str() == failed => NodeTrace::Failed,
        Some(trace) => trace.clone(),
        None => NodeTrace::Nothing,
    };
    let is_known = |path: &Path| traces.keys().any(|known| known.is_within(path));
    let way = compiled.way(&trace, &is_known, &|path| versions.get(path).copied());
    let diagram = compiled.to_diagram_of(&way);
    let items: Vec<Item> = diagram.items().map(|(_, item)| item.clone()).collect();
    let name = |id: ItemId| {
        let found = diagram.items().position(|(other, _)| other == id).unwrap();
        items[found].lines.first().cloned().unwrap_or_else(|| "o".to_owned())
    };
    let edges = diagram.arrows().iter().map(|arrow| (name(arrow.from), name(arrow.to), arrow.taken)).map(
        |(from, to, taken)| {
            format!("{from}→{to} {}", taken.map_or("?".to_owned(), |taken| taken.to_string()))
        },
    );
    let open =
        items.iter().filter(|item| item.mark == Mark::Active).map(|item| format!("in {}", item.lines[0]));
    let ended = items.iter().filter(|item| item.mark == Mark::Cancelled);
    edges.chain(open).chain(ended.map(|item| format!("{} {}", item.lines[0], item.note))).collect()
}

/// Thinks twice, forks, joins, asks; with a branch that is never taken.
fn everything() -> Value {
    graph(
        json!([
            {"id": "think", "type": "llm", "config": {"prompt": "Round ${board.loop_count:0}"}},
            {"id": "again", "type": "loopguard", "config": {"max_count": 3}},
            passes("fork"),
            writes("a", json!({"a": 1})),
            {"id": "b", "type": "llm", "config": {"prompt": "Beside"}},
            {"id": "ask", "type": "approval", "config": {"prompt": "Fine?"}},
            {"id": "never", "type": "answer"},
            {"id": "out", "type": "answer"},
        ]),
        &[
            ("think", "again"),
            ("again", "think if not loop_count_exceeded"),
            ("again", "fork"),
            ("fork", "a"),
            ("fork", "b"),
            ("a", "ask"),
            ("b", "ask"),
            ("ask", "never if approval_status == 'rejected'"),
            ("ask", "out"),
            ("never", "__end__"),
            ("out", "__end__"),
        ],
    )
}

#[tokio::test]
async fn edges_that_were_taken_are_marked_with_how_often() {
    let home = Home::new();
    let outcome = home.run(everything(), json!({})).await;
    let waiting = drawn(&home, everything(), &outcome.run, "").await;
    let so_far = [
        "o→think 1",
        "think→again 3",
        "again→think 2",
        "again→fork 1",
        "fork→a 1",
        "fork→b 1",
        "a→ask 1",
        "b→ask 1",
    ];
    let rest = |never: u32, out: u32| {
        let rest = [("ask→never", never), ("ask→out", out), ("never→o", never), ("out→o", out)];
        rest.map(|(edge, times)| format!("{edge} {times}"))
    };
    assert_eq!(waiting[..8], so_far);
    assert_eq!(waiting[8..12], rest(0, 0));
    assert_eq!(waiting[12..], ["in ask"]);
    home.answer(&outcome.run, Answer::approve()).await;
    home.resume(everything(), &outcome.run).await.completed().unwrap();
    let done = drawn(&home, everything(), &outcome.run, "").await;
    assert_eq!(done[..8], so_far);
    assert_eq!(done[8..], rest(0, 1));
}

#[tokio::test]
async fn the_way_ends_where_a_run_failed_and_a_branch_that_was_ended_leads_nowhere() {
    let home = Home::new().node("fails", |_| Box::pin(async { Err(Error::permanent("broken")) }));
    let mut quick = writes("quick", json!({"won": true}));
    quick["cancels"] = json!(["slow"]);
    let made = graph(
        json!([passes("start"), quick, {"id": "slow", "type": "approval"}, passes("after"),
            {"id": "join", "type": "fails"}, passes("rest")]),
        &[
            ("start", "quick"),
            ("start", "slow"),
            ("slow", "after"),
            ("quick", "join"),
            ("after", "join"),
            ("join", "rest"),
        ],
    );
    let outcome = home.run(made.clone(), json!({})).await;
    assert!(outcome.error.is_some());
    let taken = [
        "o→start 1",
        "start→quick 1",
        "start→slow 1",
        "quick→join 1",
        "slow→after 0",
        "after→join 0",
        "join→rest 0",
        "slow ✗ ended: `quick` was done first",
    ];
    assert_eq!(drawn(&home, made, &outcome.run, "test/join").await, taken);
}

#[tokio::test]
async fn edges_within_an_iteration_are_known_where_every_item_leaves_something_on_record() {
    let made = |decides: &str| {
        let node = json!({"id": "each", "type": "iteration", "config": {"graph": "one"}});
        let mut made = graph(json!([node]), &[]);
        made["graphs"] = json!({"one": graph(
            json!([writes("first", json!({"a": 1})), passes("then"), {"id": "out", "type": "answer"}]),
            &[("first", "then"), ("then", decides), ("then", "__end__"), ("out", "__end__")],
        )});
        made
    };
    for (decides, known) in
        [("out if index > 0", ["first→then 3", "then→out 2"]), ("out", ["first→then ?", "then→out ?"])]
    {
        let home = Home::new();
        let outcome = home.run(made(decides), json!({"items": [1, 2, 3]})).await;
        let edges = drawn(&home, made(decides), &outcome.run, "").await;
        assert!(known.iter().all(|edge| edges.contains(&(*edge).to_owned())), "{edges:?}");
    }
}

#[tokio::test]
async fn edges_that_were_taken_within_a_graph_within_a_graph_are_marked_too() {
    let inner = json!({
        "name": "checks", "entry": "look",
        "nodes": [{"id": "look", "type": "llm", "config": {"prompt": "Look"}}, {"id": "yes", "type": "answer"},
            {"id": "no", "type": "answer"}],
        "edges": [{"from": "look", "to": "yes", "condition": "index == nil or index < 2"}, {"from": "look", "to": "no"},
            {"from": "yes", "to": "__end__"}, {"from": "no", "to": "__end__"}],
    });
    for (node, look, no) in [
        (json!({"id": "check", "type": "graph", "config": {"graph": "checks"}}), 1, 0),
        (json!({"id": "check", "type": "iteration", "config": {"graph": "checks"}}), 3, 1),
    ] {
        let home = Home::new();
        let mut made = graph(json!([node, passes("out")]), &[("check", "out"), ("out", "__end__")]);
        made["graphs"] = json!({"checks": inner});
        let outcome = home.run(made.clone(), json!({"items": [1, 2, 3]})).await;
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let edges = drawn(&home, made, &outcome.run, "").await;
        let yes = look - no;
        for edge in
            ["o→look 1".to_owned(), format!("look→yes {yes}"), format!("look→no {no}"), format!("no→o {no}")]
        {
            assert!(edges.contains(&edge), "{edge}: {edges:?}");
        }
    }
}

/// A join that leads back into one of its arms: it runs after both, which only the rules say that the run keeps.
#[tokio::test]
async fn the_way_goes_by_the_rules_that_the_run_keeps() {
    let nodes = json!([passes("s"), {"id": "a", "type": "llm", "config": {"prompt": "A"}}, {"id": "b", "type": "llm", "config": {"prompt": "B"}}, passes("j"), passes("o")]);
    let edges =
        [("s", "a"), ("s", "b"), ("a", "j"), ("b", "j"), ("j", "a if false"), ("j", "o"), ("o", "__end__")];
    let mut made = graph(nodes, &edges);
    made["merge"] = json!({"response": "last", "usage": "last"});
    let home = Home::new();
    let outcome = home.run(made.clone(), json!({})).await;
    let run = outcome.run.clone();
    outcome.completed().unwrap();
    let taken = ["o→s 1", "s→a 1", "s→b 1", "a→j 1", "b→j 1", "j→a 0", "j→o 1", "o→o 1"];
    assert_eq!(drawn(&home, made, &run, "").await, taken);
}
