//! Change notifications: wakes those who wait for something to happen in a store.
//!
//! Told is only that it is worth looking again: what happens several times before somebody looks is one thing, so nothing piles
//! up, and nobody is ever waited for.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use convoke_core::RunId;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use futures_util::task::AtomicWaker;

/// Everybody who waits, by what they wait for.
#[derive(Default)]
pub(crate) struct ChangeNotifier {
    watchers: Mutex<Watchers>,
    /// How many follow some run: most of the time nobody does, and whoever writes must not look for them.
    followers: AtomicUsize,
}

type Watchers = HashMap<Topic, Vec<Weak<Watcher>>>;

/// What somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    /// Something that lets some run go on.
    Any,
    /// Something that lets this run go on.
    Run(RunId),
    /// Something that this run has done.
    Journal(RunId),
}

impl Topic {
    /// What whoever watches a run, or any, waits for.
    pub(crate) fn of(run: Option<&RunId>) -> Self {
        run.map_or(Self::Any, |run| Self::Run(run.clone()))
    }

    /// Counts as one who follows a run, or as none.
    fn follows(&self) -> usize {
        usize::from(matches!(self, Self::Journal(_)))
    }
}

#[derive(Default)]
struct Watcher {
    is_told: AtomicBool,
    waker: AtomicWaker,
}

impl ChangeNotifier {
    /// Waits for something. It is the first one if nobody was waiting.
    pub(crate) fn watch(self: &Arc<Self>, topic: Topic) -> (BoxStream<'static, ()>, IsFirst) {
        let watcher = Arc::new(Watcher::default());
        let mut watchers = self.lock();
        let is_first = watchers.is_empty();
        self.followers.fetch_add(topic.follows(), Ordering::Relaxed);
        watchers.entry(topic.clone()).or_default().push(Arc::downgrade(&watcher));
        drop(watchers);
        (Box::pin(Watch { notifier: Arc::clone(self), topic, watcher }), IsFirst(is_first))
    }

    /// Whether anybody waits.
    pub(crate) fn is_watched(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Tells those who wait for a run or for any, and those who follow it.
    pub(crate) fn notify(&self, run: &RunId) {
        let topics = [Topic::Run(run.clone()), Topic::Journal(run.clone()), Topic::Any];
        let watchers = self.lock();
        topics.iter().filter_map(|topic| watchers.get(topic)).for_each(|watchers| notify_all(watchers));
    }

    /// Whether anybody follows a run.
    pub(crate) fn is_followed(&self, run: &RunId) -> bool {
        self.followers.load(Ordering::Relaxed) > 0 && self.lock().contains_key(&Topic::Journal(run.clone()))
    }

    /// Tells those who follow a run.
    pub(crate) fn notify_followers(&self, run: &RunId) {
        self.lock().get(&Topic::Journal(run.clone())).into_iter().for_each(|watchers| notify_all(watchers));
    }

    /// Tells those who wait for any run, and those who follow one: somebody has written, and nobody knows what.
    pub(crate) fn notify_any(&self) {
        let watchers = self.lock();
        let any = watchers.iter().filter(|(topic, _)| !matches!(topic, Topic::Run(_)));
        any.for_each(|(_, watchers)| notify_all(watchers));
    }

    /// Tells everybody.
    pub(crate) fn notify_everybody(&self) {
        self.lock().values().for_each(|watchers| notify_all(watchers));
    }

    fn lock(&self) -> MutexGuard<'_, Watchers> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody was waiting before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsFirst(pub(crate) bool);

fn notify_all(watchers: &[Weak<Watcher>]) {
    for watcher in watchers.iter().filter_map(Weak::upgrade) {
        watcher.is_told.store(true, Ordering::Release);
        watcher.waker.wake();
    }
}

/// A stream of notifications.
struct Watch {
    notifier: Arc<ChangeNotifier>,
    topic: Topic,
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
        let mut watchers = self.notifier.lock();
        self.notifier.followers.fetch_sub(self.topic.follows(), Ordering::Relaxed);
        if let Some(others) = watchers.get_mut(&self.topic) {
            others.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(&self.watcher)));
            if others.is_empty() {
                watchers.remove(&self.topic);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    #[test]
    fn whoever_waits_is_notified_once_however_often_it_happens_and_leaves_no_trace() {
        let notifier = Arc::new(ChangeNotifier::default());
        let (one, other): (RunId, RunId) = ("one".parse().unwrap(), "other".parse().unwrap());
        let (mut of_one, first) = notifier.watch(Topic::of(Some(&one)));
        let (mut of_any, second) = notifier.watch(Topic::of(None));
        let mut follower = notifier.watch(Topic::Journal(one.clone())).0;
        assert_eq!((first, second), (IsFirst(true), IsFirst(false)));
        notifier.notify(&other);
        assert_eq!(of_one.next().now_or_never(), None);
        assert_eq!(of_any.next().now_or_never(), Some(Some(())));
        notifier.notify_followers(&one);
        assert_eq!(of_one.next().now_or_never(), None, "it can go on no more than before");
        assert_eq!(follower.next().now_or_never(), Some(Some(())));
        notifier.notify(&one);
        notifier.notify(&one);
        assert_eq!(follower.next().now_or_never(), Some(Some(())));
        assert_eq!(of_one.next().now_or_never(), Some(Some(())));
        assert_eq!(of_one.next().now_or_never(), None);
        notifier.notify_everybody();
        assert_eq!(of_one.next().now_or_never(), Some(Some(())));
        drop((of_one, of_any, follower));
        assert!(!notifier.is_watched());
    }
}
