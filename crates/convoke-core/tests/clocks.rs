//! The clock and randomness: a run that goes on sees what it saw.

use std::time::Duration;

use crate::common::Trail;
use crate::common::stored::{Home, asks, echo};
use convoke_core::store::{Batch, NewRun};
use convoke_core::{Answer, Canceller, EffectKind, Entry, RunId, RunStatus, Timestamp, Workflow};
use convoke_steps::{AsyncFunc, Chain, task_boxed};

const HOUR: Duration = Duration::from_secs(3_600);

fn looks_at_the_clock() -> AsyncFunc<Trail> {
    task_boxed("look", |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.count = scope.now().await?.as_micros().cast_unsigned();
            Ok(())
        })
    })
}

fn draws(name: &str) -> AsyncFunc<Trail> {
    task_boxed(name, |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.steps.extend([scope.random().to_string(), scope.random().to_string()]);
            Ok(())
        })
    })
}

fn sleeps() -> AsyncFunc<Trail> {
    task_boxed("sleep", |scope, _: &mut Trail| Box::pin(async move { scope.sleep(HOUR).await }))
}

#[tokio::test]
async fn what_time_it_was_stays_what_it_was() {
    let workflow = Workflow::new(Chain::new("main").then(looks_at_the_clock()).then(asks("well?")));
    let home = Home::new(echo());
    let before = Timestamp::now().as_micros().cast_unsigned();
    let waiting = home.start(&workflow, Trail::default()).await;
    let after = Timestamp::now().as_micros().cast_unsigned();
    assert!((before..=after).contains(&waiting.state.count));
    tokio::time::sleep(Duration::from_millis(2)).await;
    home.answer(&waiting.run, "well?", Answer::text("well")).await;
    assert_eq!(home.resume(&workflow, &waiting.run).await.state.count, waiting.state.count);
}

#[tokio::test]
async fn every_place_of_every_run_draws_numbers_of_its_own_and_the_same_again() {
    let workflow = Workflow::new(Chain::new("main").then(draws("a")).then(draws("b")).then(asks("well?")));
    let home = Home::new(echo());
    let mut all = Vec::new();
    for _ in 0..12 {
        let waiting = home.start(&workflow, Trail::default()).await;
        home.answer(&waiting.run, "well?", Answer::text("well")).await;
        let again = home.resume(&workflow, &waiting.run).await.completed().unwrap().steps;
        assert_eq!(again[..4], waiting.state.steps);
        all.extend(waiting.state.steps);
    }
    let mut numbers: Vec<u64> = all.iter().map(|number| number.parse().unwrap()).collect();
    // Every part of a number is drawn, not only some bits of it.
    assert!(
        numbers.iter().any(|number| number >> 56 != 0) && numbers.iter().any(|number| number & 0xff != 0)
    );
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 48);
    let bits = |pick: fn(u64, u64) -> u64| numbers.iter().copied().reduce(pick).unwrap();
    assert_eq!(
        (bits(|one, other| one | other), bits(|one, other| one & other)),
        (u64::MAX, 0),
        "no bit is always the same"
    );
}

/// A run that began to wait for an hour this long ago.
async fn asleep_for(home: &Home, workflow: &Workflow<Trail>, ago: Duration) -> RunId {
    let canceller = Canceller::new();
    let start = home.runtime().start(workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        canceller.cancel("enough");
    };
    let run = tokio::join!(start.into_future(), cancel).0.unwrap().run;
    let record = home.store().run(&run).await.unwrap().unwrap();
    let earlier = |entry: Entry| Entry { at: Timestamp::now() - ago, ..entry };
    let entries: Vec<Entry> = home.entries(&run).await.into_iter().map(earlier).collect();
    assert_eq!(entries.iter().map(|entry| entry.effect).collect::<Vec<_>>(), [EffectKind::Sleep]);
    let past = Batch { entries, ..Batch::default() };
    let copy = NewRun { past, ..workflow.new_run(RunId::mint(), record.input) };
    let lease = home.store().create(copy).await.unwrap();
    home.store().release(&lease);
    lease.run
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_for_what_is_left_of_it() {
    let workflow = Workflow::new(Chain::new("main").then(sleeps()));
    let home = Home::new(echo());
    for (ago, left) in [(0, 3_600), (3_000, 600), (3_599, 1), (9_999, 0)] {
        let run = asleep_for(&home, &workflow, Duration::from_secs(ago)).await;
        let begun = tokio::time::Instant::now();
        let patient = home.builder().patience(Duration::MAX).build();
        assert_eq!(patient.resume(&workflow, run).await.unwrap().status, RunStatus::Completed);
        let waited = begun.elapsed();
        let slack = Duration::from_secs(1);
        let left = Duration::from_secs(left);
        assert!(waited <= left + slack && waited + slack >= left, "{ago} s ago: {waited:?}");
    }
}
