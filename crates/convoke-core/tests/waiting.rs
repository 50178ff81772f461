//! Time limits and waiting for others: those of tools count work, limits somebody sets on steps count everything.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Trail, millis};
use convoke_core::{
    Answer, BoxFuture, Error, EventKind, Invocation, Outcome, PendingQuestion, Question, Responder,
    RunStatus, Runtime, Scope, Step, Tool, ToolEffect, ToolSpec, Toolset, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, OnError, StepExt, ToolStep, task, task_boxed};
use convoke_store::MemoryStore;
use serde_json::{Value, json};

const TEN_MINUTES: Duration = Duration::from_secs(600);

/// A person who thinks for ten minutes.
struct Thinker;

impl Responder for Thinker {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async {
            tokio::time::sleep(TEN_MINUTES).await;
            Some(Answer::text("yes"))
        })
    }
}

/// A leaf that works, asks, and works again.
fn asks_between(before: u64, after: u64) -> AsyncFunc<Trail> {
    task_boxed("leaf", move |scope, trail: &mut Trail| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(before)).await;
            scope.ask(Question::text("well?")).await?;
            tokio::time::sleep(Duration::from_secs(after)).await;
            trail.steps.push("done".to_owned());
            Ok(())
        })
    })
}

async fn with_a_thinker(step: impl Step<Trail> + 'static) -> Outcome<Trail> {
    let runtime = Runtime::builder().responder(Thinker).build();
    runtime.start(&Workflow::new(step), Trail::default()).await.unwrap()
}

fn exceeded(outcome: &Outcome<Trail>) -> Option<Duration> {
    match outcome.error.as_ref()?.root() {
        Error::TimedOut(timed_out) => Some(timed_out.limit),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_s_time_counts_against_every_limit_somebody_set() {
    let limit = Duration::from_secs(300);
    let own = with_a_thinker(asks_between(0, 0).timeout(limit)).await;
    let around = with_a_thinker(Chain::new("main").then(asks_between(0, 0)).timeout(limit)).await;
    let leaf = with_a_thinker(asks_between(0, 0).leaf_timeout(Some(limit))).await;
    for outcome in [own, around, leaf] {
        assert_eq!(exceeded(&outcome), Some(limit));
    }
    let runtime = Runtime::builder().responder(Thinker).build();
    let start = runtime.start(&Workflow::new(asks_between(0, 0)), Trail::default());
    assert_eq!(exceeded(&start.timeout(limit).await.unwrap()), Some(limit));
}

/// A tool that asks a person in the middle of its work.
struct Careful(ToolSpec);

impl Tool for Careful {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            call.scope.child("person").ask(Question::text("well?")).await?;
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok("done".to_owned())
        })
    }
}

async fn careful_call(limit: u64) -> Outcome<Trail> {
    let spec = ToolSpec::new("careful", "", ToolEffect::Reads.into()).timeout(Duration::from_secs(limit));
    let tools = Toolset::new().with(Careful(spec)).unwrap();
    let step = ToolStep::new("call", &tools, "careful", |_: &Trail| Ok::<_, Error>(json!({})));
    with_a_thinker(step.store(|trail: &mut Trail, _, text| trail.text = text)).await
}

#[tokio::test(start_paused = true)]
async fn a_person_s_time_does_not_count_against_a_tool_s_limit() {
    assert_eq!(careful_call(5).await.completed().unwrap().text, "done");
    // What it does before and after counts together.
    assert_eq!(careful_call(3).await.status, RunStatus::Failed);
}

/// More events than wait for a reader.
async fn talk(scope: &Scope, _: &mut Trail) -> Result<(), Error> {
    for number in 0..1_000 {
        let (name, value) = ("said".to_owned(), Value::from(number));
        scope.emit(EventKind::Custom { name, value }).await;
    }
    Ok(())
}

async fn read_late(step: impl Step<Trail> + 'static) -> (Vec<convoke_core::Event>, Outcome<Trail>) {
    let stream = Runtime::new().start(&Workflow::new(step), Trail::default()).stream();
    tokio::time::sleep(TEN_MINUTES).await;
    let (events, outcome) = stream.collect().await;
    crate::common::events::must_be_well_formed(&events);
    (events, outcome.unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing() {
    let (events, outcome) = read_late(task("talk", talk)).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(events.iter().filter(|event| matches!(event.kind, EventKind::Custom { .. })).count(), 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_s_time_counts_against_a_limit_somebody_set() {
    let (_, outcome) = read_late(task("talk", talk).timeout(millis(50))).await;
    assert_eq!(exceeded(&outcome), Some(millis(50)));
}

/// The buffer is full when it tells of the state, and its time is up before there is a place.
async fn tell_too_late(scope: &Scope, trail: &mut Trail) -> Result<(), Error> {
    trail.count += 1;
    let mut silent = Trail::default();
    tokio::join!(talk(scope, &mut silent), scope.publish(trail)).1
}

async fn count_and_tell(scope: &Scope, trail: &mut Trail) -> Result<(), Error> {
    trail.count += 1;
    scope.publish(trail).await
}

#[tokio::test(start_paused = true)]
async fn a_state_that_was_not_told_for_lack_of_time_does_not_count_as_told() {
    let main = Chain::new("main")
        .then_or(task("late", tell_too_late).timeout(millis(50)), OnError::Continue)
        .then(task("in time", count_and_tell));
    let (events, outcome) = read_late(main).await;
    assert_eq!(outcome.completed().unwrap().count, 2);
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::StateSnapshot { state } => Some(state["count"].clone()),
            EventKind::StateDelta { patch } => Some(patch.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told, [json!(2)], "whole, because nothing was told before");
}

/// A state that counts how often it is written.
#[derive(Default, serde::Deserialize)]
struct Counted;

static WRITTEN: AtomicUsize = AtomicUsize::new(0);

impl serde::Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WRITTEN.fetch_add(1, Ordering::Relaxed);
        serializer.serialize_unit_struct("Counted")
    }
}

/// A conversation that waits for the next words is as long as all that was said, and nothing is kept of it then.
#[tokio::test]
async fn a_run_that_waits_does_not_write_its_state_for_nobody() {
    let step = task("ask", async |scope: &Scope, _: &mut Counted| {
        scope.ask(Question::text("well?")).await.map(drop)
    });
    let (workflow, runtime) = (Workflow::new(step), Runtime::builder().store(MemoryStore::new()).build());
    let run = runtime.start(&workflow, Counted).await.unwrap().run;
    let before = WRITTEN.load(Ordering::Relaxed);
    assert_eq!(runtime.resume(&workflow, run).await.unwrap().status, RunStatus::Suspended);
    assert_eq!(WRITTEN.load(Ordering::Relaxed), before);
}
