//! Branches that fail.

use crate::common::events::{end, skipped, told, told_of_steps};
use crate::common::gauge::Gauge;
use crate::common::{Oops, Trail, add, blamed, failed_branches, fails, millis, run, slow, watch, watch_on};
use convoke_core::{Error, RunStatus, Runtime, Step};
use convoke_steps::{BranchReport, Chain, Join, Parallel, ParallelBuilder, func};

fn all() -> Join {
    Join::all().finish_rest()
}

/// Takes over what a branch's steps left.
fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

fn one_fails(join: Join) -> ParallelBuilder<Trail> {
    Parallel::builder("fan", join).branch(add("step1"), take).branch(fails("step2"), take)
}

fn both_fail() -> Parallel<Trail> {
    // The second fails first.
    let later = Chain::new("x").then(slow("wait", 10)).then(fails("late"));
    Parallel::builder("fan", all()).branch(later, take).branch(fails("w"), take).build().unwrap()
}

/// Writes down what it is told.
fn note(trail: &mut Trail, report: &BranchReport) -> Result<(), Error> {
    let failed: Vec<String> = report.failed.iter().map(|(name, error)| format!("{name}: {error}")).collect();
    trail.text = format!("ok [{}] failed [{}]", report.succeeded.join(","), failed.join(","));
    Ok(())
}

#[tokio::test]
async fn gains_059_a_failed_branch_fails_the_fan_out_and_nothing_is_joined() {
    // What is joined, and the last word, would both be seen in the state.
    let outcome = run(one_fails(all()).finally(note).build().unwrap()).await;
    let error = outcome.error.unwrap();
    assert_eq!(failed_branches(&error), ["step2"]);
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("step2".into())));
    assert_eq!(outcome.state, Trail::default());
}

#[tokio::test]
async fn gains_060_what_succeeded_is_kept_and_the_failures_are_known() {
    let parallel = one_fails(Join::keep_succeeded()).finally(note).build().unwrap();
    let state = run(parallel).await.completed().unwrap();
    assert_eq!(state.steps, ["step1"]);
    assert_eq!(state.text, "ok [step1] failed [step2: oops from step2]");
}

#[tokio::test]
async fn gains_061_keeping_what_succeeded_may_be_keeping_nothing() {
    let parallel = Parallel::builder("fan", Join::keep_succeeded())
        .branch(fails("a"), take)
        .branch(fails("b"), take)
        .finally(note)
        .build()
        .unwrap();
    let state = run(parallel).await.completed().unwrap();
    assert_eq!(state.text, "ok [] failed [a: oops from a,b: oops from b]");
    assert!(state.steps.is_empty());
}

#[tokio::test]
async fn gains_065_an_error_of_the_last_word_fails_the_fan_out() {
    let parallel = Parallel::builder("fan", all())
        .branch(add("a"), take)
        .finally(|_, _| Err(Oops("the end".into())))
        .build()
        .unwrap();
    let error = run(parallel).await.error.unwrap();
    assert!(matches!(error, Error::Failed(_)));
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("the end".into())));
}

#[tokio::test(start_paused = true)]
async fn gains_066_the_error_counts_and_names_the_branches_in_declared_order() {
    let one = run(one_fails(all()).build().unwrap()).await.error.unwrap();
    assert_eq!(one.to_string(), "branch `step2` failed: oops from step2");
    let two = run(both_fail()).await.error.unwrap();
    assert_eq!(two.to_string(), "2 errors in branches x, w; the first: step `late` failed: oops from late");
}

#[tokio::test(start_paused = true)]
async fn gains_067_the_first_declared_branch_s_error_is_the_cause() {
    let error = run(both_fail()).await.error.unwrap();
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("late".into())));
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "step `late` failed: oops from late");
}

#[tokio::test]
async fn gains_069_a_forgiven_branch_is_told_as_skipped() {
    let (events, outcome) = watch(one_fails(Join::keep_succeeded()).build().unwrap()).await;
    assert_eq!(skipped(&events), [("fan/step2", "oops from step2")]);
    assert_eq!(told(&events)[told(&events).len() - 2..], ["fan completed", "run completed"]);
    assert_eq!((outcome.status, end(&events).error.as_deref()), (RunStatus::Completed, None));
}

