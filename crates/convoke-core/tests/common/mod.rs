//! What several topics need.

pub(crate) mod events;
pub(crate) mod gauge;
pub(crate) mod meddling;
pub(crate) mod stored;
pub(crate) mod tools;

use std::time::Duration;

use convoke_core::{Error, Event, Outcome, Runtime, State, Step, Workflow};
use convoke_models::ScriptedModel;
use convoke_steps::{AsyncFunc, Func, func, task_boxed};
use serde::{Deserialize, Serialize};

/// The user's own error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("oops from {0}")]
pub(crate) struct Oops(pub(crate) String);

/// A state that remembers which steps ran on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trail {
    pub(crate) steps: Vec<String>,
    pub(crate) text: String,
    pub(crate) count: u64,
}

impl Trail {
    pub(crate) fn saying(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// A step that leaves its name.
pub(crate) fn add(name: &str) -> Func<Trail> {
    let own = name.to_owned();
    func(name, move |trail: &mut Trail| {
        trail.steps.push(own.clone());
        Ok::<_, Error>(())
    })
}

/// A step that leaves its name and fails.
pub(crate) fn fails(name: &str) -> Func<Trail> {
    let own = name.to_owned();
    func(name, move |trail: &mut Trail| {
        trail.steps.push(own.clone());
        Err(Oops(own.clone()))
    })
}

/// A step that counts.
pub(crate) fn count(name: &str) -> Func<Trail> {
    func(name, |trail: &mut Trail| {
        trail.count += 1;
        Ok::<_, Error>(())
    })
}

/// A step that takes its time, then leaves its name. It never looks at its scope.
pub(crate) fn slow(name: &str, millis: u64) -> AsyncFunc<Trail> {
    let own = name.to_owned();
    task_boxed(name, move |_, trail: &mut Trail| {
        let own = own.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            trail.steps.push(own);
            Ok(())
        })
    })
}

/// A step that waits as steps should, then leaves its name.
pub(crate) fn waits(name: &str, millis: u64) -> AsyncFunc<Trail> {
    let own = name.to_owned();
    task_boxed(name, move |scope, trail: &mut Trail| {
        let own = own.clone();
        Box::pin(async move {
            scope.sleep(Duration::from_millis(millis)).await?;
            trail.steps.push(own);
            Ok(())
        })
    })
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn at_once(branches: usize) -> std::num::NonZeroUsize {
    std::num::NonZeroUsize::new(branches).unwrap()
}

/// A runtime whose steps ask this model.
pub(crate) fn with_model(model: &ScriptedModel) -> Runtime {
    Runtime::builder().model(model.clone()).build()
}

/// Runs a step from an empty state.
pub(crate) async fn run<S: State + Default>(step: impl Step<S> + 'static) -> Outcome<S> {
    run_on(&Runtime::new(), step, S::default()).await
}

pub(crate) async fn run_on<S: State>(
    runtime: &Runtime,
    step: impl Step<S> + 'static,
    state: S,
) -> Outcome<S> {
    runtime.start(&Workflow::new(step), state).await.unwrap()
}

/// Runs a step from an empty state and listens.
pub(crate) async fn watch<S: State + Default>(step: impl Step<S> + 'static) -> (Vec<Event>, Outcome<S>) {
    watch_on(&Runtime::new(), step, S::default()).await
}

pub(crate) async fn watch_on<S: State>(
    runtime: &Runtime,
    step: impl Step<S> + 'static,
    state: S,
) -> (Vec<Event>, Outcome<S>) {
    let (events, outcome) = runtime.start(&Workflow::new(step), state).stream().collect().await;
    events::must_be_well_formed(&events);
    (events, outcome.unwrap())
}

/// The step a parent says failed, and why it did.
pub(crate) fn blamed(error: &Error) -> (&str, &Error) {
    match error {
        Error::Step(step) => (&step.step, &step.source),
        other => panic!("this is not the error of a step: {other:?}"),
    }
}

/// The names of the branches that failed.
pub(crate) fn failed_branches(error: &Error) -> Vec<&str> {
    match error {
        Error::Branches(branches) => branches.failures.iter().map(|failure| &*failure.branch).collect(),
        other => panic!("this is not the error of branches: {other:?}"),
    }
}
