//! A limit on the time of a step goes on with a run that continues out of it with another state.

use std::time::Duration;

use crate::common::Trail;
use crate::common::stored::{Home, asks, says};
use convoke_core::{Answer, Error, Outcome, RunStatus, Workflow};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Chain, StepExt, task_boxed};

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// Takes four minutes for whatever it is asked.
fn slow_model() -> ScriptedModel {
    ScriptedModel::builder().otherwise(Reply::text("so").delay(minutes(4))).build()
}

/// A step that continues until the run has had so many generations.
fn continues(generations: u32) -> AsyncFunc<Trail> {
    task_boxed("continues", move |scope, trail: &mut Trail| {
        Box::pin(async move {
            match scope.generation() + 1 < generations {
                true => scope.continue_with(trail),
                false => Ok(()),
            }
        })
    })
}

fn out_of_time(outcome: &Outcome<Trail>) -> Option<&str> {
    match outcome.error.as_ref().map(Error::root) {
        Some(Error::TimedOut(timed_out)) => Some(timed_out.owner.as_str()),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_a_run_continues_out_of_has_what_is_left_of_its_time() {
    let home = Home::new(slow_model());
    let part = |limit| {
        let part = Chain::new("part").then(says("a")).then(continues(3)).timeout(minutes(limit));
        Workflow::new(Chain::new("main").then(part))
    };
    let enough = home.start(&part(13), Trail::default()).await;
    assert_eq!((enough.status, enough.state.steps.len()), (RunStatus::Completed, 3));
    let late = home.start(&part(10), Trail::default()).await;
    assert_eq!((out_of_time(&late), late.state.steps.len()), (Some("main/part"), 2));
    // The limit that ended it is given anew, in the generation that it ended.
    let resumed = home.resume(&part(10), &late.run).await;
    assert_eq!((resumed.status, resumed.state.steps.len()), (RunStatus::Completed, 3));
}

#[tokio::test(start_paused = true)]
async fn steps_that_had_ended_before_have_all_of_it_again() {
    let home = Home::new(slow_model());
    let part = Chain::new("part").then(says("a")).timeout(minutes(5));
    let outcome =
        home.start(&Workflow::new(Chain::new("main").then(part).then(continues(4))), Trail::default()).await;
    assert_eq!((outcome.status, outcome.state.steps.len()), (RunStatus::Completed, 4));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_known_to_whoever_goes_on_in_another_process() {
    let home = Home::new(slow_model());
    let part = Chain::new("part").then(asks("well?")).then(says("a")).then(continues(3)).timeout(minutes(10));
    let workflow = Workflow::new(Chain::new("main").then(part));
    let mut outcome = home.start(&workflow, Trail::default()).await;
    for _ in 0..3 {
        assert_eq!(outcome.status, RunStatus::Suspended);
        home.answer(&outcome.run, "well?", Answer::text("well")).await;
        outcome = home.resume(&workflow, &outcome.run).await;
    }
    assert_eq!((out_of_time(&outcome), outcome.totals.model_calls), (Some("main/part"), 3));
}
