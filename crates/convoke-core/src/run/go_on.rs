//! Resuming a stored run by its record, through a registry of workflows.

use std::future::IntoFuture;
use std::sync::Arc;

use serde_json::Value;

use super::start::EVENT_BUFFER;
use super::task::{attended, watched};
use super::{Outcome, Polls, Registry, Replay, RunOptions, RunStream, Runner, Runtime, drive};
use crate::event::{EventSender, event_channel};
use crate::step::BoxFuture;
use crate::store::StoreError;
use crate::{Error, RunId};

/// A stored run about to go on. Await it for its [`Outcome`], or [`stream`](Self::stream) its events.
#[derive(Debug)]
#[must_use = "a run does not go on until it is awaited or streamed"]
pub struct GoOn {
    runtime: Runtime,
    registry: Registry,
    run: RunId,
    options: RunOptions,
}

impl Runtime {
    /// A stored run, whatever its workflow, about to go on: its record says which workflow and version it is of, and within which
    /// limits it runs.
    ///
    /// ```
    /// use convoke_core::{Registry, RunId, Runtime};
    ///
    /// async fn answered(runtime: &Runtime, registry: &Registry, run: RunId) -> Result<(), convoke_core::Error> {
    ///     let outcome = runtime.go_on(registry, run).await?;
    ///     println!("{}: {}", outcome.status, outcome.state);
    ///     Ok(())
    /// }
    /// ```
    pub fn go_on(&self, registry: &Registry, run: RunId) -> GoOn {
        let (runtime, registry) = (self.clone(), registry.clone());
        GoOn { runtime, registry, run, options: RunOptions::default() }
    }

    /// Runs a stored run again with the journal answering every effect, whatever its workflow. See [`replay`](Self::replay).
    ///
    /// # Errors
    /// If there is no such run, or its workflow is not known.
    pub async fn replay_any(&self, registry: &Registry, run: &RunId) -> Result<Replay<Value>, Error> {
        find(self, registry, run).await?.replay(self, run).await
    }
}

impl GoOn {
    /// Goes on like this: what to do if somebody else is working on the run, what ends it, and what holds from now on.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Goes on with the run on a task of its own and gives its events. Dropping the stream cancels the run.
    ///
    /// Must be called within a Tokio runtime.
    #[must_use]
    pub fn stream(mut self) -> RunStream<Value> {
        let (sender, receiver) = event_channel(EVENT_BUFFER);
        let (canceller, polls) = (self.options.own_canceller(), Arc::default());
        let task = tokio::spawn(self.drive(Some(sender), Arc::clone(&polls)));
        RunStream::new(receiver, watched(task, polls, canceller.clone()), canceller)
    }

    async fn drive(self, reader: Option<EventSender>, polls: Arc<Polls>) -> Result<Outcome<Value>, Error> {
        let Self { runtime, registry, run, options } = self;
        match find(&runtime, &registry, &run).await {
            Ok(runner) => runner.go_on(&runtime, run, options, reader, polls).await,
            Err(error) => {
                drive::report_refused(&runtime.services, reader, Some(run), "", &error).await;
                Err(error)
            }
        }
    }
}

impl IntoFuture for GoOn {
    type Output = Result<Outcome<Value>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        let (canceller, polls) = (self.options.own_canceller(), Arc::default());
        let work = Box::pin(self.drive(None, Arc::clone(&polls)));
        attended(work, polls, canceller)
    }
}

async fn find(runtime: &Runtime, registry: &Registry, run: &RunId) -> Result<Runner, Error> {
    let record = runtime.store()?.run(run).await?;
    registry.for_run(&record.ok_or_else(|| StoreError::NotFound { run: run.clone() })?)
}
