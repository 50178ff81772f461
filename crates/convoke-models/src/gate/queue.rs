//! The queue of waiting requests, first come, first served.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Notify;

/// A queue that can be left from anywhere. Only the first is ever called; it decides for itself whether it may go.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<u64, Arc<Notify>>,
    joined: u64,
}

impl Queue {
    /// A new place at the end, and what its owner is called with.
    pub(super) fn join(&mut self) -> (u64, Arc<Notify>) {
        self.joined += 1;
        let called = Arc::new(Notify::new());
        self.waiting.insert(self.joined, Arc::clone(&called));
        (self.joined, called)
    }

    pub(super) fn is_first(&self, number: u64) -> bool {
        self.waiting.first_key_value().is_some_and(|(first, _)| *first == number)
    }

    /// Leaves, and calls the next if it was the first that left.
    pub(super) fn leave(&mut self, number: u64) {
        let was_first = self.is_first(number);
        self.waiting.remove(&number);
        if was_first {
            self.call_first();
        }
    }

    /// Has the first decide anew. A call is kept for one who is not listening yet.
    pub(super) fn call_first(&self) {
        if let Some((_, called)) = self.waiting.first_key_value() {
            called.notify_one();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
