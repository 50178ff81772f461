//! Who waits for something to happen in a store, and is told when it has.
//!
//! Told is only that it is worth looking again: what happens several times before somebody looks is one thing, so nothing piles
//! up, and nobody is ever waited for.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use convoke_core::RunId;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use futures_util::task::AtomicWaker;

/// Everybody who waits, by the run they wait for; `None` are those who wait for any.
#[derive(Default)]
pub(crate) struct Board {
    watchers: Mutex<HashMap<Option<RunId>, Vec<Weak<Watcher>>>>,
}

#[derive(Default)]
struct Watcher {
    is_told: AtomicBool,
    waker: AtomicWaker,
}

impl Board {
    /// Waits for a run, or for any. It is the first one if nobody was waiting.
    pub(crate) fn watch(self: &Arc<Self>, run: Option<&RunId>) -> (BoxStream<'static, ()>, IsFirst) {
        let (watcher, run) = (Arc::new(Watcher::default()), run.cloned());
        let mut watchers = self.lock();
        let is_first = watchers.is_empty();
        watchers.entry(run.clone()).or_default().push(Arc::downgrade(&watcher));
        drop(watchers);
        (Box::pin(Watch { board: Arc::clone(self), run, watcher }), IsFirst(is_first))
    }

    /// Whether anybody waits.
    pub(crate) fn is_watched(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Tells those who wait for a run, and those who wait for any.
    pub(crate) fn tell(&self, run: &RunId) {
        let watchers = self.lock();
        let told = [watchers.get(&Some(run.clone())), watchers.get(&None)];
        told.into_iter().flatten().for_each(|watchers| tell_all(watchers));
    }

    /// Tells those who wait for any run.
    pub(crate) fn tell_those_of_any(&self) {
        self.lock().get(&None).into_iter().for_each(|watchers| tell_all(watchers));
    }

    /// Tells everybody.
    pub(crate) fn tell_everybody(&self) {
        self.lock().values().for_each(|watchers| tell_all(watchers));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<RunId>, Vec<Weak<Watcher>>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody was waiting before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsFirst(pub(crate) bool);

fn tell_all(watchers: &[Weak<Watcher>]) {
    for watcher in watchers.iter().filter_map(Weak::upgrade) {
        watcher.is_told.store(true, Ordering::Release);
        watcher.waker.wake();
    }
}

/// Somebody who waits.
struct Watch {
    board: Arc<Board>,
    run: Option<RunId>,
    watcher: Arc<Watcher>,
}

impl Stream for Watch {
    type Item = ();

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        // Registered before it is looked at, so that nothing is told unheard in between.
        self.watcher.waker.register(context.waker());
        match self.watcher.is_told.swap(false, Ordering::Acquire) {
            true => Poll::Ready(Some(())),
            false => Poll::Pending,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watchers = self.board.lock();
        if let Some(others) = watchers.get_mut(&self.run) {
            others.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(&self.watcher)));
            if others.is_empty() {
                watchers.remove(&self.run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    #[test]
    fn whoever_waits_is_told_once_however_often_it_happens_and_leaves_no_trace() {
        let board = Arc::new(Board::default());
        let (one, other): (RunId, RunId) = ("one".parse().unwrap(), "other".parse().unwrap());
        let (mut of_one, first) = board.watch(Some(&one));
        let (mut of_any, second) = board.watch(None);
        assert_eq!((first, second), (IsFirst(true), IsFirst(false)));
        board.tell(&other);
        assert_eq!(of_one.next().now_or_never(), None);
        assert_eq!(of_any.next().now_or_never(), Some(Some(())));
        board.tell(&one);
        board.tell(&one);
        assert_eq!(of_one.next().now_or_never(), Some(Some(())));
        assert_eq!(of_one.next().now_or_never(), None);
        board.tell_everybody();
        assert_eq!(of_one.next().now_or_never(), Some(Some(())));
        drop((of_one, of_any));
        assert!(!board.is_watched());
    }
}
