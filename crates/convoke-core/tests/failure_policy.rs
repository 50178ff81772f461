//! Failure policies of runs: gains' error handler.

use std::sync::{Arc, Mutex};

use crate::common::events::{end, failures, skipped, told, told_of_steps};
use crate::common::{Oops, Trail, add, blamed, fails};
use convoke_core::{Error, Event, Outcome, Recovery, Runtime, Step, StepFailure, Workflow};
use convoke_steps::{Chain, OnError, StepExt};

/// The name of a failed step, and its own error if that is what was shown.
type StoredReceive = (String, Option<Oops>);

/// Decides, and remembers what it was asked.
#[derive(Clone)]
struct Policy {
    asked: Arc<Mutex<Vec<StoredReceive>>>,
    decide: Arc<dyn Fn() -> Recovery + Send + Sync>,
}

impl Policy {
    fn new(decide: impl Fn() -> Recovery + Send + Sync + 'static) -> Self {
        Self { asked: Arc::default(), decide: Arc::new(decide) }
    }

    /// The failed steps it was asked about in one run, each with the error it was shown.
    fn asked(&self) -> Vec<StoredReceive> {
        self.asked.lock().unwrap().clone()
    }

    fn recover(&self, failure: &StepFailure<'_>) -> Recovery {
        // Only the step's own error will do, not one that is wrapped in others.
        let original = match failure.error {
            Error::Failed(_) => failure.error.downcast_ref::<Oops>().cloned(),
            _ => None,
        };
        self.asked.lock().unwrap().push((failure.step.to_owned(), original));
        (self.decide)()
    }

    /// Runs a step twice, unheard and heard: it must make no difference, not to what is asked either.
    async fn watch(&self, step: impl Step<Trail> + 'static) -> (Vec<Event>, Outcome<Trail>) {
        let own = self.clone();
        let runtime =
            Runtime::builder().on_failure(move |failure: &StepFailure<'_>| own.recover(failure)).build();
        let workflow = Workflow::new(step);
        let quiet = runtime.start(&workflow, Trail::default()).await.unwrap();
        let asked_unheard = std::mem::take(&mut *self.asked.lock().unwrap());
        let (events, heard) = runtime.start(&workflow, Trail::default()).stream().collect().await;
        crate::common::events::must_be_well_formed(&events);
        let heard = heard.unwrap();
        assert_eq!((quiet.status, quiet.state), (heard.status, heard.state.clone()), "heard or not");
        let text = |error: &Option<Error>| error.as_ref().map(Error::to_string);
        assert_eq!(text(&quiet.error), text(&heard.error), "heard or not");
        assert_eq!(asked_unheard, self.asked(), "heard or not");
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
    assert_eq!(skipped(&events), [("main/b", "oops from b")]);
}

#[tokio::test]
async fn gains_052_a_failure_that_a_policy_forgives_does_not_end_the_run() {
    let (events, _) = Policy::new(|| Recovery::Continue).watch(a_fails_c()).await;
    let expected = [
        "run started",
        "main started",
        "main/a started",
        "main/a completed",
        "main/b started",
        "main/b failed",
        "main/b skipped",
        "main/c started",
        "main/c completed",
        "main completed",
        "run completed",
    ];
    assert_eq!(told(&events), expected);
    assert_eq!(end(&events).error, None);
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
    // That `b` failed as it did is told of `b` alone.
    let told = [("main/b", "oops from b"), ("main", "step `b` failed: oops from the policy")];
    assert_eq!(failures(&events), told);
}

#[tokio::test]
async fn gains_049_a_policy_is_asked_once_and_sees_the_original_error() {
    let policy = Policy::new(|| Recovery::Fail);
    policy.watch(a_fails_c()).await.1.completed().unwrap_err();
    assert_eq!(policy.asked(), [("b".to_owned(), Some(Oops("b".into())))]);
    let forgiving = Policy::new(|| Recovery::Continue);
    forgiving.watch(Chain::new("main").then(fails("b")).then(fails("c"))).await.1.completed().unwrap();
    let each = ["b", "c"].map(|step| (step.to_owned(), Some(Oops(step.into()))));
    assert_eq!(forgiving.asked(), each, "once per failure");
}

#[tokio::test]
async fn gains_050_a_policy_is_asked_once_however_deep_the_failure_is() {
    let deep = || Chain::new("o").then(Chain::new("i").then(Chain::new("ii").then(fails("x"))));
    for decision in [Recovery::Continue, Recovery::Stop, Recovery::Fail] {
        let policy = Policy::new(move || decision.clone());
        assert!(policy.watch(deep()).await.1.status.is_final());
        assert_eq!(policy.asked(), [("x".to_owned(), Some(Oops("x".into())))]);
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
