//! Whole runs, and how they end.

use crate::common::events::{end, told};
use crate::common::stored::{Home, echo};
use crate::common::{Oops, Trail, add, blamed, fails, millis, waits};
use convoke_core::{Canceller, Error, Event, EventKind, RunStatus, Runtime, Workflow};
use convoke_steps::{Chain, func};

#[tokio::test]
async fn gains_135_a_completed_run_has_its_name_its_state_and_no_error() {
    let workflow = Workflow::new(Chain::new("main").then(add("a"))).named("report");
    let home = Home::new(echo());
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert!(outcome.error.is_none());
    assert_eq!(outcome.state.steps, ["a"]);
    // The outcome has the run's id; what it is a run of is kept with it, and told at its start.
    let kept = home.store().run(&outcome.run).await.unwrap().unwrap();
    assert_eq!(kept.workflow, "report");
    let (events, _) = home.runtime().start(&workflow, Trail::default()).stream().collect().await;
    let started = EventKind::RunStarted { workflow: "report".into(), resumed: false };
    assert_eq!(events[0].kind, started);
}

#[tokio::test]
async fn gains_136_a_failed_run_has_its_error_and_what_it_did() {
    let workflow = Workflow::new(Chain::new("main").then(add("a")).then(fails("b")));
    let outcome = Runtime::new().start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(outcome.state.steps, ["a", "b"]);
    assert_eq!(blamed(outcome.error.as_ref().unwrap()).0, "b");
    assert_eq!(outcome.completed().unwrap_err().downcast_ref::<Oops>(), Some(&Oops("b".into())));
}

#[tokio::test(start_paused = true)]
async fn gains_137_a_run_that_was_ended_from_outside_says_how() {
    let workflow = Workflow::new(waits("a", 1_000));
    let canceller = Canceller::new();
    let start = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("the user closed the page");
    };
    let (cancelled, ()) = tokio::join!(start.into_future(), cancel);
    let cancelled = cancelled.unwrap();
    assert_eq!(cancelled.status, RunStatus::Cancelled);
    assert_eq!(cancelled.error.unwrap().to_string(), "cancelled: the user closed the page");
    let late = Runtime::new().start(&workflow, Trail::default()).timeout(millis(50)).await.unwrap();
    assert_eq!(late.status, RunStatus::TimedOut);
    assert!(matches!(late.error, Some(Error::TimedOut(limit)) if limit.limit == millis(50)));
}

#[tokio::test]
async fn a_run_that_was_cancelled_before_it_began_does_nothing() {
    let canceller = Canceller::new();
    canceller.cancel("never mind");
    let workflow = Workflow::new(add("a"));
    let start = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller);
    let (events, outcome) = start.stream().collect().await;
    assert_eq!(outcome.unwrap().status, RunStatus::Cancelled);
    assert_eq!(told(&events), ["run started", "run cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_cancels_the_run() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let observer = move |event: &Event| {
        if told(std::slice::from_ref(event)) == ["run cancelled"]
            && let Some(sender) = sender.lock().unwrap().take()
        {
            sender.send(()).unwrap();
        }
    };
    let runtime = Runtime::builder().observer(observer).build();
    let mut stream = runtime.start(&Workflow::new(waits("a", 60_000)), Trail::default()).stream();
    stream.next().await.unwrap();
    drop(stream);
    receiver.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn dropping_one_stream_leaves_other_runs_of_the_same_canceller_alone() {
    let (runtime, workflow, shutdown) = (Runtime::new(), Workflow::new(waits("a", 100)), Canceller::new());
    let mut dropped = runtime.start(&workflow, Trail::default()).canceller(&shutdown).stream();
    let kept = runtime.start(&workflow, Trail::default()).canceller(&shutdown).stream();
    dropped.next().await.unwrap();
    drop(dropped);
    assert!(!shutdown.is_cancelled());
    assert_eq!(kept.outcome().await.unwrap().status, RunStatus::Completed);
}

#[tokio::test]
async fn an_observer_that_panics_does_no_harm() {
    let runtime = Runtime::builder().observer(|_: &Event| panic!("a bug")).build();
    let workflow = Workflow::new(Chain::new("main").then(add("a")));
    let (events, outcome) = runtime.start(&workflow, Trail::default()).stream().collect().await;
    assert_eq!(outcome.unwrap().completed().unwrap().steps, ["a"]);
    assert_eq!(told(&events).len(), 6);
}

#[tokio::test]
async fn the_end_of_a_run_carries_its_final_state() {
    let counts = func("count", |trail: &mut Trail| {
        trail.count = 7;
        Ok::<_, Error>(())
    });
    let (events, outcome) = crate::common::watch(counts).await;
    assert_eq!(end(&events).state, Some(serde_json::to_value(&outcome.state).unwrap()));
    let (events, outcome) = crate::common::watch(fails("b")).await;
    assert_eq!(end(&events).state, Some(serde_json::to_value(&outcome.state).unwrap()), "a failed one too");
}

#[tokio::test]
async fn a_workflow_shows_what_it_is_made_of() {
    let workflow = Workflow::new(Chain::new("main").then(add("a")).then(Chain::new("inner").then(add("b"))));
    let outline = serde_json::to_value(workflow.outline()).unwrap();
    let expected = serde_json::json!({
        "name": "main",
        "kind": "chain",
        "children": [
            {"name": "a", "kind": "func"},
            {"name": "inner", "kind": "chain", "children": [{"name": "b", "kind": "func"}]},
        ],
    });
    assert_eq!(outline, expected);
}
