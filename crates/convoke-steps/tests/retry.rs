//! Retries: a step again if it failed for a transient reason.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::events::{end, told, told_of_steps};
use crate::common::stored::{Home, echo};
use crate::common::{Oops, Trail, add, fails, millis, run, run_on, watch, watch_on, with_model};
use convoke_core::{
    Answer, BoxFuture, Canceller, CategorisedError, Category, Error, EventKind, Invocation, ModelError,
    Repeat, RunStatus, Runtime, Timestamp, Tool, ToolCall, ToolEffect, ToolSpec, Toolset, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{
    Chain, Func, InvalidRetryPolicy, Join, OnError, Parallel, Retry, RetryPolicy, StepExt, ToolStep, func,
    prompt, task_boxed,
};
use serde_json::{Value, json};

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
    let expected = [
        "run started",
        "retry started",
        "retry attempt 1",
        "retry/flaky started",
        "retry/flaky failed",
        "retry attempt 1 failed",
        "retry again 10ms after attempt 1",
        "retry attempt 2",
        "retry/flaky#2 started",
        "retry/flaky#2 failed",
        "retry attempt 2 failed",
        "retry gave up after 2",
        "retry failed",
        "run failed",
    ];
    assert_eq!(told(&events), expected);
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(end(&events).error, outcome.error.map(|error| error.to_string()));
}