#[tokio::test]
async fn gains_070_a_failed_fan_out_ends_the_run_once() {
    let (events, outcome) = watch(one_fails(all()).build().unwrap()).await;
    assert_eq!(told(&events)[6..], ["fan failed", "run failed"]);
    assert_eq!(end(&events).error.as_deref(), Some("branch `step2` failed: oops from step2"));
    assert_eq!(failed_branches(&outcome.error.unwrap()), ["step2"]);
    assert!(skipped(&events).is_empty() && !told(&events).contains(&"fan completed".to_owned()));
}

#[tokio::test]
async fn gains_071_a_branch_that_fails_at_its_second_step_counts_as_failed_only() {
    let branch = Chain::new("branch").then(add("a")).then(fails("b"));
    let parallel =
        Parallel::builder("fan", Join::keep_succeeded()).branch(branch, take).finally(note).build();
    let (_, outcome) = watch(parallel.unwrap()).await;
    let state = outcome.completed().unwrap();
    assert_eq!(state.text, "ok [] failed [branch: step `b` failed: oops from b]");
    assert!(state.steps.is_empty());
}

#[tokio::test]
async fn gains_072_a_branch_that_is_an_empty_chain_succeeds() {
    let empty = Chain::<Trail>::new("empty");
    let parallel = Parallel::builder("fan", all()).branch(empty, take).finally(note).build().unwrap();
    let (_, outcome) = watch(parallel).await;
    assert_eq!(outcome.completed().unwrap().text, "ok [empty] failed []");
}

#[tokio::test(start_paused = true)]
async fn gains_076_with_cancel_rest_a_failure_ends_the_others_and_waits_for_them() {
    let gauge = Gauge::default();
    let fails_soon = Chain::new("soon").then(slow("wait", 10)).then(fails("fail"));
    let parallel = Parallel::builder("fan", Join::all().cancel_rest())
        .branch(gauge.step("long", 60_000), take)
        .branch(fails_soon, take)
        .build()
        .unwrap();
    let began = tokio::time::Instant::now();
    let (events, outcome) = watch(parallel).await;
    assert_eq!(failed_branches(&outcome.error.unwrap()), ["soon"]);
    assert_eq!(gauge.now(), 0, "it was waited for");
    assert!(began.elapsed() < millis(100), "on the paused clock");
    assert!(told(&events).contains(&"fan/long interrupted".to_owned()));
}

#[tokio::test]
async fn a_chain_says_which_fan_out_failed() {
    let error = run(Chain::new("main").then(one_fails(all()).build().unwrap())).await.error.unwrap();
    let (step, source) = blamed(&error);
    assert_eq!((step, failed_branches(source)), ("fan", vec!["step2"]));
    assert_eq!(error.failed_paths()[0].as_str(), "main/fan/step2");
}

#[tokio::test]
async fn a_panic_in_a_branch_fails_that_branch_only() {
    let panics = func("b", |_: &mut Trail| -> Result<(), Error> { panic!("a bug") });
    let parallel = Parallel::builder("fan", Join::keep_succeeded())
        .branch(add("a"), take)
        .branch(panics, take)
        .build()
        .unwrap();
    assert_eq!(run(parallel).await.completed().unwrap().steps, ["a"]);
}

/// Fails with a panic of this step, and tells of it.
async fn must_panic_at(path: &str, step: impl Step<Trail> + 'static) {
    let (events, outcome) = watch_on(&Runtime::new(), step, Trail::default()).await;
    assert!(matches!(outcome.error, Some(Error::Panicked { path: at, .. }) if at.as_str() == path));
    assert_eq!(told_of_steps(&events).last().unwrap(), &format!("{path} failed"));
}

#[tokio::test]
async fn a_panic_in_a_function_of_the_fan_out_fails_the_fan_out() {
    let fork = Parallel::builder("fork", all()).project(
        func("a", |_: &mut u64| Ok::<_, Error>(())),
        |_: &Trail| -> u64 { panic!("a bug") },
        |_, _| {},
    );
    must_panic_at("fork", fork.build().unwrap()).await;
    let join = Parallel::builder("join", all()).branch(add("a"), |_, _| panic!("a bug"));
    must_panic_at("join", join.build().unwrap()).await;
    let finally = Parallel::builder("finally", all())
        .branch(add("a"), take)
        .finally(|_, _| -> Result<(), Error> { panic!("a bug") });
    must_panic_at("finally", finally.build().unwrap()).await;
    let condition = Join::when(|_| panic!("a bug"));
    let when =
        Parallel::builder("when", condition.cancel_rest()).branch(add("a"), take).branch(slow("b", 9), take);
    must_panic_at("when", when.build().unwrap()).await;
}
