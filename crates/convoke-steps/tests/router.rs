//! One step out of several, chosen by the state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::events::told_of_steps;
use crate::common::{Oops, Trail, add, fails, millis, run, run_on, waits, watch, watch_on};
use convoke_core::{Error, RunStatus, Runtime};
use convoke_steps::{Router, StepExt, StepsError};

fn priority() -> Router<Trail> {
    Router::new("priority").route("high", |trail: &Trail| trail.text == "high", add("page")).route(
        "low",
        |trail: &Trail| trail.text == "low",
        add("queue"),
    )
}

#[tokio::test]
async fn gains_079_the_route_whose_condition_holds_is_taken() {
    for (priority_of, step) in [("high", "page"), ("low", "queue")] {
        let outcome = run_on(&Runtime::new(), priority(), Trail::saying(priority_of)).await;
        assert_eq!(outcome.completed().unwrap().steps, [step]);
    }
}

#[tokio::test]
async fn gains_080_the_first_of_several_wins_and_the_others_are_not_looked_at() {
    let looked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looked);
    let second = move |_: &Trail| {
        counted.fetch_add(1, Ordering::SeqCst);
        true
    };
    let router = Router::new("both").route("one", |_| true, add("one")).route("two", second, add("two"));
    assert_eq!(run(router).await.completed().unwrap().steps, ["one"]);
    assert_eq!(looked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn gains_081_without_a_match_the_default_is_taken() {
    let (events, outcome) = watch(priority().otherwise(add("shelve"))).await;
    assert_eq!(outcome.completed().unwrap().steps, ["shelve"]);
    assert_eq!(told_of_steps(&events)[1], "priority route default");
}

#[tokio::test]
async fn gains_082_without_a_match_and_a_default_it_fails() {
    let outcome = run_on(&Runtime::new(), priority(), Trail::saying("none")).await;
    assert_eq!(outcome.error.unwrap().downcast_ref::<StepsError>(), Some(&StepsError::NoRoute));
    assert_eq!(outcome.state, Trail::saying("none"));
}

#[tokio::test]
async fn gains_083_084_the_router_starts_chooses_runs_the_route_and_ends() {
    let (events, _) = watch(Router::new("router").route("always", |_| true, add("child"))).await;
    let expected = [
        "router started",
        "router route always",
        "router/child started",
        "router/child completed",
        "router completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
}

#[tokio::test]
async fn gains_085_a_routed_step_s_error_is_returned_as_it_is() {
    let error = run(Router::new("router").route("always", |_| true, fails("child"))).await.error.unwrap();
    assert!(matches!(error, Error::Failed(_)));
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("child".into())));
}

#[tokio::test(start_paused = true)]
async fn gains_086_a_timeout_of_the_router_bounds_the_routed_step() {
    let router = Router::new("router").route("always", |_| true, waits("child", 1_000));
    let outcome = run(router.timeout(millis(50))).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert!(matches!(outcome.error, Some(Error::TimedOut(limit)) if limit.owner.as_str() == "router"));
}

#[tokio::test]
async fn gains_086_a_timeout_of_the_router_bounds_the_conditions_too() {
    // The clock is the real one: a condition is a plain function, which no paused clock can slow down.
    let slow = |_: &Trail| {
        std::thread::sleep(millis(20));
        true
    };
    let router = Router::new("router").route("slow", slow, add("child"));
    let outcome = run(router.timeout(millis(5))).await;
    assert!(matches!(&outcome.error, Some(Error::TimedOut(limit)) if limit.owner.as_str() == "router"));
    assert!(outcome.state.steps.is_empty(), "its time was up before the routed step began");
}

#[tokio::test]
async fn a_panic_in_a_condition_fails_the_router() {
    let router = Router::new("router").route("bad", |_: &Trail| panic!("a bug"), add("child"));
    let (events, outcome) = watch_on(&Runtime::new(), router, Trail::default()).await;
    assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == "router"));
    assert_eq!(told_of_steps(&events), ["router started", "router failed"]);
}
