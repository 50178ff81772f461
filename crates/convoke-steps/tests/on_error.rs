//! Error handling for one particular step.

use crate::common::events::told_of_steps;
use crate::common::{Oops, Trail, add, blamed, fails, millis, run, slow, waits, watch};
use convoke_core::{Canceller, Error, RunStatus, Runtime, Workflow};
use convoke_steps::{Chain, Loop, OnError, RetryPolicy, StepExt, func};

fn main_chain(on_error: OnError<Trail>) -> Chain<Trail> {
    Chain::new("main").then_or(fails("b"), on_error).then(add("c"))
}

#[tokio::test]
async fn fail_ends_the_parent() {
    let outcome = run(main_chain(OnError::Fail)).await;
    assert_eq!(blamed(&outcome.error.unwrap()).0, "b");
    assert_eq!(outcome.state.steps, ["b"]);
}

#[tokio::test]
async fn continue_goes_on_with_the_next_step() {
    assert_eq!(run(main_chain(OnError::Continue)).await.completed().unwrap().steps, ["b", "c"]);
}

#[tokio::test]
async fn stop_ends_the_parent_well_and_only_the_parent() {
    let chain = Chain::new("outer").then(main_chain(OnError::Stop)).then(add("d"));
    let (events, outcome) = watch(chain).await;
    assert_eq!(outcome.completed().unwrap().steps, ["b", "d"]);
    assert!(told_of_steps(&events).contains(&"outer/main/b skipped".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn retry_tries_again_and_then_fails() {
    let policy = RetryPolicy::attempts(3).unwrap();
    let flaky = |failures: u64| {
        func("flaky", move |trail: &mut Trail| {
            trail.count += 1;
            if trail.count <= failures { Err(Error::transient("busy")) } else { Ok(()) }
        })
    };
    let mended = Chain::new("main").then_or(flaky(2), OnError::Retry(policy.clone())).then(add("c"));
    let state = run(mended).await.completed().unwrap();
    assert_eq!((state.count, state.steps), (3, vec!["c".to_owned()]));
    let lost = Chain::new("main").then_or(flaky(9), OnError::Retry(policy)).then(add("c"));
    let outcome = run(lost).await;
    assert_eq!(blamed(&outcome.error.unwrap()).0, "retry flaky");
    assert_eq!((outcome.state.count, outcome.state.steps.len()), (3, 0));
}

#[tokio::test]
async fn a_fallback_runs_instead() {
    let (events, outcome) = watch(main_chain(OnError::fallback(add("spare")))).await;
    assert_eq!(outcome.completed().unwrap().steps, ["b", "spare", "c"]);
    let expected = [
        "main started",
        "main/b started",
        "main/b failed",
        "main/b skipped",
        "main/spare started",
        "main/spare completed",
        "main/c started",
        "main/c completed",
        "main completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
}

#[tokio::test]
async fn a_fallback_that_fails_too_fails_the_parent() {
    let outcome = run(main_chain(OnError::fallback(fails("spare")))).await;
    let error = outcome.error.unwrap();
    assert_eq!(blamed(&error).0, "spare");
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("spare".into())));
    assert_eq!(error.failed_paths()[0].as_str(), "main/spare");
}

#[tokio::test]
async fn a_fallback_sees_what_the_failed_step_left() {
    let sees = func("spare", |trail: &mut Trail| {
        trail.text = trail.steps.join(",");
        Ok::<_, Error>(())
    });
    assert_eq!(run(main_chain(OnError::fallback(sees))).await.completed().unwrap().text, "b");
}

#[tokio::test]
async fn a_panic_is_a_failure_like_any_other() {
    let panics = func("b", |_: &mut Trail| -> Result<(), Error> { panic!("a bug") });
    let chain = Chain::new("main").then_or(panics, OnError::Continue).then(add("c"));
    assert_eq!(run(chain).await.completed().unwrap().steps, ["c"]);
}

#[tokio::test]
async fn a_loop_s_body_can_have_a_fallback() {
    let looping = Loop::times("loop", 2, fails("body")).on_error(OnError::fallback(add("spare")));
    assert_eq!(run(looping).await.completed().unwrap().steps, ["body", "spare", "body", "spare"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_s_own_timeout_is_a_failure_its_parent_can_cope_with() {
    for on_error in [OnError::Continue, OnError::fallback(add("spare"))] {
        let slow_leaf = slow("b", 1_000).timeout(millis(50));
        let chain = Chain::new("main").then_or(slow_leaf, on_error).then(add("c"));
        assert_eq!(run(chain).await.completed().unwrap().steps.last().unwrap(), "c");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_set_further_out_cannot_be_coped_with_further_in() {
    for on_error in [OnError::Continue, OnError::Stop, OnError::fallback(add("spare"))] {
        let inner = Chain::new("inner").then_or(waits("b", 1_000), on_error).then(add("c"));
        let outcome = run(Chain::new("main").then(inner).timeout(millis(50))).await;
        assert_eq!(outcome.status, RunStatus::TimedOut);
        assert!(outcome.state.steps.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_cannot_be_coped_with() {
    for on_error in [OnError::Continue, OnError::Stop, OnError::fallback(add("spare"))] {
        let canceller = Canceller::new();
        let workflow = Workflow::new(Chain::new("main").then_or(waits("b", 1_000), on_error).then(add("c")));
        let start = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller);
        let cancel = async {
            tokio::time::sleep(millis(10)).await;
            canceller.cancel("enough");
        };
        let (outcome, ()) = tokio::join!(start.into_future(), cancel);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.status, outcome.state), (RunStatus::Cancelled, Trail::default()));
    }
}
