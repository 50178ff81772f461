//! Branches on several threads at once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::events::must_be_well_formed;
use common::stored::{Home, echo, says};
use common::{Oops, Trail, at_once};
use convoke_core::{RunStatus, Workflow};
use convoke_steps::{Chain, Func, Join, Map, Mapped, OnError, func};

fn items(_: &Trail) -> Vec<Trail> {
    (0..200).map(|count| Trail { count, ..Trail::default() }).collect()
}

/// Fails for every seventh item.
fn picky() -> Func<Trail> {
    func(
        "picky",
        |trail: &mut Trail| {
            if trail.count.is_multiple_of(7) { Err(Oops("the seventh".into())) } else { Ok(()) }
        },
    )
}

fn collect(trail: &mut Trail, mapped: Vec<Mapped<Trail>>) {
    for item in mapped {
        let item = item.result.map_or_else(|error| error.to_string(), |item| item.count.to_string());
        trail.steps.push(item);
    }
}

fn each(name: &str, join: Join) -> Map<Trail, Trail> {
    let body = Chain::new("item")
        .then(says("hello"))
        .then_or(picky(), OnError::Continue)
        .then(says("again"))
        .then(picky());
    Map::new(name, join, items, body, collect)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn events_stay_well_formed_and_a_replay_comes_to_the_same_end() {
    for round in 0..10 {
        let all = each("all", Join::keep_succeeded()).concurrency(at_once(16));
        let race = each("race", Join::at_least(50).cancel_rest());
        let workflow = Workflow::new(Chain::new("main").then(all).then(race));
        let home = Home::new(echo());
        let (events, outcome) = home.runtime().start(&workflow, Trail::default()).stream().collect().await;
        must_be_well_formed(&events);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.status, RunStatus::Completed, "round {round}");
        assert!(outcome.state.steps.len() >= 250, "200 of all, 50 of the race at least");
        let replay = home.runtime().replay(&workflow, &outcome.run).await.unwrap();
        assert!(replay.error.is_none());
        assert_eq!((replay.state, replay.unused), (outcome.state, 0));
    }
}
