//! Type-erased workflows with JSON states: for servers, command lines and agents.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::replay::ReplayRange;
use super::start::{EVENT_BUFFER, Start, StartFrom};
use super::task::{attended, watched};
use super::{Outcome, Polls, Replay, RunOptions, RunStream, Runtime, State, Workflow, drive};
use crate::event::{EventSender, event_channel};
use crate::step::{BoxFuture, Outline};
use crate::store::{NewRun, RunRecord};
use crate::{Entry, Error, Path, RunId, Scope, json};

/// A workflow whose state is hidden behind JSON.
#[derive(Clone)]
pub struct Runner {
    name: Arc<str>,
    version: u32,
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

    fn replay<'a>(
        &'a self,
        runtime: &'a Runtime,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Replay<Value>, Error>>;

    fn account<'a>(
        &'a self,
        runtime: &'a Runtime,
        record: &'a RunRecord,
        entries: &'a [Entry],
        part: ReplayRange,
    ) -> BoxFuture<'a, Result<Replay<()>, Error>>;

    fn outline(&self) -> Outline;

    fn new_run(&self, id: RunId, input: Bytes) -> NewRun;
}

/// A run that is asked for.
struct Request {
    beginning: StartFrom<Option<Value>>,
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
        Self { name: workflow.name().into(), version: workflow.version_number(), inner: Arc::new(typed) }
    }

    /// The workflow's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The workflow's version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the structure of the workflow's steps.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.inner.outline()
    }

    /// A run of it that begins with this state, as JSON, for [`Store::create`](crate::Store::create).
    pub fn new_run(&self, id: RunId, input: impl Into<Bytes>) -> NewRun {
        self.inner.new_run(id, input.into())
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
        let work = self.inner.drive(
            runtime,
            Request { beginning: StartFrom::Fresh(input), id, options },
            None,
            Arc::clone(&polls),
        );
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
        let request = Request { beginning: StartFrom::Fresh(input), id, options };
        let task = tokio::spawn(self.inner.drive(runtime, request, Some(sender), Arc::clone(&polls)));
        RunStream::new(receiver, watched(task, polls, canceller.clone()), canceller)
    }

    /// Goes on with a stored run of it.
    pub(super) fn go_on(
        &self,
        runtime: &Runtime,
        run: RunId,
        options: RunOptions,
        reader: Option<EventSender>,
        polls: Arc<Polls>,
    ) -> BoxFuture<'static, Result<Outcome<Value>, Error>> {
        self.inner.drive(
            runtime,
            Request { beginning: StartFrom::Stored, id: Some(run), options },
            reader,
            polls,
        )
    }

    /// Runs a stored run of it again with the journal answering every effect, as [`Runtime::replay`] does.
    ///
    /// # Errors
    /// If there is no such run, or it belongs to another workflow.
    pub async fn replay(&self, runtime: &Runtime, run: &RunId) -> Result<Replay<Value>, Error> {
        self.inner.replay(runtime, run).await
    }

    /// A part of the account of a stored run of it, as far as these entries go.
    pub(super) async fn account(
        &self,
        runtime: &Runtime,
        record: &RunRecord,
        entries: &[Entry],
        part: ReplayRange,
    ) -> Result<Replay<()>, Error> {
        self.inner.account(runtime, record, entries, part).await
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
            let Request { beginning, id, options } = request;
            let made = match beginning {
                StartFrom::Stored => Ok(StartFrom::Stored),
                StartFrom::Fresh(input) => catch_unwind(AssertUnwindSafe(|| factory(input)))
                    .unwrap_or_else(|panic| Err(Error::panicked(&Path::from(""), &*panic)))
                    .map(StartFrom::Fresh),
            };
            let beginning = match made {
                Ok(beginning) => beginning,
                Err(error) => {
                    drive::report_refused(&runtime.services, reader, id, workflow.name(), &error).await;
                    return Err(error);
                }
            };
            let start = Box::new(Start { options, ..Start::with(runtime, workflow, id, beginning) });
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

    fn replay<'a>(
        &'a self,
        runtime: &'a Runtime,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Replay<Value>, Error>> {
        Box::pin(async move {
            let Replay { state, error, events, unused } = runtime.replay(&self.workflow, run).await?;
            Ok(Replay { state: json::to_value(&state)?, error, events, unused })
        })
    }

    fn account<'a>(
        &'a self,
        runtime: &'a Runtime,
        record: &'a RunRecord,
        entries: &'a [Entry],
        part: ReplayRange,
    ) -> BoxFuture<'a, Result<Replay<()>, Error>> {
        Box::pin(async move {
            let replay = runtime.account(&self.workflow, record, entries, part).await?;
            let Replay { error, events, unused, .. } = replay;
            Ok(Replay { state: (), error, events, unused })
        })
    }

    fn outline(&self) -> Outline {
        self.workflow.outline()
    }

    fn new_run(&self, id: RunId, input: Bytes) -> NewRun {
        self.workflow.new_run(id, input)
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("name", &self.name).finish()
    }
}
