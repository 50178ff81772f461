//! A step again if it failed for a reason that may pass.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::events::{told, told_of_steps};
use common::{Oops, Trail, add, fails, millis, run, run_on, watch, watch_on, with_model};
use convoke_core::{
    Canceller, Categorised, Category, Error, EventKind, InvalidRetry, ModelError, RetryPolicy, RunStatus,
    Runtime, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{Chain, Func, Retry, StepExt, func, prompt, task_boxed};

/// So many attempts, 10 ms after the first failure and twice as long each time.
fn attempts(attempts: u32) -> RetryPolicy {
    RetryPolicy::attempts(attempts).unwrap().initial(millis(10)).jitter(0.0)
}

fn overloaded() -> Error {
    Error::from(ModelError::of_status(500, "overloaded"))
}

/// Counts its attempts, and fails like this the first so many times.
fn flaky(failures: u64, error: fn() -> Error) -> Func<Trail> {
    func("flaky", move |trail: &mut Trail| {
        trail.count += 1;
        if trail.count <= failures { Err(error()) } else { Ok(()) }
    })
}

#[tokio::test]
async fn gains_117_what_succeeds_at_once_is_tried_once() {
    assert_eq!(run(Retry::new(flaky(0, overloaded), attempts(5))).await.completed().unwrap().count, 1);
}

#[tokio::test(start_paused = true)]
async fn gains_118_what_may_pass_is_tried_until_it_has_passed() {
    assert_eq!(run(Retry::new(flaky(2, overloaded), attempts(5))).await.completed().unwrap().count, 3);
}

#[tokio::test]
async fn gains_119_an_error_of_unknown_kind_is_not_tried_again() {
    let outcome = run(Retry::new(flaky(9, || Error::failed(Oops("it".into()))), attempts(5))).await;
    assert_eq!(outcome.error.unwrap().downcast_ref::<Oops>(), Some(&Oops("it".into())));
    assert_eq!(outcome.state.count, 1);
}

#[tokio::test(start_paused = true)]
async fn gains_120_the_last_error_is_the_step_s() {
    let numbered = func("flaky", |trail: &mut Trail| {
        trail.count += 1;
        Err(Error::transient(Oops(format!("attempt {}", trail.count))))
    });
    let outcome = run(Retry::new(numbered, attempts(3))).await;
    assert_eq!(outcome.error.unwrap().downcast_ref::<Oops>(), Some(&Oops("attempt 3".into())));
    assert_eq!(outcome.state.count, 3);
}

#[tokio::test(start_paused = true)]
async fn gains_121_cancelling_ends_the_wait() {
    let canceller = Canceller::new();
    let policy = attempts(5).initial(Duration::from_secs(60));
    let workflow = Workflow::new(Retry::new(flaky(9, overloaded), policy));
    let start = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    let (outcome, ()) = tokio::join!(start.into_future(), cancel);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, outcome.state.count), (RunStatus::Cancelled, 1));
    assert!(matches!(outcome.error, Some(Error::Cancelled(_))));
}

#[tokio::test(start_paused = true)]
async fn gains_122_125_attempts_are_told_with_what_happens_in_them() {
    let (events, _) = watch(Retry::new(flaky(1, overloaded), attempts(5)).named("retry")).await;
    let expected = [
        "retry started",
        "retry attempt 1",
        "retry/flaky started",
        "retry/flaky failed",
        "retry attempt 1 failed",
        "retry again 10ms after attempt 1",
        "retry attempt 2",
        "retry/flaky#2 started",
        "retry/flaky#2 completed",
        "retry attempt 2 succeeded",
        "retry completed",
    ];
    // The path tells which attempt an event belongs to.
    assert_eq!(told_of_steps(&events), expected);
}

