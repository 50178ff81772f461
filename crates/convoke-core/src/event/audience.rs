//! The live event feed: listeners to runs of this process beside those who started them.
//!
//! They read what has happened from the journal. What is under way, and may never be in a journal (the words of a reply as they come),
//! they are told here. Nobody waits for them: whoever is too slow misses some of it, and finds the whole of it at its end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

use super::Event;
use crate::RunId;

/// How much of what is under way may wait for a slow reader.
const WAITING: usize = 256;

/// All who listen.
#[derive(Default)]
pub(crate) struct Audience {
    readers: AtomicUsize,
    runs: Mutex<HashMap<RunId, Heard>>,
}

struct Heard {
    events: broadcast::Sender<Event>,
    readers: usize,
}

impl Audience {
    /// Lets somebody listen to a run, whether it is at work here or not.
    pub(crate) fn join(self: &Arc<Self>, run: &RunId) -> Seat {
        let mut runs = self.lock();
        let heard = runs
            .entry(run.clone())
            .or_insert_with(|| Heard { events: broadcast::channel(WAITING).0, readers: 0 });
        heard.readers += 1;
        self.readers.fetch_add(1, Ordering::Relaxed);
        Seat { events: heard.events.subscribe(), run: run.clone(), audience: Arc::clone(self) }
    }

    /// Whether anybody listens to any run.
    pub(crate) fn is_there(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    /// Tells those who listen to a run what is under way.
    pub(crate) fn tell(&self, event: &Event) {
        if let Some(heard) = self.lock().get(&event.run) {
            // There is nobody left to hear it: they have just gone.
            let _ = heard.events.send(event.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Heard>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who listens to a run. Dropped, it is not there any more.
pub(crate) struct Seat {
    pub(crate) events: broadcast::Receiver<Event>,
    run: RunId,
    audience: Arc<Audience>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut runs = self.audience.lock();
        if let Some(heard) = runs.get_mut(&self.run) {
            heard.readers -= 1;
            if heard.readers == 0 {
                runs.remove(&self.run);
            }
        }
        self.audience.readers.fetch_sub(1, Ordering::Relaxed);
    }
}
