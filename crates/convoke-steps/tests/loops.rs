//! Loops: a step again and again.

use std::sync::{Arc, Mutex};

use crate::common::events::{end, told, told_of_steps};
use crate::common::stored::Home;
use crate::common::{Oops, Trail, add, blamed, count, millis, run, run_on, waits, watch};
use convoke_core::{
    Canceller, Error, ModelError, ModelRequest, Outcome, Recovery, RunStatus, Runtime, StepFailure,
    Visibility, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{Chain, Func, Loop, OnError, StepExt, StepsError, func, task_boxed};

fn until(times: u64) -> Loop<Trail> {
    Loop::until("loop", count("body"), move |trail: &Trail| trail.count >= times)
}

fn is_exhausted(error: &Error, limit: u64) -> bool {
    error.downcast_ref() == Some(&StepsError::MaxIterations { limit })
}

#[tokio::test]
async fn gains_100_until_goes_round_until_it_is_done() {
    assert_eq!(run(until(3)).await.completed().unwrap().count, 3);
}

#[tokio::test]
async fn gains_101_a_loop_that_is_never_done_fails_and_keeps_what_it_did() {
    let outcome = run(until(99).max_iterations(5)).await;
    assert!(is_exhausted(&outcome.error.unwrap(), 5));
    assert_eq!(outcome.state.count, 5);
}

#[tokio::test]
async fn gains_102_ten_rounds_are_the_most_unless_said_otherwise() {
    let outcome = run(until(99)).await;
    assert!(is_exhausted(&outcome.error.unwrap(), 10));
    assert_eq!(outcome.state.count, 10);
}

#[tokio::test]
async fn gains_103_while_goes_round_as_long_as_it_holds() {
    let again = Loop::while_true("loop", count("body"), |trail: &Trail| trail.count < 3);
    assert_eq!(run(again).await.completed().unwrap().count, 3);
}

#[tokio::test]
async fn gains_104_while_goes_round_once_at_least() {
    let never = Loop::while_true("loop", count("body"), |_: &Trail| false);
    assert_eq!(run(never).await.completed().unwrap().count, 1);
}

#[tokio::test]
async fn gains_105_times_goes_round_that_often() {
    assert_eq!(run(Loop::times("loop", 5, count("body"))).await.completed().unwrap().count, 5);
    assert_eq!(run(Loop::times("loop", 1, count("body"))).await.completed().unwrap().count, 1);
    let many = Loop::times("loop", 25, count("body"));
    assert_eq!(run(many).await.completed().unwrap().count, 25, "the default maximum is not for these");
}

#[tokio::test]
async fn gains_106_zero_times_does_nothing() {
    let (events, outcome) = watch(Loop::times("loop", 0, count("body"))).await;
    assert_eq!(outcome.completed().unwrap().count, 0);
    assert_eq!(told_of_steps(&events), ["loop started", "loop completed"]);
}

#[tokio::test]
async fn gains_107_the_condition_is_told_the_round_after_each() {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&rounds);
    let looping = Loop::until_with("loop", count("body"), move |trail: &Trail, round| {
        seen.lock().unwrap().push((round, trail.count));
        round == 3
    });
    run(looping).await.completed().unwrap();
    assert_eq!(*rounds.lock().unwrap(), [(1, 1), (2, 2), (3, 3)]);
}

#[tokio::test]
async fn gains_108_115_a_cancelled_loop_does_not_begin_its_next_round() {
    let canceller = Canceller::new();
    let inside = canceller.clone();
    let looping = Loop::until_with("loop", count("body"), move |_: &Trail, round| {
        if round == 2 {
            inside.cancel("enough");
        }
        false
    });
    let workflow = Workflow::new(Chain::new("main").then(looping));
    let start = Runtime::new().start(&workflow, Trail::default()).canceller(&canceller);
    let (events, outcome) = start.stream().collect().await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, outcome.state.count), (RunStatus::Cancelled, 2));
    // A loop says which step it was at, its body; that it was the loop, its parent says.
    let error = outcome.error.unwrap();
    let (looped, within) = blamed(&error);
    let (step, source) = blamed(within);
    assert_eq!((looped, step), ("loop", "body"));
    assert!(matches!(source, Error::Cancelled(reason) if **reason == *"enough"));
    let rounds: Vec<String> = told(&events).into_iter().filter(|told| told.contains("round")).collect();
    assert_eq!(rounds, ["main/loop round 1", "main/loop round 2"]);
}