#[tokio::test(start_paused = true)]
async fn gains_123_giving_up_is_told() {
    let (events, outcome) = watch(Retry::new(flaky(9, overloaded), attempts(2)).named("retry")).await;
    let expected = ["retry attempt 2 failed", "retry gave up after 2", "retry failed", "run failed"];
    assert_eq!(told(&events)[10..], expected);
    assert_eq!(outcome.status, RunStatus::Failed);
}

#[tokio::test]
async fn gains_124_a_failure_that_will_not_pass_is_told_as_such() {
    let (events, _) = watch(Retry::new(fails("broken"), attempts(2)).named("retry")).await;
    let expected = [
        "retry started",
        "retry attempt 1",
        "retry/broken started",
        "retry/broken failed",
        "retry attempt 1 failed for good",
        "retry failed",
    ];
    assert_eq!(told_of_steps(&events), expected);
}

#[test]
fn gains_126_waits_double_up_to_the_maximum() {
    let policy = RetryPolicy::attempts(20).unwrap().initial(millis(100)).jitter(0.0);
    let waits: Vec<Duration> = (0..5).map(|failed| policy.delay(failed, 0.5)).collect();
    assert_eq!(waits, [100, 200, 400, 800, 1_600].map(millis));
    assert_eq!(policy.clone().maximum(Duration::from_secs(5)).delay(10, 0.5), Duration::from_secs(5));
    // A failure before the first cannot be asked for: the number has no sign.
    assert_eq!(policy.maximum(Duration::from_secs(5)).delay(u32::MAX, 0.5), Duration::from_secs(5));
}

#[test]
fn gains_127_jitter_stays_within_its_fraction() {
    let policy = RetryPolicy::default();
    for chance in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let wait = policy.delay(0, chance);
        assert!((millis(900)..=millis(1_100)).contains(&wait), "{wait:?}");
    }
    assert_eq!((policy.delay(0, 0.0), policy.delay(0, 1.0)), (millis(900), millis(1_100)));
}

#[tokio::test(start_paused = true)]
async fn gains_128_the_longer_of_both_waits_counts() {
    for (asked, planned) in [(50, 10), (10, 50)] {
        let policy = RetryPolicy::attempts(2).unwrap().initial(millis(planned)).jitter(0.0);
        let error = move || Categorised::new(Category::Transient, "busy").with_retry_after(millis(asked));
        let busy = func("busy", move |trail: &mut Trail| {
            trail.count += 1;
            if trail.count == 1 { Err(Error::failed(error())) } else { Ok(()) }
        });
        let (events, _) = watch(Retry::new(busy, policy)).await;
        let scheduled = events.iter().find_map(|event| match event.kind {
            EventKind::RetryScheduled { delay, .. } => Some(delay),
            _ => None,
        });
        assert_eq!(scheduled, Some(millis(50)));
    }
}

#[test]
fn gains_129_some_statuses_may_pass() {
    for status in [429, 500, 502, 503, 504] {
        assert_eq!(Category::of_status(status), Category::Transient, "{status}");
        assert_eq!(
            Error::from(ModelError::of_status(status, "")).category(),
            Category::Transient,
            "{status}"
        );
    }
    for status in [200, 400, 401, 403, 404] {
        assert_ne!(Category::of_status(status), Category::Transient, "{status}");
    }
}

#[test]
fn gains_130_what_somebody_said_about_an_error_decides() {
    let stated = Error::permanent(ModelError::of_status(429, "for ever"));
    assert_eq!(stated.category(), Category::Permanent);
    let path = convoke_core::Path::from("main/a");
    let wrapped = Error::transient("busy").in_step("a", &path).in_step("b", &path);
    assert_eq!(wrapped.category(), Category::Transient);
}

