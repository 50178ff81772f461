//! Joins with ways back into their arms: they run once a round, after all of the arms that are under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use convoke_core::RunStatus;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Home, graph, passes, writes};

/// What ran, in the order in which it began.
async fn ran(nodes: &[&str], edges: &[(&str, &str)]) -> Vec<String> {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&begun);
    let home = Home::new().node("logs", move |call| {
        log.lock().unwrap().push(call.id.to_owned());
        Box::pin(
            async move { Ok(call.board.set(call.id, call.board.typed::<u64>(call.id).unwrap_or(0) + 1)?) },
        )
    });
    let node = |id: &&str| json!({"id": id, "type": "logs"});
    home.done(graph(nodes.iter().map(node).collect(), edges), json!({})).await;
    begun.lock().unwrap().clone()
}

#[tokio::test]
async fn a_join_with_a_way_back_into_one_arm_runs_once_after_both() {
    for back in ["a if send == 0", "a if send == 1", "b if send == 0", "b if send == 1"] {
        let edges = [("s", "a"), ("s", "b"), ("a", "send"), ("b", "send"), ("send", back), ("send", "o")];
        let ran = ran(&["s", "a", "b", "send", "o"], &edges).await;
        let (arm, is_taken) = (&back[..1], back.ends_with('1'));
        let again: &[&str] = if is_taken { &[arm, "send"] } else { &[] };
        assert_eq!(ran, [&["s", "a", "b", "send"], again, &["o"]].concat(), "{back}");
    }
}

#[tokio::test]
async fn a_join_with_ways_back_into_both_arms_runs_once_a_round() {
    let edges = [
        ("s", "a"),
        ("s", "b"),
        ("b", "c"),
        ("a", "j"),
        ("c", "j"),
        ("j", "a if j < 3"),
        ("j", "b if j < 3"),
        ("j", "o"),
    ];
    let round = ["a", "b", "c", "j"];
    let ran = ran(&["s", "a", "b", "c", "j", "o"], &edges).await;
    assert_eq!(ran, [&["s"][..], &round, &round, &round, &["o"]].concat());
}

/// Arms side by side do not wait for each other, whatever way there is from the join back into them.
#[tokio::test]
async fn an_arm_goes_on_while_the_other_waits_for_a_person() {
    let nodes = json!([passes("s"), writes("a", json!({"done": true})), {"id": "b", "type": "approval"}, passes("j")]);
    let edges = [
        ("s", "a"),
        ("s", "b"),
        ("a", "j"),
        ("b", "j"),
        ("j", "a if approval_status == 'revise'"),
        ("j", "__end__"),
    ];
    let home = Home::new();
    let outcome = home.run(graph(nodes, &edges), json!({})).await;
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert!(home.ran().contains(&"a".to_owned()), "{:?}", home.ran());
}

#[tokio::test]
async fn of_two_nodes_that_would_wait_for_each_other_the_one_that_is_come_across_first_goes_first() {
    let edges = |first: &'static str, second: &'static str| {
        [("s", first), ("s", second), ("a", "b if a < 2"), ("b", "a if b < 2"), ("a", "o"), ("b", "o")]
    };
    let nodes = ["s", "a", "b", "o"];
    assert_eq!(ran(&nodes, &edges("a", "b")).await, ["s", "a", "b", "a", "o"]);
    assert_eq!(ran(&nodes, &edges("b", "a")).await, ["s", "b", "a", "b", "o"]);
}

/// A fork with arms, some with forks and joins of their own, and a tail behind the join; ways back from whatever all must pass to
/// nodes before it, and ways to give up. Nodes are numbered in an order in which they lead on; the last but one is the last of the tail,
/// the last is where arms give up.
#[derive(Debug, Clone)]
struct Arms {
    nodes: usize,
    forward: Vec<(usize, usize)>,
    /// From where, to where, and how often at most.
    ways: Vec<(usize, usize, u64)>,
}

fn arms() -> impl Strategy<Value = Arms> {
    let piece = prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(1..3usize, 2..4)];
    let shape = proptest::collection::vec(proptest::collection::vec(piece, 1..4), 2..4);
    (
        shape,
        0..3usize,
        proptest::collection::vec(any::<(prop::sample::Index, prop::sample::Index, u8)>(), 1..6),
    )
        .prop_flat_map(|(shape, tail, picks)| {
            let (nodes, forward) = forward(&shape, tail);
            let all: Vec<(usize, usize)> = (0..nodes - 1)
                .flat_map(|from| (0..=from).map(move |to| (from, to)))
                .filter(|(from, to)| is_passed_by_all(*from, *to, &forward, nodes - 2))
                .collect();
            let mut ways = BTreeMap::new();
            for (from, to, times) in picks {
                match times % 8 {
                    0 => ways.insert((from.index(nodes - 2), nodes - 1), 0),
                    1 => ways.insert((from.index(nodes - 2), nodes - 1), 1),
                    _ => {
                        let (from, to) = all[to.index(all.len())];
                        let leads_on = |one, other| reached(one, &forward, usize::MAX).contains(&other);
                        let others = ways.keys().filter(|(other, _)| *other == from).map(|(_, to)| *to);
                        // Of several at once, none leads on to another: a loop that is come into at one node waits there.
                        match others.into_iter().any(|other| leads_on(to, other) || leads_on(other, to)) {
                            true => None,
                            false => ways.insert((from, to), u64::from(times % 3)),
                        }
                    }
                };
            }
            let ways: Vec<_> = ways.into_iter().map(|((from, to), times)| (from, to, times)).collect();
            (Just(nodes), Just(forward).prop_shuffle(), Just(ways).prop_shuffle())
        })
        .prop_map(|(nodes, forward, ways)| Arms { nodes, forward, ways })
}

