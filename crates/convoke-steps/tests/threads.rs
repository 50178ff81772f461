//! Branches on several threads at once.

use std::sync::Arc;
use std::sync::mpsc::channel;

use crate::common::events::{end, must_be_well_formed};
use crate::common::stored::{Home, echo, says};
use crate::common::{Oops, Trail, at_once, millis};
use convoke_core::{Error, Event, EventKind, RunStatus, Runtime, Scope, Workflow};
use convoke_steps::{Chain, Func, Join, Map, MappedItem, OnError, Parallel, StepExt, func, task};
use tokio::sync::Notify;

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

fn collect(trail: &mut Trail, mapped: Vec<MappedItem<Trail>>) {
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

/// Told when a step blocks.
static BLOCKED: Notify = Notify::const_new();

/// More events than wait for a reader. A full buffer would keep the other step from beginning, so that one comes first.
async fn talk(scope: &Scope, _: &mut Trail) -> Result<(), Error> {
    BLOCKED.notified().await;
    for number in 0..1_000 {
        let (name, value) = ("said".to_owned(), number.into());
        scope.emit(EventKind::Custom { name, value }).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_events_are_not_lost_when_a_step_blocks_and_the_buffer_is_full() {
    let (end_block, block) = channel::<()>();
    let block = std::sync::Mutex::new(block);
    let blocks = func("blocks", move |_: &mut Trail| {
        // Whom this thread woke would wait for this thread.
        std::thread::spawn(|| BLOCKED.notify_one());
        let _ = block.lock().unwrap().recv();
        Ok::<_, Error>(())
    });
    let fan = Parallel::builder("fan", Join::all().finish_rest())
        .branch(task("talk", talk), |_, _| {})
        .branch(blocks.timeout(millis(100)), |_, _| {})
        .build()
        .unwrap();
    let given_up = Arc::new(Notify::new());
    let observed = Arc::clone(&given_up);
    let runtime = Runtime::builder()
        .observer(move |event: &Event| {
            if matches!(event.kind, EventKind::RunEnded(_)) {
                observed.notify_one();
            }
        })
        .build();
    let stream = runtime.start(&Workflow::new(fan), Trail::default()).stream();
    // Nobody reads until the run is given up.
    given_up.notified().await;
    let (events, outcome) = stream.collect().await;
    must_be_well_formed(&events);
    assert!(events.len() > 256, "the buffer was full");
    assert!(matches!(outcome, Err(Error::Blocked { .. })));
    assert!(end(&events).error.as_ref().is_some_and(|error| error.contains("blocks its thread")));
    drop(end_block);
}
