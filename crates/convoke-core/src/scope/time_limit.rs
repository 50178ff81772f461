//! The time limit of a scope: its deadline, and the error when that has passed.
//!
//! A limit counts over the whole life of a run: what the journal has of a scope has taken its time, and is answered at once when the run
//! is gone on with. While it is answered the limit stands back, because nothing of what has happened must end otherwise than it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The shorter of two limits that there may be.
pub(super) fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// When a scope's time is up, and whose limit it is.
#[derive(Clone)]
pub(crate) struct Deadline {
    pub(super) at: Instant,
    pub(crate) limit: Duration,
    pub(super) owner_depth: u32,
    past: Option<RecordedPast>,
}

/// What the journal has of a scope with a limit, and the end of its time should it never be asked for.
#[derive(Clone)]
struct RecordedPast {
    ahead: Arc<EffectsAhead>,
    at_latest: Instant,
}

impl Deadline {
    /// The end of a whole run: so much time is left of its limit. What is further away than clocks go is none.
    pub(crate) fn of_run(left: Duration, limit: Duration) -> Option<Self> {
        Some(Self { at: Instant::now().checked_add(left)?, limit, owner_depth: 0, past: None })
    }

    /// The end of the time of the scope at a depth.
    pub(super) fn at(at: Instant, limit: Duration, owner_depth: u32) -> Self {
        Self { at, limit, owner_depth, past: None }
    }

    /// Lets it stand back until these effects were answered, for as long as the limit at most.
    pub(super) fn after(mut self, ahead: Arc<EffectsAhead>, at_most: Duration) -> Self {
        self.past = Some(RecordedPast { ahead, at_latest: Instant::now() + at_most });
        self
    }

    /// The earlier of this and one further out.
    pub(super) fn within(self, outer: Option<&Self>) -> Self {
        match outer {
            Some(outer) if self.at < outer.at => {
                let latest = outer.at_latest();
                let past =
                    self.past.map(|past| RecordedPast { at_latest: past.at_latest.min(latest), ..past });
                Self { past, ..self }
            }
            Some(outer) => outer.clone(),
            None => self,
        }
    }

    /// Whether time is up.
    pub(super) fn is_reached(&self, now: Instant) -> bool {
        match &self.past {
            Some(past) if !past.ahead.are_over() => past.at_latest <= now,
            _ => self.at <= now,
        }
    }

    /// Waits until time is up.
    pub(super) async fn reached(&self) {
        if let Some(past) = &self.past {
            tokio::select! {
                biased;
                () = past.ahead.over() => {}
                () = tokio::time::sleep_until(past.at_latest) => return,
            }
        }
        tokio::time::sleep_until(self.at).await;
    }

    fn at_latest(&self) -> Instant {
        self.past.as_ref().map_or(self.at, |past| past.at_latest)
    }
}

/// The limit that a scope has over the whole life of its run.
#[derive(Clone, Copy)]
pub(super) struct OwnTime {
    pub(super) limit: Duration,
    /// What was left of it when the scope was opened.
    pub(super) left: Duration,
    opened: Instant,
}

impl OwnTime {
    /// The limit of a scope that is opened now and was at work for so long before.
    pub(super) fn of(limit: Duration, used: Duration) -> Self {
        Self { limit, left: limit.saturating_sub(used), opened: Instant::now() }
    }

    /// How much of it is used by now.
    pub(super) fn used(&self) -> Duration {
        self.limit - self.left + self.opened.elapsed()
    }
}

/// The effects of a scope with a limit that the journal has and nobody has asked for yet. Those of scopes further out count along.
pub(crate) struct EffectsAhead {
    left: AtomicUsize,
    none_left: Notify,
    outer: Option<Arc<EffectsAhead>>,
}

impl EffectsAhead {
    pub(super) fn new(effects: usize, outer: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(effects), none_left: Notify::new(), outer })
    }

    /// Counts one of them as answered.
    pub(crate) fn replayed(&self) {
        for ahead in std::iter::successors(Some(self), |ahead| ahead.outer.as_deref()) {
            let one_less = |left: usize| left.checked_sub(1);
            if ahead.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less) == Ok(1) {
                ahead.none_left.notify_waiters();
            }
        }
    }

    fn are_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    async fn over(&self) {
        // Made before the number is read, so that the last of them cannot be answered unnoticed in between.
        let none_left = self.none_left.notified();
        if !self.are_over() {
            none_left.await;
        }
    }
}