#[tokio::test]
async fn gains_124_a_failure_that_will_not_pass_is_told_as_such() {
    let (events, _) = watch(Retry::new(fails("broken"), attempts(2)).named("retry")).await;
    let expected = [
        "run started",
        "retry started",
        "retry attempt 1",
        "retry/broken started",
        "retry/broken failed",
        "retry attempt 1 failed for good",
        "retry failed",
        "run failed",
    ];
    assert_eq!(told(&events), expected);
    assert_eq!(end(&events).error.as_deref(), Some("oops from broken"));
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

#[test]
fn waits_grow_by_their_own_factor_and_one_that_makes_no_sense_leaves_them_as_they_are() {
    let policy = RetryPolicy::attempts(4).unwrap().initial(millis(100)).jitter(0.0);
    for (factor, waits) in [(3.0, [100, 300, 900]), (0.5, [100, 100, 100]), (f64::NAN, [100, 100, 100])] {
        let policy = policy.clone().multiplier(factor);
        assert_eq!([0, 1, 2].map(|failed| policy.delay(failed, 0.5)), waits.map(millis), "{factor}");
        assert_eq!(policy.max_attempts(), 4);
    }
}

#[test]
fn waits_without_a_longest_one_do_not_break_off() {
    let policy = RetryPolicy::attempts(2).unwrap().maximum(Duration::MAX);
    for (failed, chance) in [(100, 0.0), (100, 1.0), (u32::MAX, 0.5)] {
        assert!(policy.delay(failed, chance) > Duration::from_secs(1_000_000_000));
    }
}

#[tokio::test(start_paused = true)]
async fn gains_128_the_longer_of_both_waits_counts() {
    for (asked, planned) in [(50, 10), (10, 50)] {
        let policy = RetryPolicy::attempts(2).unwrap().initial(millis(planned)).jitter(0.0);
        let error =
            move || CategorisedError::new(Category::Transient, "busy").with_retry_after(millis(asked));
        let busy = func("busy", move |trail: &mut Trail| {
            trail.count += 1;
            if trail.count == 1 { Err(Error::failed(error())) } else { Ok(()) }
        });
        let began = tokio::time::Instant::now();
        let (events, outcome) = watch(Retry::new(busy, policy)).await;
        assert_eq!(outcome.completed().unwrap().count, 2);
        assert!(began.elapsed() >= millis(50), "on the paused clock");
        let scheduled = events.iter().find_map(|event| match event.kind {
            EventKind::RetryScheduled { delay, .. } => Some(delay),
            _ => None,
        });
        assert_eq!(scheduled, Some(millis(50)));
    }
}

#[tokio::test(start_paused = true)]
async fn who_wants_to_be_left_alone_for_a_day_is_not_waited_for_by_a_process() {
    let day = Duration::from_secs(86_400);
    let busy = || {
        let asked =
            CategorisedError::new(Category::Transient, "busy").with_retry_after(Duration::from_secs(86_400));
        Error::failed(asked)
    };
    let home = Home::new(echo());
    let patient = home.builder().patience(Duration::MAX).waits_out_time(true).build();
    let workflow = Workflow::new(Retry::new(flaky(1, busy), attempts(2)));
    let before = Timestamp::now();
    let outcome = patient.start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended, "{:?}", outcome.error);
    let wake = home.store().run(&outcome.run).await.unwrap().unwrap().wake.unwrap();
    assert!(wake >= before + day, "{wake}");
    // What the policy itself waits for so long is waited for.
    let allowed = Workflow::new(Retry::new(flaky(1, busy), attempts(2).maximum(day)));
    assert_eq!(patient.start(&allowed, Trail::default()).await.unwrap().status, RunStatus::Completed);
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
        assert_ne!(
            Error::from(ModelError::of_status(status, "")).category(),
            Category::Transient,
            "{status}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn gains_130_what_somebody_said_about_an_error_decides() {
    let stated = || Error::permanent(ModelError::of_status(429, "for ever"));
    assert_eq!(stated().category(), Category::Permanent);
    assert_eq!(run(Retry::new(flaky(9, stated), attempts(3))).await.state.count, 1);
    let wrapped = || {
        let path = convoke_core::Path::from("main/a");
        Error::transient("busy").in_step("a", &path).in_step("b", &path)
    };
    assert_eq!(wrapped().category(), Category::Transient);
    assert_eq!(run(Retry::new(flaky(9, wrapped), attempts(3))).await.state.count, 3);
}

#[test]
fn gains_131_no_words_in_a_message_decide_that_it_is_tried_again() {
    let passes = |error: Error| error.category() == Category::Transient;
    for text in ["connection reset by peer", "rate limit exceeded", "502 bad gateway", "googleapi: Error 503"]
    {
        assert!(!passes(Error::failed(text)), "{text}");
        assert!(passes(Error::transient(text)), "{text}");
    }
    for kind in [ErrorKind::ConnectionReset, ErrorKind::TimedOut] {
        assert!(passes(io::Error::from(kind).into()), "{kind}");
    }
    assert!(!passes(io::Error::from(ErrorKind::PermissionDenied).into()));
}

/// Fails in two branches, and counts how often.
fn fails_twice(left: fn() -> Error, right: fn() -> Error, tries: &Arc<AtomicU64>) -> Parallel<Trail> {
    let branch = |name: &str, error: fn() -> Error| {
        let tries = Arc::clone(tries);
        func(name, move |_: &mut Trail| {
            tries.fetch_add(1, Ordering::SeqCst);
            Err(error())
        })
    };
    let both = Parallel::builder("both", Join::all().finish_rest());
    both.branch(branch("left", left), |_, _| {}).branch(branch("right", right), |_, _| {}).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn branches_are_tried_again_only_if_that_may_help_all_that_failed() {
    let [busy, wrong]: [fn() -> Error; 2] = [overloaded, || Error::permanent("wrong")];
    for (left, right, expected) in [(busy, busy, 6), (busy, wrong, 2), (wrong, busy, 2), (wrong, wrong, 2)] {
        let tries = Arc::default();
        let outcome = run(Retry::new(fails_twice(left, right, &tries), attempts(3))).await;
        assert_eq!((outcome.status, tries.load(Ordering::SeqCst)), (RunStatus::Failed, expected));
    }
}

#[tokio::test(start_paused = true)]
async fn branches_are_tried_again_when_the_longest_wait_that_one_of_them_asked_for_is_over() {
    fn later(wait: u64) -> Error {
        Error::failed(CategorisedError::new(Category::Transient, "busy").with_retry_after(millis(wait)))
    }
    let sides: [fn() -> Error; 3] = [|| later(70), || later(300), overloaded];
    for (left, right, expected) in [(0, 1, 300), (1, 0, 300), (2, 0, 70), (0, 2, 70)] {
        let began = tokio::time::Instant::now();
        let both = fails_twice(sides[left], sides[right], &Arc::default());
        assert_eq!(run(Retry::new(both, attempts(2))).await.status, RunStatus::Failed);
        assert_eq!(began.elapsed().as_millis(), expected, "on the paused clock");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_tried_again_before_is_tried_again_when_the_run_is_told_again() {
    let home = Home::new(echo());
    let then = Workflow::new(Retry::new(flaky(1, || Error::transient("connection reset")), attempts(3)));
    let outcome = home.start(&then, Trail::default()).await;
    assert_eq!((outcome.status, outcome.state.count), (RunStatus::Completed, 2));
    let now = Workflow::new(Retry::new(flaky(1, || Error::failed("connection reset")), attempts(3)));
    let replay = home.runtime().replay(&now, &outcome.run).await.unwrap();
    assert_eq!((replay.error.is_none(), replay.state), (true, outcome.state));
    let anew = home.start(&now, Trail::default()).await;
    assert_eq!((anew.status, anew.state.count), (RunStatus::Failed, 1));
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
    assert_eq!(RetryPolicy::attempts(0), Err(InvalidRetryPolicy));
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

/// The keys and arguments a tool was called with.
type Heard = Arc<Mutex<Vec<(String, Value)>>>;

/// A tool that loses its connection so many times, and remembers the keys it was called with.
struct Lossy {
    spec: ToolSpec,
    losses: usize,
    heard: Heard,
}

impl Lossy {
    fn new(losses: usize) -> (Self, Heard) {
        let heard = Arc::default();
        let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into());
        (Self { spec, losses, heard: Arc::clone(&heard) }, heard)
    }
}

impl Tool for Lossy {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let mut heard = self.heard.lock().unwrap();
        heard.push((call.key.to_string(), call.arguments.clone()));
        let is_lost = heard.len() <= self.losses;
        Box::pin(async move {
            if is_lost { Err(Error::transient("the reply was lost")) } else { Ok("paid".into()) }
        })
    }
}

fn pays(tool: Lossy, who: impl Fn(&Trail) -> &'static str + Send + Sync + 'static) -> ToolStep<Trail, Value> {
    let tools = Toolset::new().with(tool).unwrap();
    ToolStep::new("pay", &tools, "pay", move |trail: &Trail| Ok::<_, Error>(json!({"to": who(trail)})))
        .discard()
}

fn keys(heard: &Heard) -> Vec<String> {
    heard.lock().unwrap().iter().map(|(key, _)| key.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn every_attempt_at_a_call_has_the_key_of_the_first() {
    let (tool, heard) = Lossy::new(2);
    let plain = run(Retry::new(pays(tool, |_| "ann"), attempts(5))).await;
    assert_eq!(plain.status, RunStatus::Completed);
    let all = keys(&heard);
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|key| *key == all[0]), "{all:?}");

    let (tool, heard) = Lossy::new(2);
    let in_place =
        run(Chain::new("main").then(Retry::new(pays(tool, |_| "ann"), attempts(5)).in_place())).await;
    assert_eq!(in_place.status, RunStatus::Completed);
    let all = keys(&heard);
    assert!(all.len() == 3 && all.iter().all(|key| *key == all[0]), "{all:?}");

    let (tool, heard) = Lossy::new(2);
    let policy = OnError::Retry(attempts(5));
    let by_policy = run(Chain::new("main").then_or(pays(tool, |_| "ann"), policy)).await;
    assert_eq!(by_policy.status, RunStatus::Completed);
    let all = keys(&heard);
    assert!(all.len() == 3 && all.iter().all(|key| *key == all[0]), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn different_calls_of_one_attempt_have_different_keys_and_each_its_own_again() {
    let (mut tool, heard) = Lossy::new(0);
    tool.spec.effects = ToolEffect::Network.into();
    tool.spec = tool.spec.repeat(Repeat::Safe);
    let tool: Arc<dyn Tool> = Arc::new(tool);
    let twice = task_boxed("twice", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            trail.count += 1;
            for _ in 0..2 {
                let call = ToolCall { id: "c".into(), name: "pay".into(), arguments: json!({"to": "ann"}) };
                scope.tool_scope(&*tool, None).tool(&tool, &call).await?;
            }
            let (heard, count) = (trail.text.clone(), trail.count);
            trail.text = scope
                .custom("note")
                .repeatable()
                .perform(|key| async move { Ok::<_, Error>(format!("{heard} {key}")) })
                .await?;
            if count == 1 { Err(overloaded()) } else { Ok(()) }
        })
    });
    let state = run(Retry::new(twice, attempts(5))).await.completed().unwrap();
    let all = keys(&heard);
    assert_eq!(all.len(), 4);
    assert_ne!(all[0], all[1]);
    assert_eq!(all[..2], all[2..]);
    let noted: Vec<&str> = state.text.split_whitespace().collect();
    assert_eq!(noted[0], noted[1], "effects of one's own code have their keys, too");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_asks_for_something_else_does_not_pass_for_the_first() {
    let (tool, heard) = Lossy::new(1);
    let counted = func("count", |trail: &mut Trail| {
        trail.count += 1;
        Ok::<_, Error>(())
    });
    let who = |trail: &Trail| if trail.count == 1 { "ann" } else { "bob" };
    run(Retry::new(Chain::new("both").then(counted).then(pays(tool, who)), attempts(5)))
        .await
        .completed()
        .unwrap();
    let all = keys(&heard);
    assert_ne!(all[0], all[1], "bob is not paid because ann was");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_interrupted_keeps_its_key_when_the_run_is_resumed() {
    let (tool, heard) = Lossy::new(1);
    let slow = Arc::new(AtomicU64::new(0));
    // The second attempt is cut off while it is under way.
    let home = Home::new(echo());
    let hanging = Arc::clone(&slow);
    let tool: Arc<dyn Tool> = Arc::new(Hanging(tool, hanging));
    let pays = task_boxed("pay", move |scope, _: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            let call = ToolCall { id: "c".into(), name: "pay".into(), arguments: json!({"to": "ann"}) };
            let result = scope.tool_scope(&*tool, None).tool(&tool, &call).await?;
            if result.is_error { Err(Error::transient(result.content)) } else { Ok(()) }
        })
    });
    let workflow = Workflow::new(Retry::new(pays, attempts(5)));
    let canceller = Canceller::new();
    let start = home.runtime().start(&workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel("enough");
    };
    let run = tokio::join!(start.into_future(), cancel).0.unwrap().run;
    assert_eq!(heard.lock().unwrap().len(), 2);
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Suspended);
    let title = home.asked(&run).await.remove(0);
    home.answer(&run, &title, Answer::choose("again")).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Completed);
    let all = keys(&heard);
    assert!(all.len() == 3 && all.iter().all(|key| *key == all[0]), "{all:?}");
    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert!(replay.error.is_none(), "{:?}", replay.error);
}

/// A tool whose second call never ends.
struct Hanging(Lossy, Arc<AtomicU64>);

impl Tool for Hanging {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let hangs = self.1.fetch_add(1, Ordering::Relaxed) == 1;
        let called = self.0.call(call);
        Box::pin(async move { if hangs { std::future::pending().await } else { called.await } })
    }
}
