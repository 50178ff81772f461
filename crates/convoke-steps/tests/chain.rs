//! One step after another.

use std::time::Duration;

use crate::common::events::{end, told, told_of_steps};
use crate::common::{Oops, Trail, add, blamed, fails, millis, run, slow, waits, watch};
use convoke_core::{BoxFuture, Canceller, Error, RunStatus, Runtime, Scope, Step, Workflow};
use convoke_steps::{AsyncFunc, Chain, Func, OnError, StepExt, func};

#[tokio::test]
async fn gains_033_each_step_sees_what_the_one_before_wrote() {
    let chain = Chain::new("main").then(add("a")).then(func("b", |trail: &mut Trail| {
        let before = trail.steps.join(",");
        trail.steps.push(format!("b after {before}"));
        Ok::<_, Error>(())
    }));
    assert_eq!(run(chain).await.completed().unwrap().steps, ["a", "b after a"]);
}

#[tokio::test]
async fn gains_034_the_first_failure_ends_the_chain() {
    let outcome = run(Chain::new("main").then(add("a")).then(fails("b")).then(add("c"))).await;
    let error = outcome.error.unwrap();
    let (step, source) = blamed(&error);
    assert_eq!(step, "b");
    assert!(matches!(source, Error::Failed(_)));
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("b".into())));
    assert_eq!(error.to_string(), "step `b` failed: oops from b");
    assert_eq!(outcome.state.steps, ["a", "b"]);
}

#[tokio::test]
async fn gains_035_a_chain_is_a_step_with_its_steps_inside() {
    let (events, _) = watch(Chain::new("main").then(add("a")).then(add("b"))).await;
    // A run starts once, not once per chain: the chain itself is a step.
    let expected = [
        "run started",
        "main started",
        "main/a started",
        "main/a completed",
        "main/b started",
        "main/b completed",
        "main completed",
        "run completed",
    ];
    assert_eq!(told(&events), expected);
}

#[tokio::test]
async fn gains_036_an_empty_chain_succeeds() {
    let (events, outcome) = watch(Chain::<Trail>::new("main")).await;
    assert_eq!(told(&events), ["run started", "main started", "main completed", "run completed"]);
    assert_eq!(outcome.completed().unwrap(), Trail::default());
    assert_eq!(run(Chain::<Trail>::new("main")).await.completed().unwrap(), Trail::default());
}

#[tokio::test]
async fn gains_037_chains_nest_on_one_state() {
    let inner = Chain::new("inner").then(add("inner1")).then(add("inner2"));
    let chain = Chain::new("main").then(add("outer1")).then(inner).then(add("outer2"));
    assert_eq!(run(chain).await.completed().unwrap().steps, ["outer1", "inner1", "inner2", "outer2"]);
}

#[tokio::test]
async fn gains_038_nested_failures_name_every_level() {
    let error = run(Chain::new("o").then(Chain::new("i").then(fails("x")))).await.error.unwrap();
    let (outer, inner) = blamed(&error);
    assert_eq!((outer, blamed(inner).0), ("i", "x"));
    assert_eq!(error.to_string(), "step `i` failed: step `x` failed: oops from x");
    assert_eq!(error.failed_paths().len(), 1);
    assert_eq!(error.failed_paths()[0].as_str(), "o/i/x");
}

#[tokio::test]
async fn gains_039_a_cancelled_chain_does_not_begin_its_next_step() {
    let canceller = Canceller::new();
    let inside = canceller.clone();
    let cancels = func("a", move |_: &mut Trail| {
        inside.cancel("enough");
        Ok::<_, Error>(())
    });
    let workflow = Workflow::new(Chain::new("main").then(cancels).then(add("b")));
    let outcome = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    let error = outcome.error.unwrap();
    let (step, source) = blamed(&error);
    assert!(step == "b" && matches!(source, Error::Cancelled(reason) if **reason == *"enough"));
    assert!(outcome.state.steps.is_empty());
}

#[tokio::test(start_paused = true)]
async fn gains_040_the_run_s_deadline_ends_a_slow_step() {
    let workflow = Workflow::new(Chain::new("main").then(waits("a", 1_000)));
    let began = tokio::time::Instant::now();
    let outcome = Runtime::new().start(&workflow, Trail::default()).timeout(millis(50)).await.unwrap();
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert_eq!(blamed(&outcome.error.unwrap()).0, "a");
    assert!(began.elapsed() < millis(60), "on the paused clock");
}

