//! What was delivered and what was not, and one line in the log about it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What became of spans.
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
    delivered: AtomicU64,
    dropped: AtomicU64,
    is_said: AtomicBool,
}

impl Counts {
    pub(crate) fn so_far(&self) -> Delivery {
        Delivery {
            delivered: self.delivered.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    pub(super) fn delivered(&self, spans: u64) {
        self.delivered.fetch_add(spans, Ordering::Relaxed);
        if self.is_said.swap(false, Ordering::Relaxed) {
            tracing::info!(target: "convoke::telemetry", "telemetry is delivered again");
        }
    }

    pub(super) fn dropped(&self, spans: u64) {
        self.dropped.fetch_add(spans, Ordering::Relaxed);
    }

    /// Says that something is lost: once, until something is delivered again.
    pub(super) fn say_lost(&self, reason: &str) {
        if !self.is_said.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "convoke::telemetry",
                reason,
                "telemetry is being lost; runs are not affected, and what is lost is counted"
            );
        }
    }
}
