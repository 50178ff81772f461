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

/// The readers of live events, by run.
#[derive(Default)]
pub(crate) struct EventFeed {
    readers: AtomicUsize,
    runs: Mutex<HashMap<RunId, RunChannel>>,
}

struct RunChannel {
    events: broadcast::Sender<Event>,
    readers: usize,
}

impl EventFeed {
    /// Lets somebody listen to a run, whether it is at work here or not.
    pub(crate) fn join(self: &Arc<Self>, run: &RunId) -> FeedReader {
        let mut runs = self.lock();
        let channel = runs
            .entry(run.clone())
            .or_insert_with(|| RunChannel { events: broadcast::channel(WAITING).0, readers: 0 });
        channel.readers += 1;
        self.readers.fetch_add(1, Ordering::Relaxed);
        FeedReader { events: channel.events.subscribe(), run: run.clone(), feed: Arc::clone(self) }
    }

    /// Whether anybody listens to any run.
    pub(crate) fn has_readers(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    /// Tells those who listen to a run what is under way.
    pub(crate) fn send(&self, event: &Event) {
        if let Some(channel) = self.lock().get(&event.run) {
            // There is nobody left to hear it: they have just gone.
            let _ = channel.events.send(event.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, RunChannel>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of a run's live events. Dropping it ends the subscription.
pub(crate) struct FeedReader {
    pub(crate) events: broadcast::Receiver<Event>,
    run: RunId,
    feed: Arc<EventFeed>,
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        let mut runs = self.feed.lock();
        if let Some(channel) = runs.get_mut(&self.run) {
            channel.readers -= 1;
            if channel.readers == 0 {
                runs.remove(&self.run);
            }
        }
        self.feed.readers.fetch_sub(1, Ordering::Relaxed);
    }
}
