//! Calls of tools that are made elsewhere: charged once, before anybody is asked to make them.

use std::time::Duration;

use crate::common::Trail;
use crate::common::stored::{Home, echo};
use convoke_core::store::NewMail;
use convoke_core::{Error, Fork, Limits, Outcome, Resource, RunId, RunStatus, Workflow};
use convoke_steps::{AsyncFunc, Chain, StepExt, task_boxed};
use serde_json::{Value, json};

/// A step that has somebody elsewhere make these calls, and takes what is sent first.
fn has_made(name: &str, tools: &'static [&'static str]) -> AsyncFunc<Trail> {
    task_boxed(name, move |scope, trail: &mut Trail| {
        Box::pin(async move {
            let wait = scope.composing().await_calls("results", tools);
            trail.steps.push(if wait.is_refused() { "refused" } else { "asked" }.to_owned());
            let sent = wait.result(Value::Null, |sent| sent["failed"].as_str().map(str::to_owned)).await?;
            trail.steps.push(sent.payload.to_string());
            Ok(())
        })
    })
}

/// One call, then two.
fn within(limits: Limits) -> Workflow<Trail> {
    let chain = Chain::new("main").then(has_made("one", &["look"])).then(has_made("two", &["look", "go"]));
    Workflow::new(chain.limits(limits))
}

fn calls(most: u64) -> Workflow<Trail> {
    within(Limits::default().tool_calls(most))
}

impl Home {
    async fn goes_on(&self, workflow: &Workflow<Trail>, run: &RunId) -> Outcome<Trail> {
        let runtime = self.builder().patience(Duration::ZERO).build();
        runtime.resume(workflow, run.clone()).await.unwrap()
    }

    async fn is_sent(&self, run: &RunId, payload: Value) {
        self.store().post(run, NewMail::json("results", &payload).unwrap()).await.unwrap();
    }

    /// A run that waits for the first call.
    async fn waiting(&self, workflow: &Workflow<Trail>) -> RunId {
        let runtime = self.builder().patience(Duration::ZERO).build();
        runtime.start(workflow, Trail::default()).await.unwrap().run
    }
}

#[tokio::test]
async fn calls_that_there_is_no_budget_for_are_asked_of_nobody_and_the_others_count_once() {
    let home = Home::new(echo());
    let run = home.waiting(&calls(2)).await;
    for _ in 0..3 {
        let waits = home.goes_on(&calls(2), &run).await;
        assert_eq!((waits.status, waits.totals.tool_calls), (RunStatus::Suspended, 1), "the same call");
    }
    home.is_sent(&run, json!(1)).await;
    let refused = home.goes_on(&calls(2), &run).await;
    assert_eq!((refused.status, refused.totals.tool_calls), (RunStatus::BudgetExhausted, 1));
    assert_eq!(refused.state.steps, ["asked", "1", "refused"]);
    let error = refused.error.unwrap();
    let Error::Budget(exhausted) = error.root() else { panic!("{error}") };
    let Resource::ToolCalls = exhausted.resource else { panic!("{exhausted}") };
    assert_eq!((exhausted.limit, exhausted.used, exhausted.needed), (2, 1, Some(2)));
    let replay = home.runtime().replay(&calls(2), &run).await.unwrap();
    assert_eq!((replay.state.steps, replay.unused), (refused.state.steps, 0));
    // With more of it the run goes on where it was.
    let waits = home.goes_on(&calls(3), &run).await;
    assert_eq!((waits.status, waits.totals.tool_calls), (RunStatus::Suspended, 3));
    assert_eq!(home.store().run(&run).await.unwrap().unwrap().totals.tool_calls, 3);
    home.is_sent(&run, json!(2)).await;
    let done = home.goes_on(&calls(3), &run).await;
    assert_eq!(done.totals.tool_calls, 3);
    assert_eq!(done.completed().unwrap().steps, ["asked", "1", "asked", "2"]);
}

