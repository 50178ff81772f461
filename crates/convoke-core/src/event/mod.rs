//! Events of runs.
//!
//! Every run has one stream of events. It is ordered (sequence numbers without gaps), lossless (a full buffer makes the
//! run wait, nothing is dropped) and well formed on every way out: what was started is ended, also on failure,
//! cancellation, time-out and panic, and exactly one [`EventKind::RunEnded`] comes last.
//!
//! `step failed` is not `run failed`: a failed step whose parent goes on is a [`StepEnd::Failed`] like any other.

mod feed;
mod kind;
mod position;
mod reader;
mod sequencer;

use serde::{Deserialize, Serialize};

pub(crate) use feed::{EventFeed, FeedReader};
pub use kind::{EventKind, ModelCall, ModelCallEnd, RunEnd, StepEnd};
pub(crate) use position::LogicalTime;
pub use position::{InvalidPosition, Moment, Position};
pub(crate) use reader::{EventReceiver, EventSender, event_channel};
pub(crate) use sequencer::{Emission, EventSelection, Sequencer};

use crate::{Path, RunId, Timestamp};

/// An event of a run.
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
    /// Where it stands in the account of the run, which is the same whoever tells it; `None` if it is of this moment only: part of what
    /// is superseded by its end (the words of a reply as they come), or the end of something that was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Observes every event of every run of a runtime, in order, before anybody who reads the stream.
///
/// Called in the middle of the run: it must be quick and must not block. A log, a trace exporter's queue, a counter.
pub trait Observer: Send + Sync {
    /// Takes notice.
    fn observe(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event) {
        self(event);
    }
}
