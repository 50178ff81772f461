//! Counts delivered and dropped spans, and logs changes once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts of delivered and dropped spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Delivery {
    /// Spans that the collector took.
    pub delivered: u64,
    /// Spans that were dropped: no room to wait, refused, or not taken in time.
    pub dropped: u64,
}

#[derive(Default)]
pub(crate) struct Counts {
    state: Mutex<State>,
    is_said: AtomicBool,
}

#[derive(Default)]
struct State {
    taken: u64,
    delivery: Delivery,
    /// Spans of the batch under way that the collector did not want, although it took the rest.
    rejected: u64,
    is_over: bool,
}

impl Counts {
    pub(crate) fn so_far(&self) -> Delivery {
        self.state().delivery
    }

    /// A span is on its way.
    pub(super) fn taken(&self) {
        self.state().taken += 1;
    }

    /// A span was not even taken.
    pub(super) fn dropped(&self, reason: &str) {
        self.state().delivery.dropped += 1;
        self.log_loss(reason);
    }

    /// Some of the batch under way were rejected.
    pub(super) fn rejected(&self, spans: u64) {
        self.state().rejected = spans;
        self.log_loss("the collector rejected some of the spans");
    }

    /// A batch is over, well or not. Says whether there is time for another.
    pub(super) fn exported(&self, spans: u64, result: Result<(), &str>) -> bool {
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        let rejected = std::mem::take(&mut state.rejected).min(spans);
        let delivered = if result.is_ok() { spans - rejected } else { 0 };
        state.delivery.delivered += delivered;
        state.delivery.dropped += spans - delivered;
        drop(state);
        match result {
            Err(reason) => self.log_loss(reason),
            Ok(()) if rejected == 0 && self.is_said.swap(false, Ordering::Relaxed) => {
                tracing::info!(target: "convoke::telemetry", "telemetry is delivered again");
            }
            Ok(()) => {}
        }
        true
    }

    /// There is no more time: what has not been delivered is dropped.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        let left = state.taken.saturating_sub(state.delivery.delivered + state.delivery.dropped);
        state.is_over = true;
        state.delivery.dropped += left;
        drop(state);
        if left > 0 {
            self.log_loss("there is no time left");
        }
    }

    /// Says that something is lost: once, until something is delivered again.
    pub(super) fn log_loss(&self, reason: &str) {
        if !self.is_said.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "convoke::telemetry",
                reason,
                "telemetry is being lost; runs are not affected, and what is lost is counted"
            );
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
