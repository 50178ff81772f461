//! Runs: starting, resuming, watching, replaying and forking them.

mod drive;
mod fork;
mod outcome;
mod prepare;
mod published;
mod registry;
mod replay;
mod retry;
mod runtime;
mod start;
mod stream;
mod waiting;
mod workflow;

use std::sync::{Arc, Mutex, PoisonError};

pub use fork::Fork;
pub use outcome::Outcome;
pub(crate) use published::Published;
pub use registry::{Registry, Runner};
pub use replay::Replay;
pub use retry::{InvalidRetry, RetryPolicy};
pub use runtime::{FORBID_LIVE_MODELS, Runtime, RuntimeBuilder};
pub use start::{RunOptions, Start, WhenBusy};
pub use stream::RunStream;
pub(crate) use waiting::Waiting;
pub use workflow::{State, Workflow};

use crate::event::Sequencer;
use crate::journal::RunJournal;
use crate::message::Usage;
use crate::store::Totals;
use crate::{Observer, OnDoubt, Responder, RunId, Settings, Store};

/// What a run is made of; every scope of the run refers to it.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) seed: u64,
    pub(crate) services: Arc<Services>,
    pub(crate) journal: Option<RunJournal>,
    pub(crate) events: Sequencer,
    pub(crate) published: Published,
    pub(crate) waiting: Waiting,
    totals: Mutex<Totals>,
}

/// What a runtime provides to all its runs.
pub(crate) struct Services {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) responder: Option<Arc<dyn Responder>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) on_doubt: OnDoubt,
    pub(crate) forbid_live_models: bool,
}

impl Run {
    pub(crate) fn new(
        id: RunId,
        seed: u64,
        services: Arc<Services>,
        journal: Option<RunJournal>,
        events: Sequencer,
    ) -> Self {
        Self {
            id,
            seed,
            services,
            journal,
            events,
            published: Published::default(),
            waiting: Waiting::default(),
            totals: Mutex::default(),
        }
    }

    pub(crate) fn count_model_call(&self, usage: Usage) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.model_calls += 1;
        totals.usage += usage;
    }

    pub(crate) fn count_tool_call(&self) {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).tool_calls += 1;
    }

    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
