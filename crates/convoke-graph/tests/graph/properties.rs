//! Random graphs: they end, every activation runs once, branches come to what some order would come to, and resuming anywhere
//! comes to the same board.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use convoke_core::{Error, Fork, RunStatus};
use convoke_graph::{Board, MergeConflict};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::executor::assert_paired;
use super::{Home, graph};

/// A graph of `n0` to `n<count>`: edges forward, some with conditions, some back.
#[derive(Debug, Clone)]
struct Random {
    edges: Vec<(usize, usize, Option<u8>)>,
    kinds: Vec<u8>,
    seed: u64,
}

fn random() -> impl Strategy<Value = Random> {
    (2..9usize).prop_flat_map(|count| {
        let edge = (0..count, 0..count + 1, proptest::option::of(0..4u8));
        let edges = proptest::collection::vec(edge, 1..16);
        (edges, proptest::collection::vec(0..10u8, count), any::<u64>())
            .prop_map(|(edges, kinds, seed)| Random { edges, kinds, seed })
    })
}

impl Random {
    /// Every node counts itself, adds to lists, says something, and yields at random; node 7 of 10 waits for an effect.
    fn definition(&self, merge: &str) -> Value {
        let nodes: Vec<Value> = (0..self.kinds.len())
            .map(|n| json!({"id": format!("n{n}"), "type": format!("k{}", self.kinds[n])}))
            .collect();
        let mut made = graph(Value::Array(nodes), &[]);
        let edges = self.edges.iter().map(|(from, to, condition)| {
            let to = if *to == self.kinds.len() { "__end__".to_owned() } else { format!("n{to}") };
            let mut edge = json!({"from": format!("n{from}"), "to": to});
            if let Some(condition) = condition {
                edge["condition"] = json!(match condition {
                    0 => "__iterations < 6".to_owned(),
                    1 => format!("(c{from} ?? 0) % 2 == 0"),
                    2 => format!("(c{from} ?? 0) < 2"),
                    _ => "len(all ?? []) % 3 != 0".to_owned(),
                });
            }
            edge
        });
        made["edges"] = edges.collect();
        made["max_nodes"] = json!(40);
        made["max_branches"] = json!(20);
        made["merge"] = json!({"all": "append", "total": "sum", "*": merge});
        made
    }

    /// What ran, and how often, whatever the order.
    fn home(&self, salt: u64) -> (Home, Arc<Mutex<Vec<String>>>) {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let chance = Arc::new(AtomicU64::new(self.seed ^ salt));
        let mut home = Home::new();
        for kind in 0..10u8 {
            let (begun, chance) = (Arc::clone(&begun), Arc::clone(&chance));
            home = home.node(&format!("k{kind}"), move |call| {
                begun.lock().unwrap().push(call.id.to_owned());
                let mut number = chance.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
                number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                Box::pin(async move {
                    for _ in 0..(number >> 40) % 5 {
                        tokio::task::yield_now().await;
                    }
                    let key = format!("c{}", &call.id[1..]);
                    let count = call.board.typed::<u64>(&key).unwrap_or(0);
                    call.board.set(&key, count + 1)?;
                    call.board.append("all", call.id)?;
                    call.board.set("total", call.board.typed::<u64>("total").unwrap_or(0) + 1)?;
                    call.board.push("", convoke_core::Message::assistant(call.id))?;
                    if kind % 3 == 0 {
                        call.board.set("last", call.id)?;
                    }
                    if kind == 7 {
                        let effect = call.scope.custom("look").request(&json!(call.id)).repeatable();
                        let found: u64 = effect.perform(|_| Box::pin(async { Ok::<_, Error>(7) })).await?;
                        call.board.set(&format!("found{}", &call.id[1..]), found)?;
                    }
                    if kind == 9 && count == 1 {
                        return Err(Error::permanent("the second time it fails"));
                    }
                    Ok(())
                })
            });
        }
        (home, begun)
    }
}

