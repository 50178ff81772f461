//! Replay progress of a leaf that was dropped for lack of time.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// What a leaf still has to be told by its journal. The leaf, and what it runs, gets no further than that.
pub(crate) struct LeafReplay {
    /// The recorded effects that were not asked for yet.
    left: AtomicUsize,
    /// The events of these that wait for their reader.
    telling: AtomicUsize,
    told_all: Notify,
}

impl LeafReplay {
    pub(crate) fn new(effects: usize) -> Self {
        Self { left: AtomicUsize::new(effects), telling: AtomicUsize::new(0), told_all: Notify::new() }
    }

    /// One of the effects was told.
    pub(crate) fn told(&self) {
        let one_less = |left: usize| left.checked_sub(1);
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        self.look();
    }

    /// An event is being told as long as the guard lives: whoever waits for its reader is not done with its effect.
    pub(super) fn telling(&self) -> Telling<'_> {
        self.telling.fetch_add(1, Ordering::AcqRel);
        Telling(self)
    }

    /// Waits until all that is recorded was told, and nothing comes of it any more without waiting for something else. There
    /// is one who waits, and who lets the leaf go on first.
    pub(super) async fn over(&self) {
        loop {
            if self.has_told_all() {
                // Another task of the leaf's may be about to hand on what it was told.
                tokio::task::yield_now().await;
                if self.has_told_all() {
                    return;
                }
            }
            self.told_all.notified().await;
        }
    }

    fn has_told_all(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0 && self.telling.load(Ordering::Acquire) == 0
    }

    fn look(&self) {
        if self.has_told_all() {
            self.told_all.notify_one();
        }
    }
}

/// An event is being told.
pub(super) struct Telling<'a>(&'a LeafReplay);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.telling.fetch_sub(1, Ordering::AcqRel);
        self.0.look();
    }
}
