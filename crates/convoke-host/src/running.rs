//! An active run: its events, and in the end what came of it.

use convoke_core::{Canceller, Error, Event, Outcome, RunStream};
use convoke_telemetry::Delivery;
use serde_json::Value;

use crate::prepared::PreparedRun;
use crate::telemetry::RunTelemetry;
use crate::{HostError, Manifest};

/// A run under way: its events, and in the end what came of it. Dropping it cancels the run, which can be gone on with.
#[must_use = "a run is cancelled when nobody holds it"]
pub struct ActiveRun {
    stream: RunStream<Value>,
    prepared: PreparedRun,
    telemetry: RunTelemetry,
    notes: Vec<String>,
}

impl ActiveRun {
    pub(crate) fn new(stream: RunStream<Value>, prepared: PreparedRun, telemetry: RunTelemetry) -> Self {
        Self { stream, prepared, telemetry, notes: Vec::new() }
    }

    pub(crate) fn noting(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// Returns what was worth saying while it was prepared.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.stream.next().await
    }

    /// Ends the run from outside.
    #[must_use]
    pub fn canceller(&self) -> &Canceller {
        self.stream.canceller()
    }

    /// Takes it apart: the events of the run, and what is to be [let go of](RunCleanup::finish) when it is over.
    pub fn into_parts(self) -> (RunStream<Value>, RunCleanup) {
        (self.stream, RunCleanup { prepared: self.prepared, telemetry: self.telemetry })
    }

    /// Waits for the end of the run, delivers its telemetry, and lets go of everything.
    ///
    /// # Errors
    /// If the run could not be started, or the store failed. What failed in the run is in its outcome.
    pub async fn finish(self) -> Result<FinishedRun, HostError> {
        let (stream, after) = self.into_parts();
        let outcome = stream.outcome().await;
        let finished = outcome.map(|outcome| after.finished(outcome));
        after.finish().await;
        Ok(finished?)
    }
}

/// The resources of a run that is over, until they are let go of.
#[must_use = "servers and traces are waiting to be let go of"]
pub struct RunCleanup {
    /// What it was prepared with.
    pub prepared: PreparedRun,
    telemetry: RunTelemetry,
}

impl RunCleanup {
    /// Returns what came of it, by what the run ended with.
    #[must_use]
    pub fn finished(&self, outcome: Outcome<Value>) -> FinishedRun {
        let result =
            outcome.error.is_none().then(|| self.prepared.definition().result(&outcome.state)).flatten();
        FinishedRun { outcome, result, manifest: self.prepared.manifest().clone() }
    }

    /// Lets go of servers, which are given a moment to end, and delivers what is left of traces, for a few seconds at most.
    pub async fn finish(self) -> Delivery {
        self.prepared.close().await;
        self.telemetry.finish().await
    }

    /// The same in two steps, for whoever may be told to stop in between.
    pub async fn close(self) -> RunTelemetry {
        self.prepared.close().await;
        self.telemetry
    }
}

/// A finished run and its result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FinishedRun {
    /// How it ended.
    pub outcome: Outcome<Value>,
    result: Option<String>,
    manifest: Manifest,
}

impl FinishedRun {
    /// The result as text, if it completed.
    #[must_use]
    pub fn result(&self) -> Option<&str> {
        self.result.as_deref()
    }

    /// Returns the error that it ended with, if it did not complete.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.outcome.error.as_ref()
    }

    /// Returns what its record keeps for going on with it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}
