//! The status of a local model.

use std::sync::Arc;

use tokio::sync::watch;

/// The status of a local model: what it is doing now, and has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LocalStatus {
    /// How many requests it can work on at once.
    pub parallel: u32,
    /// How many it is working on.
    pub running: u32,
    /// How many wait for their turn.
    pub waiting: u32,
    /// How many it has answered.
    pub answered: u64,
    /// How many were abandoned by whoever asked.
    pub abandoned: u64,
    /// How many failed while it was working on them.
    pub failed: u64,
    /// Tokens of prompts it has read.
    pub read_tokens: u64,
    /// Tokens of prompts it did not have to read, because it still knew them.
    pub reused_tokens: u64,
    /// Tokens it has written.
    pub written_tokens: u64,
    /// How many tokens the prompts have that it is reading now; 0 if it is reading none.
    pub prompt_tokens: u64,
    /// How many of those it has read.
    pub prompt_read: u64,
    /// How many tokens a conversation has room for now. More is made when a longer one comes.
    pub room_tokens: u32,
}

/// The status, shared between whoever asks and the engine.
#[derive(Debug, Clone)]
pub(super) struct StatusBoard(Arc<watch::Sender<LocalStatus>>);

impl StatusBoard {
    pub(super) fn new(parallel: u32) -> Self {
        Self(Arc::new(watch::Sender::new(LocalStatus { parallel, ..LocalStatus::default() })))
    }

    pub(super) fn now(&self) -> LocalStatus {
        *self.0.borrow()
    }

    pub(super) fn changes(&self) -> watch::Receiver<LocalStatus> {
        self.0.subscribe()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut LocalStatus)) {
        self.0.send_modify(change);
    }

    /// Counts as waiting for as long as it is kept.
    pub(super) fn wait(&self) -> WaitingJob {
        self.change(|status| status.waiting += 1);
        WaitingJob(self.clone())
    }
}

/// A request that waits for its turn.
#[derive(Debug)]
pub(super) struct WaitingJob(StatusBoard);

impl Drop for WaitingJob {
    fn drop(&mut self) {
        self.0.change(|status| status.waiting -= 1);
    }
}
