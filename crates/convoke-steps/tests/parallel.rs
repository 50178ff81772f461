//! Different steps side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::events::{told, told_of_steps};
use crate::common::gauge::Gauge;
use crate::common::{Trail, add, at_once, failed_branches, millis, run, run_on, slow, waits, watch};
use convoke_agent::{Agent, FunctionTool};
use convoke_core::{Canceller, Error, EventKind, RunStatus, Runtime, ToolCall, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AgentStep, BuildError, Chain, Join, Parallel, ParallelBuilder, StepExt, func};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

fn all() -> Join {
    Join::all().finish_rest()
}

/// Takes over what a branch's steps left.
fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

/// A fan-out over these branches, none of which leaves anything in the state.
fn gauged(join: Join, branches: usize, gauge: &Gauge) -> ParallelBuilder<Trail> {
    let builder = Parallel::builder("fan", join);
    (0..branches).fold(builder, |builder, n| builder.branch(gauge.step(&format!("b{n}"), 50), |_, _| {}))
}

#[tokio::test]
async fn gains_056_all_branches_run_and_are_joined() {
    let ran = Arc::new(AtomicUsize::new(0));
    let sets = |name: &str, set: fn(&mut Trail)| {
        let counted = Arc::clone(&ran);
        func(name, move |trail: &mut Trail| {
            counted.fetch_add(1, Ordering::SeqCst);
            set(trail);
            Ok::<_, Error>(())
        })
    };
    let parallel = Parallel::builder("fan", all())
        .branch(sets("a", |trail| trail.steps = vec!["a".into()]), |trail, done| trail.steps = done.steps)
        .branch(sets("b", |trail| trail.text = "b".into()), |trail, done| trail.text = done.text)
        .branch(sets("c", |trail| trail.count = 3), |trail, done| trail.count = done.count)
        .build()
        .unwrap();
    let expected = Trail { steps: vec!["a".into()], text: "b".into(), count: 3 };
    assert_eq!(run(parallel).await.completed().unwrap(), expected);
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn gains_057_a_branch_sees_the_state_as_of_entry_and_nothing_of_the_others() {
    let sees = |name: &str| {
        func(name, |trail: &mut Trail| {
            trail.text = trail.steps.join(",");
            trail.steps.push("mine".into());
            Ok::<_, Error>(())
        })
    };
    let parallel = Parallel::builder("fan", all())
        .branch(sees("a"), |trail, done| trail.text += &done.text)
        .branch(sees("b"), |trail, done| trail.text += &format!("|{}", done.text))
        .build()
        .unwrap();
    let state = Trail { steps: vec!["before".into()], ..Trail::default() };
    assert_eq!(run_on(&Runtime::new(), parallel, state).await.completed().unwrap().text, "before|before");
}

#[tokio::test]
async fn gains_058_what_no_join_takes_over_is_discarded() {
    // The join function is not optional: who wants nothing says so.
    let parallel = Parallel::builder("fan", all()).branch(add("a"), |_, _| {}).build().unwrap();
    assert_eq!(run(parallel).await.completed().unwrap(), Trail::default());
}

#[tokio::test(start_paused = true)]
async fn gains_062_no_more_branches_run_at_once_than_allowed() {
    let (by_step, by_part, by_run) = (Gauge::default(), Gauge::default(), Gauge::default());
    run(gauged(all(), 5, &by_step).concurrency(at_once(2)).build().unwrap()).await.completed().unwrap();
    run(gauged(all(), 5, &by_part).build().unwrap().max_concurrency(at_once(2))).await.completed().unwrap();
    let runtime = Runtime::builder().max_concurrency(at_once(2)).build();
    let outcome = run_on(&runtime, gauged(all(), 5, &by_run).build().unwrap(), Trail::default()).await;
    outcome.completed().unwrap();
    for gauge in [by_step, by_part, by_run] {
        assert_eq!((gauge.most(), gauge.in_all()), (2, 5));
    }
}

#[tokio::test(start_paused = true)]
async fn gains_063_without_a_limit_all_branches_run_at_once() {
    let gauge = Gauge::default();
    run(gauged(all(), 5, &gauge).build().unwrap()).await.completed().unwrap();
    assert_eq!(gauge.most(), 5);
}

#[tokio::test(start_paused = true)]
async fn gains_064_branches_that_queue_when_the_run_is_cancelled_never_run() {
    let ran = Arc::new(AtomicUsize::new(0));
    let queued = |name: &str| {
        let counted = Arc::clone(&ran);
        func(name, move |_: &mut Trail| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Error>(())
        })
    };
    let parallel = Parallel::builder("fan", all())
        .branch(waits("first", 1_000), take)
        .branch(queued("queued second"), take)
        .branch(queued("queued third"), take)
        .concurrency(at_once(1))
        .build()
        .unwrap();
    let canceller = Canceller::new();
    let run = Runtime::new().start(&Workflow::new(parallel), Trail::default()).canceller(&canceller).stream();
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    let began = tokio::time::Instant::now();
    let ((events, outcome), ()) = tokio::join!(run.collect(), cancel);
    assert_eq!(outcome.unwrap().status, RunStatus::Cancelled);
    assert!(began.elapsed() < millis(100), "on the paused clock");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert!(!told(&events).iter().any(|told| told.starts_with("fan/queued")));
}

