//! What a run's policy says about failed steps: gains' error handler.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};

use crate::common::events::{end, told, told_of_steps};
use crate::common::{Oops, Trail, add, blamed, fails};
use convoke_core::{Error, Event, Outcome, Recovery, Runtime, Step, StepFailure, Workflow};
use convoke_steps::{Chain, OnError, StepExt};

/// Decides, and remembers what it was asked.
#[derive(Clone)]
struct Policy {
    asked: Arc<Mutex<Vec<(String, String)>>>,
    decide: Arc<dyn Fn() -> Recovery + Send + Sync>,
}

impl Policy {
    fn new(decide: impl Fn() -> Recovery + Send + Sync + 'static) -> Self {
        Self { asked: Arc::default(), decide: Arc::new(decide) }
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }

    fn recover(&self, failure: &StepFailure<'_>) -> Recovery {
        self.asked.lock().unwrap().push((failure.step.to_owned(), failure.error.to_string()));
        (self.decide)()
    }

    async fn watch(&self, step: impl Step<Trail> + 'static) -> (Vec<Event>, Outcome<Trail>) {
        let own = self.clone();
        let runtime =
            Runtime::builder().on_failure(move |failure: &StepFailure<'_>| own.recover(failure)).build();
        let workflow = Workflow::new(step);
        let quiet = runtime.start(&workflow, Trail::default()).await.unwrap();
        self.asked.lock().unwrap().clear();
        let (events, heard) = runtime.start(&workflow, Trail::default()).stream().collect().await;
        crate::common::events::must_be_well_formed(&events);
        let heard = heard.unwrap();
        assert_eq!((quiet.status, quiet.state), (heard.status, heard.state.clone()), "heard or not");
        (events, heard)
    }
}

fn a_fails_c() -> Chain<Trail> {
    Chain::new("main").then(add("a")).then(fails("b")).then(add("c"))
}

#[tokio::test]
async fn gains_045_without_a_policy_nothing_goes_on_after_a_failure() {
    // There is no switch that does nothing without a handler: what may go on is said per step or by a policy.
    let outcome = crate::common::run(a_fails_c()).await;
    assert_eq!(blamed(&outcome.error.unwrap()).0, "b");
    assert_eq!(outcome.state.steps, ["a", "b"]);
}

#[tokio::test]
async fn gains_046_a_policy_that_continues_lets_the_next_step_run() {
    let (events, outcome) = Policy::new(|| Recovery::Continue).watch(a_fails_c()).await;
    assert_eq!(outcome.completed().unwrap().steps, ["a", "b", "c"]);
    assert!(told(&events).contains(&"main/b skipped".to_owned()));
}

#[tokio::test]
async fn gains_047_a_policy_that_stops_ends_the_chain_well() {
    let (_, outcome) = Policy::new(|| Recovery::Stop).watch(a_fails_c()).await;
    assert_eq!(outcome.completed().unwrap().steps, ["a", "b"]);
}

#[tokio::test]
async fn gains_048_054_a_policy_s_own_error_takes_the_place_of_the_step_s() {
    let policy = Policy::new(|| Recovery::FailWith(Error::failed(Oops("the policy".into()))));
    let (events, outcome) = policy.watch(a_fails_c()).await;
    let error = outcome.error.unwrap();
    assert_eq!(blamed(&error).0, "b");
    assert_eq!(error.downcast_ref::<Oops>(), Some(&Oops("the policy".into())));
    assert_eq!(outcome.state.steps, ["a", "b"]);
    assert_eq!(end(&events).error.as_deref(), Some("step `b` failed: oops from the policy"));
}

#[tokio::test]
async fn gains_049_a_policy_is_asked_once_and_sees_the_original_error() {
    let policy = Policy::new(|| Recovery::Fail);
    policy.watch(a_fails_c()).await.1.completed().unwrap_err();
    assert_eq!(policy.asked(), [("b".to_owned(), "oops from b".to_owned())]);
}

#[tokio::test]
async fn gains_050_a_policy_is_asked_once_however_deep_the_failure_is() {
    let deep = || Chain::new("o").then(Chain::new("i").then(Chain::new("ii").then(fails("x"))));
    for decision in [Recovery::Continue, Recovery::Stop, Recovery::Fail] {
        let policy = Policy::new(move || decision.clone());
        assert!(policy.watch(deep()).await.1.status.is_final());
        assert_eq!(policy.asked(), [("x".to_owned(), "oops from x".to_owned())]);
    }
}

#[tokio::test]
async fn gains_051_stopping_ends_the_inner_chain_only() {
    let chain = Chain::new("o").then(Chain::new("i").then(fails("x")).then(add("y"))).then(add("z"));
    let (_, outcome) = Policy::new(|| Recovery::Stop).watch(chain).await;
    assert_eq!(outcome.completed().unwrap().steps, ["x", "z"]);
}

#[tokio::test]
async fn what_a_step_says_about_itself_comes_before_the_policy() {
    let policy = Policy::new(|| Recovery::Continue);
    let chain = Chain::new("main").then_or(fails("b"), OnError::Fail).then(add("c"));
    let (_, outcome) = policy.watch(chain).await;
    assert_eq!(blamed(&outcome.error.unwrap()).0, "b");
    assert!(policy.asked().is_empty());
}

#[tokio::test]
async fn a_policy_can_be_given_to_a_part_of_a_run() {
    let part = Chain::new("part").then(fails("x")).then(add("y"));
    let part = part.on_failure(|_: &StepFailure<'_>| Recovery::Continue);
    let outcome = crate::common::run(Chain::new("main").then(part).then(fails("z"))).await;
    assert_eq!(blamed(&outcome.error.unwrap()).0, "z");
    assert_eq!(outcome.state.steps, ["x", "y", "z"]);
}

#[tokio::test]
async fn a_policy_that_panics_fails_the_chain() {
    let policy = Policy::new(|| panic!("a bug"));
    let (events, outcome) = policy.watch(a_fails_c()).await;
    assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == "main"));
    assert_eq!(told_of_steps(&events).last().unwrap(), "main failed");
}
