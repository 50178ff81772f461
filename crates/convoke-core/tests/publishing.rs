//! The state as listeners see it.

use crate::common::events::told_of_steps;
use crate::common::{Oops, Trail, add, fails, watch};
use convoke_core::{Error, Event, EventKind, Scope};
use convoke_steps::{Chain, Func, Join, OnError, Parallel, func, task, task_boxed};
use serde::{Deserialize, Serialize};
use serde_json::Value;

fn set(name: &str, value: u64) -> Func<Trail> {
    func(name, move |trail: &mut Trail| {
        trail.count = value;
        Ok::<_, Error>(())
    })
}

/// What the listeners were told about the state, with the path it was told from.
fn published(events: &[Event]) -> Vec<(String, Value)> {
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::StateSnapshot { state } => Some((event.path.to_string(), state["count"].clone())),
        EventKind::StateDelta { patch } => Some((event.path.to_string(), patch.clone())),
        _ => None,
    });
    told.collect()
}

fn changed(value: u64) -> Value {
    serde_json::json!([{"op": "replace", "path": "/count", "value": value}])
}

#[tokio::test]
async fn a_publishing_chain_tells_the_state_whole_and_then_each_change() {
    let chain =
        Chain::new("main").then(set("a", 1)).then(set("same", 1)).then(set("b", 2)).publishing_state();
    let (events, _) = watch(chain).await;
    let main = || "main".to_owned();
    assert_eq!(published(&events), [(main(), 0.into()), (main(), changed(1)), (main(), changed(2))]);
    assert_eq!(told_of_steps(&events)[3], "main/a completed");
    assert!(told_of_steps(&events)[4].starts_with("main change"), "after the step that made it");
}

#[tokio::test]
async fn nested_publishing_chains_tell_of_one_state() {
    let inner = Chain::new("inner").then(set("a", 1)).publishing_state();
    let (events, _) = watch(Chain::new("main").then(inner).then(set("b", 2)).publishing_state()).await;
    let (main, inner) = ("main".to_owned(), "main/inner".to_owned());
    assert_eq!(published(&events), [(main.clone(), 0.into()), (inner, changed(1)), (main, changed(2))]);
}

#[tokio::test]
async fn a_branch_tells_of_its_own_state() {
    let branch = Chain::new("branch").then(set("a", 7)).publishing_state();
    let fan = Parallel::builder("fan", Join::all().finish_rest())
        .branch(branch, |trail, done: Trail| trail.count = done.count)
        .build()
        .unwrap();
    let (events, _) = watch(Chain::new("main").then(set("b", 1)).then(fan).publishing_state()).await;
    let (main, branch) = ("main".to_owned(), "main/fan/branch".to_owned());
    let expected = [
        (main.clone(), 0.into()),
        (main.clone(), changed(1)),
        (branch.clone(), 1.into()),
        (branch, changed(7)),
        (main, changed(7)),
    ];
    assert_eq!(published(&events), expected);
}

#[tokio::test]
async fn what_a_forgiven_failure_left_is_told() {
    let breaks = || {
        func("breaks", |trail: &mut Trail| {
            trail.count = 5;
            Err(Oops("it".into()))
        })
    };
    for on_error in [OnError::Continue, OnError::Stop] {
        let (events, outcome) =
            watch(Chain::new("main").then_or(breaks(), on_error).publishing_state()).await;
        assert_eq!(outcome.completed().unwrap().count, 5);
        assert_eq!(published(&events), [("main".to_owned(), 0.into()), ("main".to_owned(), changed(5))]);
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Measured {
    ratio: f64,
}

async fn divide(scope: &Scope, measured: &mut Measured) -> Result<(), Error> {
    measured.ratio = f64::NAN;
    scope.publish(measured).await
}

#[tokio::test]
async fn a_state_that_json_cannot_express_is_an_error_not_a_null() {
    let (_, outcome) = watch(task("divide", divide)).await;
    assert!(outcome.error.unwrap().to_string().contains("NaN"));
}

/// Runs a chain with a forgiven failure, and leaves what a tap heard of it.
async fn listen(scope: &Scope, trail: &mut Trail) -> Result<(), Error> {
    let (inner, tap) = scope.composing().tapped("inner");
    let chain = Chain::new("chain").then_or(fails("b"), OnError::Continue);
    inner.run(&chain, &mut Trail::default()).await?;
    let kind = |kind: &EventKind| serde_json::to_value(kind).unwrap()["type"].as_str().unwrap().to_owned();
    trail.steps = tap.take().iter().map(|(path, event)| format!("{path} {}", kind(event))).collect();
    Ok(())
}

#[tokio::test]
async fn whoever_listens_to_a_part_hears_of_skipped_steps_too() {
    let heard = crate::common::run(task("listen", listen)).await.completed().unwrap().steps;
    let expected = [
        "listen/inner/chain step_started",
        "listen/inner/chain/b step_started",
        "listen/inner/chain/b step_ended",
        "listen/inner/chain/b step_skipped",
        "listen/inner/chain step_ended",
    ];
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn what_a_part_of_a_part_does_is_heard_by_both_who_listen() {
    let listens = task_boxed("listen", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let (outer, all) = scope.composing().tapped("outer");
            let (inner, part) = outer.composing().tapped("inner");
            inner.run(&add("a"), &mut Trail::default()).await?;
            outer.run(&add("b"), &mut Trail::default()).await?;
            trail.steps = [all, part].map(|tap| tap.take().len().to_string()).into();
            Ok(())
        })
    });
    assert_eq!(crate::common::run(listens).await.completed().unwrap().steps, ["4", "2"]);
}
