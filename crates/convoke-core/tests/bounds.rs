//! Limits and settings that any step can be given.

use std::sync::Arc;
use std::time::Duration;

use crate::common::gauge::Gauge;
use crate::common::{Trail, add, at_once, blamed, fails, millis, run, run_on, slow, waits, with_model};
use convoke_core::{Error, Limits, ModelParams, Resource, RunStatus, Runtime, Scope, SharedStep, Workflow};
use convoke_models::ScriptedModel;
use convoke_steps::{Chain, Join, OnError, Parallel, Prompt, StepExt, prompt, task};

fn timed_out_by(error: &Error) -> &str {
    match error.root() {
        Error::TimedOut(timed_out) => timed_out.owner.as_str(),
        other => panic!("this is no timeout: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_bounds_a_composite_as_a_whole_and_a_leaf_timeout_each_leaf() {
    let chain = || Chain::new("main").then(slow("a", 60)).then(slow("b", 200));
    let whole = run(chain().timeout(millis(100))).await;
    assert_eq!(timed_out_by(&whole.error.unwrap()), "main");
    assert_eq!(whole.state.steps, ["a"]);
    let each = run(chain().leaf_timeout(Some(millis(100)))).await;
    assert_eq!(timed_out_by(&each.error.unwrap()), "main/b");
    assert_eq!(each.state.steps, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn the_shorter_of_two_timeouts_counts() {
    let nested = |inner, outer| {
        let inner = Chain::new("inner").then(waits("a", 1_000)).timeout(millis(inner));
        Chain::new("outer").then(inner).timeout(millis(outer))
    };
    assert_eq!(timed_out_by(&run(nested(50, 100)).await.error.unwrap()), "outer/inner");
    assert_eq!(timed_out_by(&run(nested(100, 50)).await.error.unwrap()), "outer");
    let leaf = waits("a", 1_000).timeout(millis(100)).leaf_timeout(Some(millis(50)));
    assert_eq!(run(leaf).await.status, RunStatus::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn everything_a_step_is_given_holds_together() {
    let gauge = Gauge::default();
    let fan = || {
        let builder = Parallel::builder("fan", Join::all().finish_rest());
        let builder = (0..4).fold(builder, |builder, n| {
            builder.branch(gauge.step(&format!("b{n}"), 50), |_: &mut Trail, _| {})
        });
        builder.build().unwrap()
    };
    // Whatever is said first must not be forgotten when more is said.
    let timeout_first = run(fan().timeout(millis(75)).max_concurrency(at_once(2))).await;
    assert_eq!((timeout_first.status, gauge.most()), (RunStatus::TimedOut, 2));
    let shared: SharedStep<Trail> = Arc::new(fan().max_concurrency(at_once(1)));
    let timeout_last = run(shared.timeout(millis(75))).await;
    assert_eq!(timeout_last.status, RunStatus::TimedOut);
    let twice = run(waits("a", 1_000).timeout(millis(50)).timeout(millis(100)).leaf_timeout(None)).await;
    assert!(matches!(twice.error, Some(Error::TimedOut(limit)) if limit.limit == millis(50)));
}

fn ask(name: &str) -> Prompt<Trail> {
    prompt(name, |_: &Trail| "?").text(|trail| &mut trail.text)
}

#[tokio::test]
async fn limits_bound_what_a_part_may_use() {
    let model = ScriptedModel::replies(["one", "two", "three"]);
    let part = Chain::new("part").then(ask("a")).then(ask("b")).limits(Limits::default().model_calls(1));
    let chain = Chain::new("main").then_or(part, OnError::Continue).then(ask("c"));
    let outcome = run_on(&with_model(&model), chain, Trail::default()).await;
    assert_eq!(outcome.completed().unwrap().text, "two", "the third prompt had the second answer");
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn an_exhausted_budget_ends_the_part_it_belongs_to() {
    let model = ScriptedModel::replies(["one", "two"]);
    let inner = Chain::new("inner").then(ask("a")).then_or(ask("b"), OnError::Continue).then(add("c"));
    let chain = Chain::new("outer").then(inner).limits(Limits::default().model_calls(1));
    let outcome = run_on(&with_model(&model), chain, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::BudgetExhausted);
    let error = outcome.error.unwrap();
    assert_eq!(blamed(blamed(&error).1).0, "b");
    let Error::Budget(exhausted) = error.root() else { panic!("{error}") };
    assert_eq!((exhausted.owner.as_str(), &exhausted.resource), ("outer", &Resource::ModelCalls));
    assert!(outcome.state.steps.is_empty());
}

#[tokio::test]
async fn limits_said_twice_both_hold() {
    let model = ScriptedModel::replies(["one", "two"]);
    let chain = Chain::new("main").then(ask("a")).then(ask("b"));
    let chain =
        chain.limits(Limits::default().model_calls(1)).limits(Limits::default().model_calls(9).tokens(9_999));
    let outcome = run_on(&with_model(&model), chain, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::BudgetExhausted);
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn sampling_parameters_of_a_part_are_overridden_by_the_run_s() {
    let model = ScriptedModel::replies(["one"]);
    let part = ask("a").params(ModelParams::default().temperature(0.1).max_tokens(7));
    let start = with_model(&model).start(&Workflow::new(part), Trail::default());
    start.params(ModelParams::default().temperature(0.9)).await.unwrap().completed().unwrap();
    let params = model.last_request().unwrap().params;
    assert_eq!((params.temperature, params.max_tokens), (Some(0.9), Some(7)));
}

async fn look_at_settings(scope: &Scope, trail: &mut Trail) -> Result<(), Error> {
    let settings = scope.settings();
    trail.text = format!(
        "{:?} {:?} {:?} {}",
        settings.leaf_timeout,
        settings.max_concurrency,
        settings.params.temperature,
        settings.on_failure.is_some()
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn gains_155_what_holds_unless_said_otherwise() {
    let outcome = run(task("look", look_at_settings)).await;
    assert_eq!(outcome.completed().unwrap().text, "None None None false");
    // And so it is: nothing is ended by time, what fails ends the rest, and all branches run at once.
    let day = 24 * 60 * 60 * 1_000;
    let outcome = run(Chain::new("main").then(waits("a", day)).then(fails("b")).then(add("c"))).await;
    assert_eq!((outcome.status, outcome.state.steps), (RunStatus::Failed, vec!["a".into(), "b".into()]));
    let gauge = Gauge::default();
    let builder = Parallel::builder("fan", Join::all().finish_rest());
    let builder = (0..20)
        .fold(builder, |builder, n| builder.branch(gauge.step(&format!("b{n}"), 50), |_: &mut Trail, _| {}));
    run(builder.build().unwrap()).await.completed().unwrap();
    assert_eq!(gauge.most(), 20);
}

#[tokio::test]
async fn settings_hold_for_the_step_they_are_given_to_and_what_is_in_it() {
    let look = |name: &str| task(name, look_at_settings);
    let inner = Chain::new("inner").then(look("a")).leaf_timeout(Some(Duration::from_secs(5)));
    let chain = Chain::new("main").then(inner.max_concurrency(at_once(3)));
    let inside = run(chain).await.completed().unwrap();
    assert_eq!(inside.text, "Some(5s) Some(3) None false");
    let bounded = Chain::new("inner").then(look("a")).leaf_timeout(Some(millis(5)));
    let after = run(Chain::new("main").then(bounded).then(look("b"))).await.completed().unwrap();
    assert_eq!(after.text, "None None None false");
    let last = run(look("a").leaf_timeout(None).leaf_timeout(Some(millis(10)))).await.completed().unwrap();
    assert_eq!(last.text, "Some(10ms) None None false", "what is said last counts");
}

#[tokio::test]
async fn a_bounded_step_is_named_and_outlined_like_the_step_itself() {
    let plain = Workflow::new(Chain::new("main").then(add("a")));
    let bounded =
        Workflow::new(Chain::new("main").then(add("a").timeout(millis(5))).limits(Limits::default()));
    assert_eq!(plain.outline(), bounded.outline());
    assert_eq!(Runtime::new().start(&bounded, Trail::default()).await.unwrap().state.steps, ["a"]);
}
