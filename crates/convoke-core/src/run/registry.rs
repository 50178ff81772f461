//! Workflows by name, started with JSON: for servers, command lines and agents.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;

use super::attend::{attended, watched};
use super::start::EVENT_BUFFER;
use super::{Outcome, Polls, RunOptions, RunStream, Runtime, State, Workflow, drive};
use crate::event::{EventSender, event_channel};
use crate::step::{BoxFuture, Outline};
use crate::{Error, Path, RunId, Scope, json};

/// A workflow whose state is hidden behind JSON.
#[derive(Clone)]
pub struct Runner {
    name: Arc<str>,
    inner: Arc<dyn Erased>,
}

type Factory<S> = Arc<dyn Fn(Option<Value>) -> Result<S, Error> + Send + Sync>;

struct Typed<S> {
    workflow: Workflow<S>,
    factory: Factory<S>,
}

/// What can be done with a workflow without knowing its state's type.
trait Erased: Send + Sync {
    fn drive(
        &self,
        runtime: &Runtime,
        request: Request,
        reader: Option<EventSender>,
        polls: Arc<Polls>,
    ) -> BoxFuture<'static, Result<Outcome<Value>, Error>>;

    fn run_within<'a>(
        &'a self,
        scope: &'a Scope,
        input: Option<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    fn outline(&self) -> Outline;
}

struct Request {
    input: Option<Value>,
    id: Option<RunId>,
    options: RunOptions,
}

impl Runner {
    /// Runs a workflow whose initial state is the input, or the default without one.
    pub fn new<S: State + Default>(workflow: &Workflow<S>) -> Self {
        Self::with_factory(workflow, |input| match input {
            None | Some(Value::Null) => Ok(S::default()),
            Some(input) => serde_json::from_value(input).map_err(|error| {
                let state = std::any::type_name::<S>();
                Error::Refused(format!("the input cannot be unmarshalled into a {state}: {error}").into())
            }),
        })
    }

    /// Runs a workflow whose initial state this function makes of the input.
    pub fn with_factory<S: State>(
        workflow: &Workflow<S>,
        factory: impl Fn(Option<Value>) -> Result<S, Error> + Send + Sync + 'static,
    ) -> Self {
        let typed = Typed { workflow: workflow.clone(), factory: Arc::new(factory) };
        Self { name: workflow.name().into(), inner: Arc::new(typed) }
    }

    /// The workflow's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the workflow is made of.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.inner.outline()
    }

    /// Runs it, and gives its outcome with the final state as JSON.
    ///
    /// # Errors
    /// If it could not be started.
    pub async fn run(
        &self,
        runtime: &Runtime,
        input: Option<Value>,
        id: Option<RunId>,
        mut options: RunOptions,
    ) -> Result<Outcome<Value>, Error> {
        let (canceller, polls) = (options.own_canceller(), Arc::default());
        let work = self.inner.drive(runtime, Request { input, id, options }, None, Arc::clone(&polls));
        attended(work, polls, canceller).await
    }

    /// Begins it on a task of its own and gives its events. Must be called within a Tokio runtime.
    #[must_use]
    pub fn stream(
        &self,
        runtime: &Runtime,
        input: Option<Value>,
        id: Option<RunId>,
        mut options: RunOptions,
    ) -> RunStream<Value> {
        let (sender, receiver) = event_channel(EVENT_BUFFER);
        let (canceller, polls) = (options.own_canceller(), Arc::default());
        let request = Request { input, id, options };
        let task = tokio::spawn(self.inner.drive(runtime, request, Some(sender), Arc::clone(&polls)));
        RunStream::new(receiver, watched(task, polls, canceller.clone()), canceller)
    }

    /// Runs its steps as part of another run, and gives the state they came to.
    ///
    /// # Errors
    /// What its steps fail with.
    pub async fn run_within(&self, scope: &Scope, input: Option<Value>) -> Result<Value, Error> {
        self.inner.run_within(scope, input).await
    }
}

impl<S: State> Erased for Typed<S> {
    fn drive(
        &self,
        runtime: &Runtime,
        request: Request,
        reader: Option<EventSender>,
        polls: Arc<Polls>,
    ) -> BoxFuture<'static, Result<Outcome<Value>, Error>> {
        let (runtime, workflow, factory) =
            (runtime.clone(), self.workflow.clone(), Arc::clone(&self.factory));
        Box::pin(async move {
            let Request { input, id, options } = request;
            let made = catch_unwind(AssertUnwindSafe(|| factory(input)));
            let state = match made.unwrap_or_else(|panic| Err(Error::panicked(&Path::from(""), &*panic))) {
                Ok(state) => state,
                Err(error) => {
                    drive::report_refused(&runtime.services, reader, id, workflow.name(), &error).await;
                    return Err(error);
                }
            };
            let mut start = runtime.start(&workflow, state);
            start.id = id;
            start.options = options;
            let Outcome { run, status, state, error, totals } = drive::drive(start, reader, polls).await?;
            let state = json::to_value(&state).unwrap_or(Value::Null);
            Ok(Outcome { run, status, state, error, totals })
        })
    }

    fn run_within<'a>(
        &'a self,
        scope: &'a Scope,
        input: Option<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let mut state = (self.factory)(input)?;
            scope.run(&**self.workflow.root(), &mut state).await?;
            json::to_value(&state)
        })
    }

    fn outline(&self) -> Outline {
        self.workflow.outline()
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("name", &self.name).finish()
    }
}

/// Runners by name. Shared and changed freely; runs under way keep the workflow they began with.
#[derive(Debug, Default)]
pub struct Registry {
    runners: RwLock<BTreeMap<String, Runner>>,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a runner under its name, in the place of one that had it before.
    pub fn register(&self, runner: Runner) {
        self.write().insert(runner.name().to_owned(), runner);
    }

    /// Takes a runner out. Says whether it was there.
    pub fn unregister(&self, name: &str) -> bool {
        self.write().remove(name).is_some()
    }

    /// The runner with this name.
    ///
    /// # Errors
    /// Says which there are.
    pub fn get(&self, name: &str) -> Result<Runner, Error> {
        let runners = self.read();
        runners.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = runners.keys().map(String::as_str).collect();
            let known = if names.is_empty() { "none is registered".into() } else { names.join(", ") };
            Error::Refused(format!("workflow not found: {name} (known: {known})").into())
        })
    }

    /// Whether there is a runner with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// All names, in alphabetical order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    /// How many runners there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Begins the named workflow and gives its events. An unknown name gives one event: the end.
    #[must_use]
    pub fn stream(
        &self,
        runtime: &Runtime,
        name: &str,
        input: Option<Value>,
        id: Option<RunId>,
        mut options: RunOptions,
    ) -> RunStream<Value> {
        match self.get(name) {
            Ok(runner) => runner.stream(runtime, input, id, options),
            Err(error) => {
                let (sender, receiver) = event_channel(EVENT_BUFFER);
                let (services, canceller) = (Arc::clone(&runtime.services), options.own_canceller());
                let name = name.to_owned();
                let task = tokio::spawn(async move {
                    drive::report_refused(&services, Some(sender), id, &name, &error).await;
                    Err(error)
                });
                RunStream::new(receiver, watched(task, Arc::default(), canceller.clone()), canceller)
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Runner>> {
        self.runners.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Runner>> {
        self.runners.write().unwrap_or_else(PoisonError::into_inner)
    }
}
