//! Limits on the time of a step count over the life of a run: what was done before it was killed or suspended has taken its time.

use std::time::Duration;

use crate::common::Trail;
use crate::common::stored::{Home, asks, echo, says};
use convoke_core::store::{Batch, NewRun};
use convoke_core::{
    Answer, EffectKind, Entry, Error, Outcome, Phase, RunId, RunStatus, Step, Timestamp, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{Chain, OnError, StepExt};

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// Takes two minutes for whatever it is asked.
fn slow_model() -> ScriptedModel {
    ScriptedModel::builder().otherwise(Reply::text("so").delay(minutes(2))).build()
}

/// A run whose process was killed after so many entries, in which every call of a model had taken that long.
async fn killed_after(
    home: &Home,
    workflow: &Workflow<Trail>,
    first: &RunId,
    kept: usize,
    took: Duration,
) -> RunId {
    let record = home.store().run(first).await.unwrap().unwrap();
    let mut late = Duration::ZERO;
    let mut entries = home.entries(first).await;
    entries.truncate(kept);
    for entry in &mut entries {
        if entry.effect == EffectKind::Model {
            let mut request: serde_json::Value =
                serde_json::from_slice(entry.request.as_deref().unwrap()).unwrap();
            let began: Timestamp = serde_json::from_value(request["began"].take()).unwrap();
            request["began"] = serde_json::to_value(began + late).unwrap();
            entry.request = Some(request.to_string().into());
            late += took;
        }
        entry.at = entry.at + late;
    }
    let past = Batch { entries, ..Batch::default() };
    let copy = NewRun { past, ..workflow.new_run(RunId::mint(), record.input) };
    let lease = home.store().create(copy).await.unwrap();
    home.store().release(&lease);
    lease.run
}

fn in_parts(part: impl Step<Trail> + 'static) -> Workflow<Trail> {
    Workflow::new(Chain::new("main").then(part))
}

fn out_of_time(outcome: &Outcome<Trail>) -> Option<&str> {
    match outcome.error.as_ref().map(Error::root) {
        Some(Error::TimedOut(timed_out)) => Some(timed_out.owner.as_str()),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_killed_has_what_is_left_of_its_time() {
    let home = Home::new(slow_model());
    let workflow = in_parts(Chain::new("part").then(says("a")).then(says("b")).timeout(minutes(10)));
    let first = home.start(&workflow, Trail::default()).await.run;
    for (took, ended) in [(7, None), (9, Some("main/part")), (60, Some("main/part"))] {
        let run = killed_after(&home, &workflow, &first, 1, minutes(took)).await;
        let outcome = home.resume(&workflow, &run).await;
        assert_eq!(out_of_time(&outcome), ended, "after {took} minutes");
        assert_eq!(outcome.state.steps.len(), if ended.is_some() { 1 } else { 2 });
    }
}

#[tokio::test(start_paused = true)]
async fn so_has_a_step_within_a_step_that_is_limited_and_each_of_them_its_own() {
    let home = Home::new(slow_model());
    let inner = Chain::new("inner").then(says("a")).then(says("b")).timeout(minutes(10));
    let workflow = in_parts(Chain::new("outer").then(says("before")).then(inner).timeout(minutes(20)));
    let first = home.start(&workflow, Trail::default()).await.run;
    for (took, ended) in [(5, None), (9, Some("main/outer/inner")), (30, Some("main/outer"))] {
        let run = killed_after(&home, &workflow, &first, 2, minutes(took)).await;
        let outcome = home.resume(&workflow, &run).await;
        assert_eq!(out_of_time(&outcome), ended, "after {took} minutes each");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_a_person_takes_while_the_run_is_suspended_does_not_count() {
    let home = Home::new(slow_model());
    let part = Chain::new("part").then(says("a")).then(asks("well?")).then(says("b")).timeout(minutes(10));
    let workflow = in_parts(part);
    let first = home.start(&workflow, Trail::default()).await.run;
    home.answer(&first, "well?", Answer::text("well")).await;
    assert_eq!(home.resume(&workflow, &first).await.status, RunStatus::Completed);
    let mut entries = home.entries(&first).await;
    let asked = |entry: &Entry| (entry.effect, entry.phase) == (EffectKind::Ask, Phase::Finished);
    let answered = entries.iter().position(asked).expect("somebody was asked");
    entries.truncate(answered + 1);
    entries[answered].at = entries[answered].at + minutes(24 * 60);
    let record = home.store().run(&first).await.unwrap().unwrap();
    let past = Batch { entries, ..Batch::default() };
    let copy = NewRun { past, ..workflow.new_run(RunId::mint(), record.input) };
    let lease = home.store().create(copy).await.unwrap();
    home.store().release(&lease);
    assert_eq!(home.resume(&workflow, &lease.run).await.status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn what_has_happened_stays_as_it_was_however_long_it_took() {
    let home = Home::new(echo());
    let part = Chain::new("part").then(says("a")).then(says("b")).timeout(minutes(10));
    let workflow = Workflow::new(Chain::new("main").then_or(part, OnError::Continue).then(says("after")));
    let first = home.start(&workflow, Trail::default()).await.run;
    let run = killed_after(&home, &workflow, &first, 2, minutes(60)).await;
    let outcome = home.resume(&workflow, &run).await;
    assert_eq!(
        (outcome.status, outcome.state.steps.join(" ")),
        (RunStatus::Completed, "a! b! after!".into())
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_ended_the_run_is_given_anew_to_whoever_goes_on_with_it() {
    let home = Home::new(slow_model());
    let workflow = in_parts(Chain::new("part").then(says("a")).then(says("b")).timeout(minutes(10)));
    let first = home.start(&workflow, Trail::default()).await.run;
    let run = killed_after(&home, &workflow, &first, 1, minutes(9)).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::TimedOut);
    let outcome = home.resume(&workflow, &run).await;
    assert_eq!((outcome.status, outcome.state.steps.len()), (RunStatus::Completed, 2));
}
