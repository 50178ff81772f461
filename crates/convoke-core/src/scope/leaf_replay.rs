//! Replay progress of a leaf that was dropped for lack of time.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// What a leaf still has to replay from its journal. The leaf, and what it runs, gets no further than that.
pub(crate) struct LeafReplay {
    /// The recorded effects that were not asked for yet.
    left: AtomicUsize,
    /// The events of these that wait for their reader.
    emitting: AtomicUsize,
    done: Notify,
}

impl LeafReplay {
    pub(crate) fn new(effects: usize) -> Self {
        Self { left: AtomicUsize::new(effects), emitting: AtomicUsize::new(0), done: Notify::new() }
    }

    /// Counts one of the effects as replayed.
    pub(crate) fn replayed(&self) {
        let one_less = |left: usize| left.checked_sub(1);
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        self.notify_if_done();
    }

    /// An event is being told as long as the guard lives: whoever waits for its reader is not done with its effect.
    pub(super) fn emitting(&self) -> Emitting<'_> {
        self.emitting.fetch_add(1, Ordering::AcqRel);
        Emitting(self)
    }

    /// Waits until all that is recorded was told, and nothing comes of it any more without waiting for something else. There
    /// is one who waits, and who lets the leaf go on first.
    pub(super) async fn over(&self) {
        loop {
            if self.is_done() {
                // Another task of the leaf's may be about to hand on what it was told.
                tokio::task::yield_now().await;
                if self.is_done() {
                    return;
                }
            }
            self.done.notified().await;
        }
    }

    fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0 && self.emitting.load(Ordering::Acquire) == 0
    }

    fn notify_if_done(&self) {
        if self.is_done() {
            self.done.notify_one();
        }
    }
}

/// A guard that lives while an event is emitted.
pub(super) struct Emitting<'a>(&'a LeafReplay);

impl Drop for Emitting<'_> {
    fn drop(&mut self) {
        self.0.emitting.fetch_sub(1, Ordering::AcqRel);
        self.0.notify_if_done();
    }
}
