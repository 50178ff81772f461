//! Join rules: what a fan-out needs of its branches, and what becomes of the rest.

use crate::common::events::told;
use crate::common::gauge::Gauge;
use crate::common::{Trail, add, at_once, failed_branches, fails, millis, run, slow, waits, watch};
use convoke_core::{Outcome, RunStatus};
use convoke_steps::{BranchEnd, BranchReport, BuildError, Chain, Join, Parallel, ParallelBuilder, StepExt};

fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

fn note(trail: &mut Trail, report: &BranchReport) -> Result<(), convoke_core::Error> {
    let failed: Vec<&str> = report.failed.iter().map(|(name, _)| name.as_str()).collect();
    let (succeeded, failed, abandoned) =
        (report.succeeded.join(","), failed.join(","), report.abandoned.join(","));
    trail.text = format!("{succeeded}|{failed}|{abandoned}");
    Ok(())
}

/// Fails after 10 ms.
fn fails_early(name: &str) -> Chain<Trail> {
    Chain::new(name).then(slow("wait", 10)).then(fails("fail"))
}

/// Three branches: one succeeds after 20 ms, one fails after 10 ms, one succeeds after 30 ms.
fn mixed(join: Join) -> Parallel<Trail> {
    let builder = Parallel::builder("fan", join)
        .branch(waits("quick", 20), take)
        .branch(fails_early("broken"), take)
        .branch(waits("slow", 30), take);
    builder.finally(note).build().unwrap()
}

async fn report(join: Join) -> Result<String, Vec<String>> {
    let outcome: Outcome<Trail> = run(mixed(join)).await;
    match outcome.error {
        None => Ok(outcome.state.text),
        Some(error) => Err(failed_branches(&error).into_iter().map(str::to_owned).collect()),
    }
}

fn ok(text: &str) -> Result<String, Vec<String>> {
    Ok(text.to_owned())
}

fn broken() -> Result<String, Vec<String>> {
    Err(vec!["broken".to_owned()])
}

#[tokio::test(start_paused = true)]
async fn all_fails_with_the_first_failure_or_after_the_last_branch() {
    assert_eq!(report(Join::all().cancel_rest()).await, broken());
    assert_eq!(report(Join::all().finish_rest()).await, broken());
}

#[tokio::test(start_paused = true)]
async fn any_goes_on_with_the_first_or_with_all_that_succeed() {
    assert_eq!(report(Join::any().cancel_rest()).await, ok("quick|broken|slow"));
    assert_eq!(report(Join::any().finish_rest()).await, ok("quick,slow|broken|"));
}

#[tokio::test(start_paused = true)]
async fn at_least_goes_on_with_so_many() {
    assert_eq!(report(Join::at_least(2).cancel_rest()).await, ok("quick,slow|broken|"));
    assert_eq!(report(Join::at_least(2).finish_rest()).await, ok("quick,slow|broken|"));
    assert_eq!(report(Join::at_least(3).cancel_rest()).await, broken());
    assert_eq!(report(Join::at_least(3).finish_rest()).await, broken());
}

#[tokio::test(start_paused = true)]
async fn keep_succeeded_lets_all_finish() {
    assert_eq!(report(Join::keep_succeeded()).await, ok("quick,slow|broken|"));
}

#[tokio::test(start_paused = true)]
async fn named_waits_for_certain_branches() {
    assert_eq!(report(Join::named(["quick"]).cancel_rest()).await, ok("quick|broken|slow"));
    assert_eq!(report(Join::named(["slow"]).cancel_rest()).await, ok("quick,slow|broken|"));
    assert_eq!(report(Join::named(["quick"]).finish_rest()).await, ok("quick,slow|broken|"));
    assert_eq!(report(Join::named(["quick", "broken"]).cancel_rest()).await, broken());
}