fn counted(nodes: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    nodes.iter().for_each(|node| *counts.entry(node.as_str()).or_default() += 1);
    counts
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_end_and_come_to_the_same_whoever_is_quicker(random in random()) {
        runtime().block_on(async {
            let (home, begun) = random.home(0);
            let outcome = home.run(random.definition("last"), json!({})).await;
            assert_paired(&home);
            let conflict = outcome.error.as_ref().and_then(|error| error.downcast_ref::<MergeConflict>());
            prop_assert!(conflict.is_none(), "everybody only adds: {conflict:?}");
            let (board, failed) = (outcome.state, outcome.error.map(|error| error.to_string()));
            if failed.is_none() {
                let ran = begun.lock().unwrap().clone();
                let all: Vec<String> = board.typed("all").unwrap();
                prop_assert_eq!(counted(&all), counted(&ran), "every run of a node is on the board once");
                prop_assert_eq!(board.typed::<usize>("total"), Some(ran.len()));
                prop_assert_eq!(board.channel("").len(), ran.len());
            }
            for salt in [1, 2] {
                let (home, _) = random.home(salt);
                let again = home.run(random.definition("last"), json!({})).await;
                prop_assert_eq!(again.error.map(|error| error.to_string()).is_some(), failed.is_some());
                if failed.is_none() {
                    prop_assert_eq!(&again.state, &board, "timing must not decide");
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn branches_come_to_what_some_order_comes_to_or_report_a_conflict(writes in proptest::collection::vec((0..4u8, 0..3u8), 2..5)) {
        runtime().block_on(async {
            let node = |index: usize, (key, value): (u8, u8)| {
                super::writes(&format!("n{index}"), json!({format!("k{key}"): value}))
            };
            let mut nodes = vec![super::passes("start")];
            nodes.extend(writes.iter().enumerate().map(|(index, write)| node(index, *write)));
            nodes.push(super::passes("join"));
            let mut made = graph(Value::Array(nodes), &[]);
            made["edges"] = (0..writes.len()).flat_map(|index| {
                [json!({"from": "start", "to": format!("n{index}")}), json!({"from": format!("n{index}"), "to": "join"})]
            }).collect();
            let sequential = |order: &[(u8, u8)]| {
                let mut board = Board::new();
                order.iter().for_each(|(key, value)| board.set(&format!("k{key}"), *value).unwrap());
                board
            };
            let reversed: Vec<(u8, u8)> = writes.iter().rev().copied().collect();
            let (forward, backward) = (sequential(&writes), sequential(&reversed));
            let outcome = Home::new().run(made, json!({})).await;
            match &outcome.error {
                None => {
                    prop_assert_eq!(&outcome.state, &forward);
                    prop_assert_eq!(forward, backward, "without a conflict the order does not matter");
                }
                Some(error) => {
                    let conflict = error.downcast_ref::<MergeConflict>().expect("a conflict");
                    let values: std::collections::BTreeSet<u8> = writes.iter()
                        .filter(|(key, _)| conflict.key == format!("k{key}")).map(|(_, value)| *value).collect();
                    prop_assert!(values.len() > 1, "{} was not written twice", conflict.key);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn resuming_from_any_prefix_of_the_journal_comes_to_the_same_board(random in random()) {
        runtime().block_on(async {
            let random = Random { kinds: random.kinds.iter().map(|kind| if *kind == 9 { 7 } else { kind | 1 }).map(|kind| if kind == 9 { 7 } else { kind }).collect(), ..random };
            let (home, _) = random.home(0);
            let definition = random.definition("last");
            let whole = home.run(definition.clone(), json!({})).await;
            let entries = home.store.entries(&whole.run, 1, usize::MAX).await.unwrap().len() as u64;
            let step = (entries / 12).max(1);
            for cut in (1 + random.seed % step..=entries).step_by(step as usize) {
                let killed = Fork::new(whole.run.clone(), cut).create(&home.store).await.unwrap();
                let again = home.resume(definition.clone(), &killed).await;
                prop_assert_eq!(again.status, whole.status);
                if whole.status == RunStatus::Completed {
                    prop_assert_eq!(&again.state, &whole.state, "killed before entry {}", cut);
                }
            }
            Ok(())
        })?;
    }
}
