//! What is told of a run while it happens, in order: its events, and its calls of models.
//!
//! The stream of events knows nothing of calls that are part of the machinery, such as a supervisor's; observers do, and
//! what they see is in order with the events. So the stream only says that there is something new, and this has it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::{CallOutcome, ModelCall, ModelCallEnd};
use convoke_core::{Event, Observer, Path, Timestamp, Usage};

/// Something that happened.
#[derive(Debug, Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "most of what is told are events; how large they are depends on the build"
)]
pub(crate) enum Told {
    /// An event of the run.
    Event(Event),
    /// A model is asked, really: not when a journal answers.
    Asked { path: Path, call: String, model: String, at: Timestamp },
    /// It answered, or did not.
    Replied { path: Path, call: String, usage: Option<Usage>, error: Option<String>, at: Timestamp },
}

/// Listens to a run. Clones share what they hear.
///
/// Whoever reads the run's stream takes what was heard each time: the stream is bounded, so this is.
#[derive(Clone, Default)]
pub(crate) struct Telling(Arc<Mutex<VecDeque<Told>>>);

impl Telling {
    /// What was told since the last time, oldest first.
    pub(crate) fn take(&self) -> VecDeque<Told> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, told: Told) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(told);
    }
}

impl Observer for Telling {
    fn observe(&self, event: &Event) {
        self.note(Told::Event(event.clone()));
    }

    fn model_call_started(&self, call: &ModelCall<'_>) {
        self.note(Told::Asked {
            path: call.path.clone(),
            call: call.id.to_owned(),
            model: call.model.to_owned(),
            at: call.at,
        });
    }

    fn model_call_ended(&self, end: &ModelCallEnd<'_>) {
        let error = match end.outcome {
            CallOutcome::Failed(error) => Some(error.to_string()),
            CallOutcome::Replied(_) | CallOutcome::Dropped => None,
        };
        self.note(Told::Replied {
            path: end.path.clone(),
            call: end.id.to_owned(),
            usage: end.usage,
            error,
            at: end.at,
        });
    }
}