#[tokio::test]
async fn a_fork_and_limits_on_single_tools_know_of_calls_that_were_made_elsewhere() {
    let home = Home::new(echo());
    let once = || within(Limits::default().calls_of("look", 1));
    let run = home.waiting(&calls(9)).await;
    home.is_sent(&run, json!(1)).await;
    let waits = home.goes_on(&calls(9), &run).await;
    assert_eq!((waits.status, waits.totals.tool_calls), (RunStatus::Suspended, 3));
    let two = home.entries(&run).await.iter().find(|entry| entry.path.as_str() == "main/two").unwrap().seq;
    let fork = Fork::new(run, two).create(home.store()).await.unwrap();
    let refused = home.goes_on(&once(), &fork).await;
    assert_eq!((refused.status, refused.totals.tool_calls), (RunStatus::BudgetExhausted, 1));
    assert!(refused.error.unwrap().to_string().contains("calls of `look`"));
}

#[tokio::test]
async fn a_call_that_failed_its_step_is_made_and_counted_again() {
    let home = Home::new(echo());
    let run = home.waiting(&calls(9)).await;
    home.is_sent(&run, json!({"failed": "it broke"})).await;
    let failed = home.goes_on(&calls(9), &run).await;
    assert_eq!(failed.status, RunStatus::Failed);
    let words = failed.error.unwrap().to_string();
    assert!(words.contains("it broke") && !words.contains("expected"), "{words}");
    let waits = home.goes_on(&calls(9), &run).await;
    assert_eq!((waits.status, waits.totals.tool_calls), (RunStatus::Suspended, 2));
    home.is_sent(&run, json!(1)).await;
    let waits = home.goes_on(&calls(4), &run).await;
    assert_eq!((waits.status, waits.totals.tool_calls), (RunStatus::Suspended, 4), "all of the budget");
}

#[tokio::test]
async fn calls_count_over_all_generations_of_a_run_also_for_limits_that_are_set_later() {
    let one_each = || {
        Workflow::new(task_boxed("one", |scope, trail: &mut Trail| {
            Box::pin(async move {
                let wait = scope.composing().await_calls("results", &["look"]);
                trail.steps.push(if wait.is_refused() { "refused" } else { "asked" }.to_owned());
                wait.result(Value::Null, |_| None).await?;
                scope.continue_with(trail)
            })
        }))
    };
    let home = Home::new(echo());
    let run = home.waiting(&one_each()).await;
    for calls in [2, 3] {
        home.is_sent(&run, json!(1)).await;
        let waits = home.goes_on(&one_each(), &run).await;
        assert_eq!((waits.status, waits.totals.tool_calls), (RunStatus::Suspended, calls));
    }
    home.is_sent(&run, json!(1)).await;
    let runtime = home.builder().patience(Duration::ZERO).build();
    let limited = runtime.resume(&one_each(), run).limits(Limits::default().tool_calls(3)).await.unwrap();
    assert_eq!((limited.status, limited.totals.tool_calls), (RunStatus::BudgetExhausted, 3));
    assert_eq!(limited.state.steps, ["asked", "asked", "asked", "refused"]);
}

/// What earlier builds kept of a wait does not say that it is for a call.
#[tokio::test]
async fn a_run_of_an_earlier_build_is_not_refused_what_it_has_asked_for_and_limits_know_of_it() {
    let home = Home::new(echo());
    let earlier = Workflow::new(Chain::new("main").then(task_boxed("one", |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail
                .steps
                .push(scope.receive_expected::<Value>("results", json!({})).await?.payload.to_string());
            Ok(())
        })
    })));
    let run = home.waiting(&earlier).await;
    let waits = home.goes_on(&calls(0), &run).await;
    assert_eq!((waits.status, waits.state.steps), (RunStatus::Suspended, vec!["asked".to_owned()]));
    home.is_sent(&run, json!(1)).await;
    let refused = home.goes_on(&calls(2), &run).await;
    assert_eq!(refused.status, RunStatus::BudgetExhausted, "one was made, and two are wanted");
    assert_eq!(refused.state.steps, ["asked", "1", "refused"]);
}
