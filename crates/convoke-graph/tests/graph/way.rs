//! The way that a run took, from what is on record of it.

use std::collections::HashMap;

use convoke_core::{Answer, Error, Path, RunId, StepNote};
use convoke_diagram::{Item, ItemId, Mark};
use convoke_graph::NodeTrace;
use serde_json::{Value, json};

use super::{Home, graph, passes, writes};

/// How often every edge was taken, and which nodes are not over, from the journal alone.
async fn drawn(home: &Home, made: Value, run: &RunId, failed: &str) -> Vec<String> {
    let mut traces = HashMap::new();
    for entry in home.store.entries(run, 1, usize::MAX).await.unwrap() {
        let kept =
            entry.outcome.as_deref().map(|json| serde_json::from_slice::<Value>(json).unwrap()["ok"].clone());
        if entry.ordinal == StepNote::Route.ordinal() {
            traces.insert(entry.path, NodeTrace::Routed(serde_json::from_value(kept.unwrap()).unwrap()));
        } else if entry.ordinal == StepNote::LeftOut.ordinal() {
            traces.insert(entry.path, NodeTrace::LeftOut);
        }
    }
    let compiled = home.compiled(made).unwrap();
    let way = compiled.way(&|node, time| {
        let path = Path::join(&Path::from("test"), node, u32::try_from(time).unwrap());
        match traces.get(&path) {
            _ if path.as_str() == failed => NodeTrace::Failed,
            Some(trace) => trace.clone(),
            None => NodeTrace::Nothing,
        }
    });
    let diagram = compiled.to_diagram_of(&way);
    let items: Vec<Item> = diagram.items().map(|(_, item)| item.clone()).collect();
    let name = |id: ItemId| {
        let found = diagram.items().position(|(other, _)| other == id).unwrap();
        items[found].lines.first().cloned().unwrap_or_else(|| "o".to_owned())
    };
    let edges = diagram
        .arrows()
        .iter()
        .map(|arrow| format!("{}→{} {}", name(arrow.from), name(arrow.to), arrow.taken.unwrap()));
    let open =
        items.iter().filter(|item| item.mark == Mark::Active).map(|item| format!("in {}", item.lines[0]));
    edges.chain(open).collect()
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
    ];
    assert_eq!(drawn(&home, made, &outcome.run, "test/join").await, taken);
}