/// Counts, and fails in the second round.
fn fails_at_two() -> Func<Trail> {
    func("body", |trail: &mut Trail| {
        trail.count += 1;
        if trail.count == 2 { Err(Oops("round 2".into())) } else { Ok(()) }
    })
}

#[tokio::test]
async fn gains_109_a_failed_body_ends_the_loop() {
    let outcome = run(Chain::new("main").then(Loop::times("loop", 5, fails_at_two()))).await;
    let error = outcome.error.unwrap();
    // gains' loop names itself, which here its parent does.
    let (looped, within) = blamed(&error);
    assert_eq!((looped, blamed(within).0), ("loop", "body"));
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("round 2".into())));
    assert_eq!(outcome.state.count, 2);
}

#[tokio::test]
async fn gains_110_a_policy_is_told_the_body_s_name() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let runtime = Runtime::builder().on_failure(move |failure: &StepFailure<'_>| {
        seen.lock().unwrap().push(failure.step.to_owned());
        Recovery::Fail
    });
    let workflow = Workflow::new(Loop::times("loop", 5, fails_at_two()));
    runtime.build().start(&workflow, Trail::default()).await.unwrap().completed().unwrap_err();
    assert_eq!(*asked.lock().unwrap(), ["body"]);
}

#[tokio::test]
async fn gains_111_a_forgiven_round_counts_and_the_condition_is_not_looked_at() {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&rounds);
    let looping = Loop::until_with("loop", fails_at_two(), move |_: &Trail, round| {
        seen.lock().unwrap().push(round);
        round == 3
    });
    let state = run(looping.on_error(OnError::Continue)).await.completed().unwrap();
    assert_eq!(*rounds.lock().unwrap(), [1, 3]);
    assert_eq!(state.count, 3);
    let failing = Loop::times("loop", 2, fails_at_two()).on_error(OnError::Continue);
    assert_eq!(run(failing).await.completed().unwrap().count, 2, "the last round may fail too");
}

/// Runs a loop whose body fails in the second round, where a policy decides about that. The rounds after which the
/// condition was looked at, and the outcome.
async fn looked_at(decision: Recovery) -> (Vec<u64>, Outcome<Trail>) {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&rounds);
    let looping = Loop::until_with("loop", fails_at_two(), move |_: &Trail, round| {
        seen.lock().unwrap().push(round);
        round == 3
    });
    let runtime = Runtime::builder().on_failure(move |_: &StepFailure<'_>| decision.clone()).build();
    let outcome = run_on(&runtime, looping, Trail::default()).await;
    let rounds = rounds.lock().unwrap().clone();
    (rounds, outcome)
}

#[tokio::test]
async fn gains_111_112_a_policy_that_forgives_a_round_goes_on_or_ends_the_loop_well() {
    let (rounds, outcome) = looked_at(Recovery::Continue).await;
    assert_eq!((rounds, outcome.completed().unwrap().count), (vec![1, 3], 3));
    let (rounds, outcome) = looked_at(Recovery::Stop).await;
    assert_eq!((rounds, outcome.completed().unwrap().count), (vec![1], 2));
}

#[tokio::test]
async fn gains_112_a_failure_that_stops_ends_the_loop_well() {
    let looping = Loop::times("loop", 5, fails_at_two()).on_error(OnError::Stop);
    assert_eq!(run(looping).await.completed().unwrap().count, 2);
}

#[tokio::test]
async fn gains_113_each_round_is_told_before_its_body() {
    let (events, _) = watch(Loop::times("loop", 2, add("body"))).await;
    let expected = [
        "run started",
        "loop started",
        "loop round 1",
        "loop/body started",
        "loop/body completed",
        "loop round 2",
        "loop/body#2 started",
        "loop/body#2 completed",
        "loop completed",
        "run completed",
    ];
    assert_eq!(told(&events), expected);
}

