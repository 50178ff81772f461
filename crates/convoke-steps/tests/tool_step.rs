//! Tools called with arguments made of the state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::events::told_of_steps;
use crate::common::tools::TestTool;
use crate::common::{Oops, Trail, blamed, millis, run, watch};
use convoke_core::{
    BoxFuture, Error, Execution, Invocation, RunStatus, Step, Tool, ToolEffect, ToolSpec, Toolset,
};
use convoke_steps::{Chain, StepExt, StepsError, ToolStep};
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
struct Place {
    city: String,
}

fn toolset(tool: &TestTool) -> Toolset {
    Toolset::new().with(tool.clone()).unwrap()
}

/// Looks up the weather of Oslo in these tools.
fn look(tools: &Toolset) -> ToolStep<Trail, Place> {
    ToolStep::new("look", tools, "weather", |_: &Trail| Ok::<_, Error>(Place { city: "Oslo".into() }))
        .store(|trail, place, weather| trail.text = format!("{} is {weather}", place.city))
}

fn steps_error(error: &Error) -> &StepsError {
    error.downcast_ref().unwrap()
}

#[tokio::test]
async fn gains_025_the_tool_gets_the_arguments_and_the_state_gets_both() {
    let tool = TestTool::gives("weather", "sunny");
    let state = run(look(&toolset(&tool))).await.completed().unwrap();
    assert_eq!(tool.heard(), [json!({"city": "Oslo"})]);
    assert_eq!(state.text, "Oslo is sunny");
}

#[tokio::test]
async fn gains_026_arguments_that_cannot_be_made_fail_the_step() {
    let tool = TestTool::gives("weather", "sunny");
    let step = ToolStep::new("look", &toolset(&tool), "weather", |_: &Trail| {
        Err::<Place, _>(Oops("arguments".into()))
    });
    // A leaf's error is its own; the chain says in which step it happened.
    let error = run(Chain::new("main").then(step.discard())).await.error.unwrap();
    let (step, source) = blamed(&error);
    assert_eq!(step, "look");
    assert_eq!(source.to_string(), "building arguments: oops from arguments");
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("arguments".into())));
    assert_eq!(tool.calls(), 0);
}

#[tokio::test]
async fn gains_027_a_tool_that_is_not_there_is_named() {
    let tools = toolset(&TestTool::gives("forecast", "rain"));
    let error = run(Chain::new("main").then(look(&tools))).await.error.unwrap();
    assert_eq!(blamed(&error).0, "look");
    assert_eq!(
        *steps_error(&error),
        StepsError::ToolNotFound { tool: "weather".into(), known: "forecast".into() }
    );
}

#[tokio::test]
async fn gains_028_a_tool_that_fails_fails_the_step() {
    let tools = toolset(&TestTool::fails("weather", "no satellite"));
    let outcome = run(Chain::new("main").then(look(&tools))).await;
    let error = outcome.error.unwrap();
    assert_eq!(blamed(&error).0, "look");
    assert_eq!(
        *steps_error(&error),
        StepsError::ToolFailed { tool: "weather".into(), content: "no satellite".into() }
    );
    assert_eq!(outcome.state, Trail::default(), "nothing is stored");
}

#[tokio::test]
async fn gains_029_a_client_s_tool_cannot_be_called_by_a_step() {
    let spec = ToolSpec::new("weather", "", ToolEffect::Reads.into()).execution(Execution::Client);
    let tool = TestTool::new(spec, Ok("sunny".into()));
    let error = run(Chain::new("main").then(look(&toolset(&tool)))).await.error.unwrap();
    assert_eq!(blamed(&error).0, "look");
    assert_eq!(*steps_error(&error), StepsError::ClientTool { tool: "weather".into() });
    assert_eq!(tool.calls(), 0);
}

#[tokio::test]
async fn gains_030_a_call_is_told_from_its_start_to_its_result() {
    let (events, _) = watch(look(&toolset(&TestTool::gives("weather", "sunny")))).await;
    // `executing` comes besides what gains asks for: agents need it, and every call is told alike.
    let expected = [
        "look started",
        "look/weather call of weather",
        r#"look/weather call with {"city":"Oslo"}"#,
        "look/weather call executing",
        "look/weather call ended",
        "look/weather call gave sunny",
        "look completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
}

#[tokio::test]
async fn a_failed_call_is_told_to_its_end() {
    let (events, _) = watch(look(&toolset(&TestTool::fails("weather", "no satellite")))).await;
    let told = told_of_steps(&events);
    assert_eq!(
        told[4..],
        ["look/weather call ended", "look/weather call failed: no satellite", "look failed"]
    );
}

#[tokio::test(start_paused = true)]
async fn gains_031_a_slow_tool_is_ended_by_the_leaf_timeout() {
    let tool = TestTool::gives("weather", "sunny").slow(Duration::from_secs(1));
    let began = tokio::time::Instant::now();
    let outcome = run(look(&toolset(&tool)).leaf_timeout(Some(millis(10)))).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    assert!(matches!(outcome.error, Some(Error::TimedOut(limit)) if limit.owner.as_str() == "look"));
    assert!(began.elapsed() < millis(20), "on the paused clock");
    assert_eq!(outcome.state, Trail::default());
}

/// A tool that never looks whether it should end, and notes when its call is dropped.
struct Deaf {
    spec: ToolSpec,
    dropped: Arc<AtomicUsize>,
}

struct CountsDrops(Arc<AtomicUsize>);

impl Drop for CountsDrops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Tool for Deaf {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let call = CountsDrops(Arc::clone(&self.dropped));
        Box::pin(async move {
            let _call = call;
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn gains_032_a_tool_that_never_ends_is_dropped_at_the_deadline() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let spec = ToolSpec::new("weather", "", ToolEffect::Reads.into());
    let tools = Toolset::new().with(Deaf { spec, dropped: Arc::clone(&dropped) }).unwrap();
    for (number, of_leaf) in [(1, true), (2, false)] {
        let step = look(&tools);
        let step = if of_leaf { step.leaf_timeout(Some(millis(10))) } else { step.timeout(millis(10)) };
        let began = tokio::time::Instant::now();
        let (events, outcome) = watch(step).await;
        assert_eq!(outcome.status, RunStatus::TimedOut);
        assert!(matches!(outcome.error, Some(Error::TimedOut(limit)) if limit.owner.as_str() == "look"));
        assert!(began.elapsed() < millis(20), "on the paused clock");
        assert_eq!(dropped.load(Ordering::SeqCst), number);
        assert_eq!(told_of_steps(&events).last().unwrap(), "look failed");
        assert_eq!(outcome.state, Trail::default());
    }
}

#[tokio::test]
async fn a_panic_in_a_function_of_the_step_fails_the_step() {
    let tools = toolset(&TestTool::gives("weather", "sunny"));
    let arguments = ToolStep::new("arguments", &tools, "weather", |_: &Trail| -> Result<Place, Error> {
        panic!("a bug")
    });
    let store =
        ToolStep::new("store", &tools, "weather", |_: &Trail| Ok::<_, Error>(Place { city: "Oslo".into() }));
    for step in [arguments.discard(), store.store(|_, _, _| panic!("a bug"))] {
        let name = step.name().to_owned();
        let (_, outcome) = watch(step).await;
        assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == name));
    }
}