/// The nodes, and the edges that lead on.
fn forward(shape: &[Vec<Vec<usize>>], tail: usize) -> (usize, Vec<(usize, usize)>) {
    let (mut nodes, mut edges, mut ends) = (1, Vec::new(), Vec::new());
    let mut after = |before: &[usize]| {
        edges.extend(before.iter().map(|before| (*before, nodes)));
        nodes += 1;
        nodes - 1
    };
    for arm in shape {
        let mut at = 0;
        for piece in arm {
            at = after(&[at]);
            let inner: Vec<usize> =
                piece.iter().map(|length| (0..*length).fold(at, |at, _| after(&[at]))).collect();
            if !inner.is_empty() {
                at = after(&inner);
            }
        }
        ends.push(at);
    }
    let join = after(&ends);
    (0..=tail).fold(join, |at, _| after(&[at]));
    (nodes + 1, edges)
}

fn reached(from: usize, edges: &[(usize, usize)], without: usize) -> BTreeSet<usize> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop().filter(|node| *node != without) {
        if found.insert(node) {
            open.extend(edges.iter().filter(|(from, to)| *from == node && *to != without).map(|(_, to)| to));
        }
    }
    found
}

/// Whether whoever is at a node comes by another before the end.
fn is_passed_by_all(other: usize, node: usize, edges: &[(usize, usize)], end: usize) -> bool {
    reached(node, edges, usize::MAX).contains(&other)
        && (node == other || !reached(node, edges, other).contains(&end))
}

/// What had run before a node began, of whatever leads on to it: by the node and how often it has begun.
type Runs = BTreeMap<(usize, usize), Vec<usize>>;

impl Arms {
    fn definition(&self) -> Value {
        let nodes: Vec<Value> =
            (0..self.nodes).map(|n| json!({"id": format!("n{n}"), "type": "logs"})).collect();
        let mut made = graph(Value::Array(nodes), &[]);
        let ways = self.ways.iter().map(|(from, to, times)| {
            json!({"from": format!("n{from}"), "to": format!("n{to}"), "condition": format!("n{from} <= {times}")})
        });
        let forward =
            self.forward.iter().map(|(from, to)| json!({"from": format!("n{from}"), "to": format!("n{to}")}));
        let end = json!({"from": format!("n{}", self.nodes - 2), "to": "__end__"});
        made["edges"] = ways.chain(forward).chain([end]).collect();
        made["max_nodes"] = json!(2000);
        // Who has given up has counted, too.
        made["merge"] = json!({"*": "max"});
        made
    }

    fn runs(&self, log: &[usize]) -> Runs {
        let before = |node: usize| {
            (0..self.nodes).filter(move |other| {
                *other != node && reached(*other, &self.forward, usize::MAX).contains(&node)
            })
        };
        let before: Vec<Vec<usize>> = (0..self.nodes).map(|node| before(node).collect()).collect();
        let (mut counts, mut runs) = (vec![0; self.nodes], Runs::new());
        for node in log {
            counts[*node] += 1;
            runs.insert((*node, counts[*node]), before[*node].iter().map(|before| counts[*before]).collect());
        }
        runs
    }

    /// What runs if nobody does before whoever may lead on to him: always the one with the lowest number.
    fn expected(&self) -> Vec<usize> {
        let (mut waiting, mut counts, mut log) = (BTreeSet::from([0]), vec![0_u64; self.nodes], Vec::new());
        while let Some(node) = waiting.pop_first() {
            log.push(node);
            counts[node] += 1;
            let ways = self.ways.iter().filter(|(from, _, times)| *from == node && counts[node] <= *times);
            let taken: Vec<usize> = ways.map(|(_, to, _)| *to).collect();
            let forward = self.forward.iter().filter(|(from, _)| *from == node).map(|(_, to)| *to);
            match taken.is_empty() {
                true => waiting.extend(forward),
                false => waiting.extend(taken),
            }
        }
        log
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn joins_run_once_a_round_after_all_of_their_arms(arms in arms()) {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&begun);
        let home = Home::new().node("logs", move |call| {
            let number: usize = call.id[1..].parse().unwrap();
            let mut log = log.lock().unwrap();
            log.push(number);
            let pauses = (log.len() * 7 + number * 5) % 4;
            let count = log.iter().filter(|other| **other == number).count();
            drop(log);
            Box::pin(async move {
                for _ in 0..pauses {
                    tokio::task::yield_now().await;
                }
                Ok(call.board.set(call.id, count)?)
            })
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(home.run(arms.definition(), json!({})));
        prop_assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let log = begun.lock().unwrap().clone();
        prop_assert_eq!(arms.runs(&log), arms.runs(&arms.expected()), "{:?}", log);
    }
}