#[tokio::test(start_paused = true)]
async fn gains_041_042_a_chain_s_own_timeout_ends_a_slow_step_and_the_run_says_so() {
    let began = tokio::time::Instant::now();
    let outcome = run(Chain::new("main").then(waits("a", 1_000)).timeout(millis(50))).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert!(
        matches!(outcome.error.unwrap().root(), Error::TimedOut(limit) if limit.owner.as_str() == "main")
    );
    assert!(began.elapsed() < millis(60), "on the paused clock");
}

#[tokio::test(start_paused = true)]
async fn gains_043_each_step_has_the_leaf_timeout_for_itself() {
    let chain = Chain::new("main").then(slow("a", 15)).then(slow("b", 15));
    let outcome = run(chain.leaf_timeout(Some(millis(20)))).await;
    assert_eq!(outcome.completed().unwrap().steps, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn gains_044_the_leaf_timeout_does_not_bound_a_chain_of_leaves() {
    let minute_and_a_half = 90_000;
    let nested = || {
        let inner = Chain::new("inner").then(slow("a", minute_and_a_half)).then(slow("b", minute_and_a_half));
        Chain::new("main").then(inner)
    };
    assert_eq!(run(nested()).await.completed().unwrap().steps, ["a", "b"]);
    // Leaves have no limit unless one is set: with gains' own of two minutes the whole may take longer all the same.
    let bounded = run(nested().leaf_timeout(Some(Duration::from_secs(120)))).await;
    assert_eq!(bounded.completed().unwrap().steps, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_leaf_takes_as_long_as_it_takes_unless_somebody_sets_a_limit() {
    let day = 24 * 60 * 60 * 1_000;
    let leaves = || Chain::new("main").then(slow("a", day)).then(waits("b", day));
    assert_eq!(run(leaves()).await.completed().unwrap().steps, ["a", "b"]);
    let bounded = run(leaves().leaf_timeout(Some(millis(100)))).await;
    assert_eq!(bounded.status, RunStatus::TimedOut);
    let lifted = Chain::new("outer").then(leaves().leaf_timeout(None)).leaf_timeout(Some(millis(100)));
    assert_eq!(run(lifted).await.status, RunStatus::Completed);
}

/// A composite that does not say it is one.
struct Both(Func<Trail>, AsyncFunc<Trail>);

impl Step<Trail> for Both {
    fn name(&self) -> &str {
        "both"
    }

    fn run<'a>(&'a self, scope: &'a Scope, trail: &'a mut Trail) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            scope.run(&self.0, trail).await?;
            scope.run(&self.1, trail).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_composite_that_forgets_to_say_what_it_is_may_take_long_too() {
    let both = Both(add("a"), waits("b", 10 * 60 * 1_000));
    assert_eq!(run(both).await.completed().unwrap().steps, ["a", "b"]);
}

#[tokio::test]
async fn gains_052_a_failure_that_does_no_harm_is_told_as_skipped() {
    let chain = Chain::new("main").then_or(fails("b"), OnError::Continue).then(add("c"));
    let (events, outcome) = watch(chain).await;
    let expected = [
        "main started",
        "main/b started",
        "main/b failed",
        "main/b skipped",
        "main/c started",
        "main/c completed",
        "main completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
    assert_eq!(told(&events).last().unwrap(), "run completed");
    assert_eq!((outcome.status, end(&events).error.as_deref()), (RunStatus::Completed, None));
}

#[tokio::test]
async fn gains_053_a_failed_run_has_one_end_that_names_the_step() {
    let (events, outcome) = watch(Chain::new("main").then(fails("b"))).await;
    let expected =
        ["run started", "main started", "main/b started", "main/b failed", "main failed", "run failed"];
    assert_eq!(told(&events), expected);
    assert_eq!(end(&events).error.as_deref(), Some("step `b` failed: oops from b"));
    let error = outcome.error.unwrap();
    assert_eq!((blamed(&error).0, error.downcast_ref::<Oops>()), ("b", Some(&Oops("b".into()))));
}

#[tokio::test]
async fn two_steps_of_one_name_have_paths_of_their_own() {
    let (events, _) = watch(Chain::new("main").then(add("a")).then(add("a"))).await;
    let told = told_of_steps(&events);
    assert!(told.contains(&"main/a completed".to_owned()) && told.contains(&"main/a#2 completed".to_owned()));
}