#[tokio::test]
async fn gains_068_a_fan_out_starts_before_its_branches_and_ends_after_them() {
    let parallel =
        Parallel::builder("fan", all()).branch(add("a"), take).branch(add("b"), take).build().unwrap();
    let (events, _) = watch(parallel).await;
    let told = told_of_steps(&events);
    assert_eq!((told.len(), told[0].as_str(), told[5].as_str()), (6, "fan started", "fan completed"));
    let completed = told[1..5].iter().filter(|told| told.ends_with("completed"));
    assert_eq!(completed.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn gains_073_branches_are_bounded_alike_whether_anybody_listens_or_not() {
    let bounded = || {
        let builder =
            Parallel::builder("fan", all()).branch(slow("quick", 10), take).branch(slow("slow", 500), take);
        builder.build().unwrap().leaf_timeout(Some(millis(100)))
    };
    let quiet = run(bounded()).await.error.unwrap();
    let (_, heard) = watch(bounded()).await;
    for error in [quiet, heard.error.unwrap()] {
        assert_eq!(failed_branches(&error), ["slow"]);
        assert!(matches!(error.root(), Error::TimedOut(limit) if limit.owner.as_str() == "fan/slow"));
    }
}

#[test]
fn gains_074_two_branches_of_one_name_are_refused() {
    let built = Parallel::builder("fan", all()).branch(add("a"), take).branch(add("a"), take).build();
    let expected = BuildError::DuplicateName { step: "fan".into(), name: "a".into() };
    assert_eq!(built.err(), Some(expected));
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct WithSecret {
    shown: String,
    #[serde(skip)]
    secret: Option<Arc<str>>,
}

#[tokio::test]
async fn gains_075_fields_that_are_not_stored_survive_branching() {
    let whisper = func("whisper", |state: &mut WithSecret| {
        state.shown = state.secret.as_deref().unwrap_or("forgotten").to_owned();
        Ok::<_, Error>(())
    });
    let parallel = Parallel::builder("fan", all())
        .branch(whisper, |state: &mut WithSecret, done| state.shown = done.shown)
        .build()
        .unwrap();
    let state = WithSecret { secret: Some("psst".into()), ..WithSecret::default() };
    let state = run_on(&Runtime::new(), parallel, state).await.completed().unwrap();
    assert_eq!((state.shown.as_str(), state.secret.as_deref()), ("psst", Some("psst")));
}

#[tokio::test(start_paused = true)]
async fn gains_077_branches_are_joined_in_declared_order() {
    let parallel = Parallel::builder("fan", all())
        .branch(slow("last", 30), take)
        .branch(slow("middle", 20), take)
        .branch(slow("first", 10), take)
        .build()
        .unwrap();
    assert_eq!(run(parallel).await.completed().unwrap().steps, ["last", "middle", "first"]);
}

#[tokio::test(start_paused = true)]
async fn gains_078_events_of_branches_are_told_apart_by_their_path() {
    let branch = |name: &str| Chain::new(name).then(slow("work", 10)).then(add("work"));
    let parallel =
        Parallel::builder("fan", all()).branch(branch("a"), take).branch(branch("b"), take).build().unwrap();
    let (events, _) = watch(parallel).await;
    for (branch, other) in [("fan/a", "fan/b"), ("fan/b", "fan/a")] {
        let own = told_of_steps(&events).into_iter().filter(|told| told.starts_with(branch));
        let own: Vec<String> = own.map(|told| told.replace(branch, "it")).collect();
        let expected = [
            "it started",
            "it/work started",
            "it/work completed",
            "it/work#2 started",
            "it/work#2 completed",
            "it completed",
        ];
        assert_eq!(own, expected, "{branch}, whatever {other} did meanwhile");
    }
}

#[tokio::test]
async fn a_branch_may_work_on_a_part_of_the_state() {
    let double = func("double", |count: &mut u64| {
        *count *= 2;
        Ok::<_, Error>(())
    });
    let parallel = Parallel::builder("fan", all())
        .project(double, |trail: &Trail| trail.count, |trail, count| trail.count = count)
        .branch(add("a"), take)
        .build()
        .unwrap();
    let state = run_on(&Runtime::new(), parallel, Trail { count: 21, ..Trail::default() }).await;
    let state = state.completed().unwrap();
    assert_eq!((state.count, state.steps), (42, vec!["a".to_owned()]));
}

#[tokio::test]
async fn agents_side_by_side_may_use_the_same_ids_for_their_calls() {
    let both_called = Arc::new(tokio::sync::Barrier::new(2));
    let agent = |name: &str| {
        let both_called = Arc::clone(&both_called);
        let call = ToolCall { id: "call-1".into(), name: "look".into(), arguments: json!({}) };
        let calls = Reply::empty().and_call(call);
        let model = ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build();
        let look = FunctionTool::new("look", "Looks", move |_: Nothing| {
            let both_called = Arc::clone(&both_called);
            async move {
                both_called.wait().await;
                Ok::<_, Error>("seen".to_owned())
            }
        });
        let agent = Agent::builder(name).model(model).tool(look).build().unwrap();
        AgentStep::new(name, agent, |_: &Trail| "go").discard()
    };
    let fan =
        Parallel::builder("fan", all()).branch(agent("a"), take).branch(agent("b"), take).build().unwrap();
    let (events, outcome) =
        Runtime::new().start(&Workflow::new(fan), Trail::default()).stream().collect().await;
    outcome.unwrap().completed().unwrap();
    let of = |name: &str, is: fn(&EventKind) -> bool| {
        events.iter().filter(|event| event.path.as_str().contains(name) && is(&event.kind)).count()
    };
    for name in ["fan/a", "fan/b"] {
        assert_eq!(of(name, |kind| matches!(kind, EventKind::ToolCallStarted { .. })), 1, "{name}");
        assert_eq!(of(name, |kind| matches!(kind, EventKind::ToolCallEnded { .. })), 1, "{name}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}