#[test]
fn gains_131_words_decide_about_errors_nobody_categorised() {
    let passes = |text: &str| Error::failed(text).category() == Category::Transient;
    for text in ["connection reset by peer", "rate limit exceeded", "502 bad gateway", "googleapi: Error 503"]
    {
        assert!(passes(text), "{text}");
    }
    for text in ["invalid input", "googleapi: Error 400"] {
        assert!(!passes(text), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn gains_132_an_own_deadline_or_cancellation_is_never_tried_again() {
    let tries = Arc::new(AtomicU64::new(0));
    let hangs = || {
        let tries = Arc::clone(&tries);
        task_boxed("hangs", move |scope, _: &mut Trail| {
            tries.fetch_add(1, Ordering::SeqCst);
            Box::pin(scope.sleep(Duration::from_secs(9)))
        })
    };
    let leaf = run(Retry::new(hangs(), attempts(5)).leaf_timeout(Some(millis(50)))).await;
    assert_eq!((leaf.status, tries.swap(0, Ordering::SeqCst)), (RunStatus::TimedOut, 1));
    let outer = run(Chain::new("main").then(Retry::new(hangs(), attempts(5))).timeout(millis(50))).await;
    assert_eq!((outer.status, tries.swap(0, Ordering::SeqCst)), (RunStatus::TimedOut, 1));
    let canceller = Canceller::new();
    let workflow = Workflow::new(Retry::new(hangs(), attempts(5)));
    let start = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    let (cancelled, ()) = tokio::join!(start.into_future(), cancel);
    assert_eq!((cancelled.unwrap().status, tries.load(Ordering::SeqCst)), (RunStatus::Cancelled, 1));
}

#[test]
fn gains_133_no_attempt_at_all_is_refused() {
    assert_eq!(RetryPolicy::attempts(0), Err(InvalidRetry));
}

#[tokio::test(start_paused = true)]
async fn gains_134_a_failed_attempt_can_be_undone() {
    let tries = Arc::new(AtomicU64::new(0));
    let messy = || {
        let tries = Arc::clone(&tries);
        func("messy", move |trail: &mut Trail| {
            trail.steps.push("half".into());
            if tries.fetch_add(1, Ordering::SeqCst) == 0 { Err(overloaded()) } else { Ok(()) }
        })
    };
    let kept = run(Retry::new(messy(), attempts(2))).await.completed().unwrap();
    assert_eq!(kept.steps, ["half", "half"]);
    tries.store(0, Ordering::SeqCst);
    let undone = run(Retry::new(messy(), attempts(2)).with_rollback()).await.completed().unwrap();
    assert_eq!(undone.steps, ["half"]);
    let lost = run(Retry::new(flaky(9, overloaded), attempts(2)).with_rollback()).await;
    assert_eq!((lost.status, lost.state.count), (RunStatus::Failed, 0), "after the last attempt too");
}

#[tokio::test(start_paused = true)]
async fn a_failed_model_call_is_made_again() {
    let model = ScriptedModel::replies([
        Reply::error(ModelError::of_status(429, "slow down")),
        Reply::text("one two").cut_after(1),
        Reply::text("Hello"),
    ]);
    let step = prompt("greet", |_: &Trail| "Greet me").text(|trail| &mut trail.text);
    let outcome = run_on(&with_model(&model), Retry::new(step, attempts(5)), Trail::default()).await;
    assert_eq!(outcome.completed().unwrap().text, "Hello");
    assert_eq!(model.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_default_policy_gives_up_after_ten_attempts() {
    let retry = Retry::new(flaky(99, overloaded), RetryPolicy::default());
    assert_eq!(run(retry).await.state.count, 10);
}

#[tokio::test]
async fn a_whole_chain_can_be_tried_again() {
    let tries = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&tries);
    let second =
        func(
            "second",
            move |_: &mut Trail| {
                if seen.fetch_add(1, Ordering::SeqCst) == 0 { Err(overloaded()) } else { Ok(()) }
            },
        );
    let chain = Chain::new("both").then(add("first")).then(second);
    let policy = attempts(3).initial(Duration::ZERO);
    let (_, outcome) = watch_on(&Runtime::new(), Retry::new(chain, policy), Trail::default()).await;
    assert_eq!(outcome.completed().unwrap().steps, ["first", "first"]);
}
