//! How far a leaf has been told again that was dropped for lack of time.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The effects of a leaf that its journal still has to tell. The leaf, and what it runs, gets no further than that.
pub(crate) struct LeafReplay {
    left: AtomicUsize,
    all_told: Notify,
}

impl LeafReplay {
    pub(crate) fn new(effects: usize) -> Self {
        Self { left: AtomicUsize::new(effects), all_told: Notify::new() }
    }

    /// One of them was told.
    pub(crate) fn told(&self) {
        let told = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, told) == Ok(1) {
            self.all_told.notify_one();
        }
    }

    /// Waits until all of them were told. There is one who waits.
    pub(super) async fn all_told(&self) {
        if self.left.load(Ordering::Acquire) > 0 {
            self.all_told.notified().await;
        }
    }
}
