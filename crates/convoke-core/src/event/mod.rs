//! What a run tells whoever listens.
//!
//! Every run has one stream of events. It is ordered (sequence numbers without gaps), lossless (a full buffer makes the
//! run wait, nothing is dropped) and well formed on every way out: what was started is ended, also on failure,
//! cancellation, time-out and panic, and exactly one [`EventKind::RunEnded`] comes last.
//!
//! `step failed` is not `run failed`: a failed step whose parent goes on is a [`StepEnd::Failed`] like any other.

mod call;
mod kind;
mod reader;
mod sequencer;

use serde::{Deserialize, Serialize};

pub use call::{AgentStart, CallOutcome, ModelCall, ModelCallEnd};
pub use kind::{EventKind, RunEnd, StepEnd};
pub(crate) use reader::{EventReceiver, EventSender, event_channel};
pub(crate) use sequencer::Sequencer;

use crate::{Path, RunId, Timestamp};

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The run.
    pub run: RunId,
    /// The event's number in the run's stream, from 1. A resumed run counts anew.
    pub seq: u64,
    /// Where it happened; empty for the run itself.
    pub path: Path,
    /// When it was reported.
    pub at: Timestamp,
    /// Whether it was told from the journal instead of happening now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Somebody who is told every event of every run of a runtime, in order, before anybody who reads the stream.
///
/// Called in the middle of the run: it must be quick and must not block. A log, a trace exporter's queue, a counter.
pub trait Observer: Send + Sync {
    /// Takes notice.
    fn observe(&self, event: &Event);

    /// Takes notice of a run of this workflow that is refused before it begins. The event of its end comes next, and is
    /// its only one.
    fn run_refused(&self, run: &RunId, workflow: &str) {
        let _ = (run, workflow);
    }

    /// Takes notice of an agent that begins to work, in order with the events.
    fn agent_started(&self, agent: &AgentStart<'_>) {
        let _ = agent;
    }

    /// Takes notice of a call of a model that is about to be made, in order with the events.
    fn model_call_started(&self, call: &ModelCall<'_>) {
        let _ = call;
    }

    /// Takes notice of the end of a call.
    fn model_call_ended(&self, end: &ModelCallEnd<'_>) {
        let _ = end;
    }
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event) {
        self(event);
    }
}