#[tokio::test(start_paused = true)]
async fn a_condition_sees_how_each_branch_stands() {
    let after_a_failure = || Join::when(|progress| progress.failed() == 1 && progress.total() == 3);
    assert_eq!(report(after_a_failure().cancel_rest()).await, ok("|broken|quick,slow"));
    assert_eq!(report(after_a_failure().finish_rest()).await, ok("quick,slow|broken|"));
    let stands = Join::when(|progress| {
        let stands: Vec<_> = progress.iter().collect();
        stands == [("quick", BranchEnd::Succeeded), ("broken", BranchEnd::Failed), ("slow", BranchEnd::Open)]
    });
    assert_eq!(report(stands.cancel_rest()).await, ok("quick|broken|slow"));
    assert_eq!(report(Join::when(|_| false).cancel_rest()).await, broken());
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_takes_as_long_as_its_join_needs() {
    let began = tokio::time::Instant::now();
    run(mixed(Join::all().cancel_rest())).await.completed().unwrap_err();
    assert!(began.elapsed() < millis(15), "on the paused clock");
    let began = tokio::time::Instant::now();
    run(mixed(Join::all().finish_rest())).await.completed().unwrap_err();
    assert!(began.elapsed() >= millis(30), "on the paused clock");
}

#[tokio::test(start_paused = true)]
async fn branches_that_queue_when_the_outcome_is_certain_never_start() {
    let builder = Parallel::builder("fan", Join::any().cancel_rest()).branch(waits("first", 10), take);
    let parallel = builder.branch(add("queued"), take).finally(note).concurrency(at_once(1)).build().unwrap();
    let (events, outcome) = watch(parallel).await;
    assert_eq!(outcome.completed().unwrap().text, "first||queued");
    assert!(!told(&events).iter().any(|told| told.starts_with("fan/queued")));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_branch_begins_when_it_does() {
    // Three leaves of 80 ms each, one at a time, each of which may take 100 ms.
    let gauge = Gauge::default();
    let builder = Parallel::builder("fan", Join::all().finish_rest());
    let builder = (0..3).fold(builder, |builder: ParallelBuilder<Trail>, n| {
        builder.branch(gauge.step(&format!("b{n}"), 80), take)
    });
    let parallel = builder.concurrency(at_once(1)).build().unwrap().leaf_timeout(Some(millis(100)));
    assert_eq!(run(parallel).await.status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_branch_can_have_a_timeout_of_its_own() {
    let branch = Chain::new("bounded").then(waits("long", 1_000)).timeout(millis(50));
    let parallel = Parallel::builder("fan", Join::keep_succeeded()).branch(branch, take).finally(note);
    assert_eq!(run(parallel.build().unwrap()).await.completed().unwrap().text, "|bounded|");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_the_fan_out_is_not_forgiven_by_its_join() {
    let parallel = Parallel::builder("fan", Join::keep_succeeded())
        .branch(add("quick"), take)
        .branch(waits("long", 1_000), take)
        .build()
        .unwrap();
    let outcome = run(parallel.timeout(millis(50))).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert_eq!(outcome.state, Trail::default());
}

#[tokio::test(start_paused = true)]
async fn a_named_branch_that_fails_decides_at_once() {
    let gauge = Gauge::default();
    let parallel = Parallel::builder("fan", Join::named(["broken"]).cancel_rest())
        .branch(fails_early("broken"), take)
        .branch(gauge.step("long", 60_000), take)
        .build()
        .unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(failed_branches(&run(parallel).await.error.unwrap()), ["broken"]);
    assert!(began.elapsed() < millis(100), "on the paused clock");
}

#[tokio::test]
async fn a_condition_that_is_never_met_does_not_blame_branches_that_succeeded() {
    let parallel =
        Parallel::builder("fan", Join::when(|_| false).cancel_rest()).branch(add("a"), take).build();
    let error = run(parallel.unwrap()).await.error.unwrap();
    assert_eq!(
        error.to_string(),
        "not enough branches succeeded, though none failed; check what the join needs"
    );
}

#[test]
fn a_branch_that_is_not_there_cannot_be_needed() {
    let built =
        Parallel::builder("fan", Join::named(["a", "b"]).cancel_rest()).branch(add("a"), take).build();
    assert_eq!(built.err(), Some(BuildError::UnknownName { step: "fan".into(), name: "b".into() }));
}

#[test]
fn more_branches_than_there_are_cannot_be_needed() {
    let built = Parallel::builder("fan", Join::at_least(2).cancel_rest()).branch(add("a"), take).build();
    assert_eq!(built.err(), Some(BuildError::Unreachable { step: "fan".into(), needed: 2, branches: 1 }));
}

#[tokio::test]
async fn a_fan_out_without_branches_does_nothing() {
    let parallel = Parallel::<Trail>::builder("fan", Join::all().cancel_rest()).build().unwrap();
    assert_eq!(run(parallel).await.completed().unwrap(), Trail::default());
}