#[tokio::test]
async fn gains_114_a_loop_that_is_never_done_ends_the_run_with_that() {
    let (events, outcome) = watch(until(9).max_iterations(1)).await;
    assert_eq!(told(&events)[told(&events).len() - 2..], ["loop failed", "run failed"]);
    assert!(end(&events).error.as_deref().unwrap().starts_with("maximum loop iterations exceeded"));
    assert!(is_exhausted(&outcome.error.unwrap(), 1));
}

#[tokio::test]
async fn gains_116_a_chain_says_which_loop_was_never_done() {
    let error = run(Chain::new("c").then(until(9).max_iterations(2))).await.error.unwrap();
    let (step, source) = blamed(&error);
    assert_eq!(step, "loop");
    assert!(is_exhausted(source, 2));
}

#[tokio::test(start_paused = true)]
async fn a_loop_can_have_a_timeout_as_a_whole() {
    let looping = Loop::times("loop", 100, waits("body", 20)).timeout(millis(50));
    let outcome = run(looping).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert_eq!(outcome.state.steps.len(), 2);
}

#[tokio::test]
async fn a_panic_in_the_condition_fails_the_loop() {
    let looping = Loop::until("loop", count("body"), |_: &Trail| panic!("a bug"));
    let outcome = run(looping).await;
    assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == "loop"));
    assert_eq!(outcome.state.count, 1);
}

#[tokio::test]
async fn a_maximum_below_the_times_is_an_error() {
    let outcome = run(Loop::times("loop", 5, count("body")).max_iterations(3)).await;
    assert!(is_exhausted(&outcome.error.unwrap(), 3));
    let none = run(until(1).max_iterations(0)).await;
    assert!(is_exhausted(&none.error.unwrap(), 0));
    assert_eq!(none.state.count, 0);
}

/// A loop of three rounds that goes on whatever becomes of them, and is done when a model says so; its calls fail where they are told
/// to. Asked of it: what it has heard.
fn listening() -> Loop<Trail> {
    let listen = task_boxed("listen", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let (model, request) = (scope.default_model()?, ModelRequest::new(format!("{:?}?", trail.steps)));
            trail.steps.push(scope.model(&model, request, Visibility::Hidden).await?.text());
            Ok(())
        })
    });
    let is_done = |trail: &Trail| trail.steps.iter().any(|said| said == "done");
    Loop::until("loop", listen, is_done).max_iterations(3).on_error(OnError::Continue)
}

async fn resumed(replies: [Option<&str>; 4]) -> (ScriptedModel, [Outcome<Trail>; 2]) {
    let replies = replies.map(|reply| match reply {
        Some(text) => Reply::text(text),
        None => Reply::error(ModelError::of_status(400, "no")),
    });
    let home = Home::new(ScriptedModel::builder().when(Match::any(), replies).build());
    let workflow = Workflow::new(Chain::new("main").then(listening()));
    let failed = home.start(&workflow, Trail::default()).await;
    assert!(is_exhausted(failed.error.as_ref().unwrap(), 3));
    let resumed = home.resume(&workflow, &failed.run).await;
    (home.model, [failed, resumed])
}

#[tokio::test]
async fn a_loop_out_of_rounds_that_coped_with_a_failure_does_not_perform_it_anew_when_its_run_is_resumed() {
    let (model, [failed, resumed]) = resumed([None, Some("a"), Some("b"), Some("done")]).await;
    assert!(is_exhausted(&resumed.error.unwrap(), 3), "it is as it was");
    assert_eq!((resumed.state, model.calls()), (failed.state, 3));
}

#[tokio::test]
async fn a_loop_whose_last_round_failed_has_that_round_again_when_its_run_is_resumed() {
    let (model, [_, resumed]) = resumed([Some("a"), None, None, Some("done")]).await;
    assert_eq!((resumed.completed().unwrap().steps.join(","), model.calls()), ("a,done".to_owned(), 4));
}
