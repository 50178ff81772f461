//! Detection of steps that block their thread.
//!
//! A future that does not return from `poll` cannot be timed out by its own task: nothing in that task runs any more.
//! So leaves report when they are being polled, and the watchdog looks at it from outside.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Run;
use crate::Error;
use crate::scope::Node;

/// How much longer than its time limit a step may stay in one poll before it counts as blocking.
const MERCY: Duration = Duration::from_secs(1);

/// The leaves of a run that are being polled right now.
#[derive(Default)]
pub(crate) struct Polls {
    under_way: Mutex<Vec<(Instant, Arc<Node>)>>,
    run: Mutex<Weak<Run>>,
    is_given_up: AtomicBool,
    given_up: Mutex<Option<Error>>,
    found: Notify,
}

impl Polls {
    /// Says which run this is about.
    pub(crate) fn belong_to(&self, run: &Arc<Run>) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(run);
    }

    /// Waits until one of the run's steps is found to block. There is one who waits.
    pub(super) async fn found_blocked(&self) -> Error {
        loop {
            if let Some(error) = self.given_up.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return error;
            }
            self.found.notified().await;
        }
    }

    /// Ends the run for whoever waits for it, if one of its steps blocks. Called from a thread that no step can block.
    pub(super) fn check(&self) {
        if self.is_given_up.load(Ordering::Relaxed) {
            return;
        }
        let Some(blocked) = self.blocked() else { return };
        self.is_given_up.store(true, Ordering::Relaxed);
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(run) = run {
            run.abandon(&blocked);
        }
        *self.given_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(blocked);
        self.found.notify_one();
    }

    fn blocked(&self) -> Option<Error> {
        self.lock().iter().find_map(|(since, node)| {
            let limit = node.time_limit()?;
            let time = since.elapsed();
            (time > limit + MERCY).then(|| Error::Blocked { path: node.path().clone(), time })
        })
    }

    fn begin(&self, node: &Arc<Node>) {
        self.lock().push((Instant::now(), Arc::clone(node)));
    }

    fn end(&self, node: &Arc<Node>) {
        let mut under_way = self.lock();
        if let Some(index) = under_way.iter().rposition(|(_, polled)| Arc::ptr_eq(polled, node)) {
            under_way.swap_remove(index);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, Arc<Node>)>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A leaf's future that reports when it is being polled.
pub(crate) struct Polled<'a, F> {
    node: &'a Arc<Node>,
    future: F,
}

impl<'a, F> Polled<'a, F> {
    pub(crate) fn new(node: &'a Arc<Node>, future: F) -> Self {
        Self { node, future }
    }
}

impl<F: Future + Unpin> Future for Polled<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let node = self.node;
        // Without a limit it may stay as long as it likes.
        if node.time_limit().is_none() {
            return Pin::new(&mut self.future).poll(context);
        }
        node.run.polls.begin(node);
        let polled = Pin::new(&mut self.future).poll(context);
        node.run.polls.end(node);
        polled
    }
}
