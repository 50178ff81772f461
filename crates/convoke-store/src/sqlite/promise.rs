//! A one-shot promise from the writer to a task. Why not a `oneshot` channel: decision page 21.
//!
//! A [`Promise`] is kept by the writer and [`PromiseFuture`] by a task. To wake a task that sleeps takes half as long as a
//! commit on a fast disk, and a run that waits for every append would pay that each time. So a task that is alone with
//! something to write spins until the end of its commit before it goes to sleep, in short turns between which
//! everything else on its thread has its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::wait_mode::WaitState;

/// No other task waits longer than this because of one that spins.
const TURN: Duration = Duration::from_micros(20);

/// A promise, and its other end.
pub(super) fn promise<T>(waits: &Arc<WaitState>) -> (Promise<T>, PromiseFuture<T>) {
    waits.begins();
    let cell = Arc::new(Cell { settled: AtomicBool::new(false), state: Mutex::new(State::default()) });
    let awaited = PromiseFuture { cell: Arc::clone(&cell), waits: Arc::clone(waits), spin_until: None };
    (Promise { cell, waits: Arc::clone(waits) }, awaited)
}

/// The end that keeps the promise. To drop it is to break it.
pub(super) struct Promise<T> {
    cell: Arc<Cell<T>>,
    waits: Arc<WaitState>,
}

impl<T> Promise<T> {
    /// Keeps the promise.
    pub(super) fn keep(self, value: T) {
        self.cell.lock().value = Some(value);
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.waits.ends();
        let waker = {
            let mut state = self.cell.lock();
            self.cell.settled.store(true, Ordering::Release);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The end that waits. It gives nothing if the promise was broken.
pub(super) struct PromiseFuture<T> {
    cell: Arc<Cell<T>>,
    waits: Arc<WaitState>,
    /// Until when to spin, once that has begun.
    spin_until: Option<Instant>,
}

impl<T> Future for PromiseFuture<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.spins() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut state = self.cell.lock();
        if self.cell.is_settled() {
            return Poll::Ready(state.value.take());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> PromiseFuture<T> {
    /// Spins for one turn. Says whether there is reason for another one.
    fn spins(&mut self) -> bool {
        let Some(patience) = self.waits.patience() else { return false };
        let began = Instant::now();
        let Some(end) = self.spin_until else {
            // Others first: they may have something to write as well, and then nobody spins.
            self.spin_until = Some(began + patience);
            return !self.cell.is_settled();
        };
        while !self.cell.is_settled() {
            let now = Instant::now();
            if now >= end || now >= began + TURN {
                return now < end;
            }
            // Not a bare loop: what the commit needs may be waiting for this very core.
            std::thread::yield_now();
        }
        false
    }
}

struct Cell<T> {
    settled: AtomicBool,
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        Self { value: None, waker: None }
    }
}

impl<T> Cell<T> {
    fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    struct Count(std::sync::atomic::AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll<T>(awaited: &mut PromiseFuture<T>) -> (Poll<Option<T>>, usize) {
        let count = Arc::new(Count(Default::default()));
        let result = Pin::new(awaited).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&count))));
        let woken = count.0.load(Ordering::SeqCst);
        (result, woken)
    }

    #[test]
    fn a_kept_promise_wakes_whoever_waits() {
        let (promise, mut awaited) = promise(&Arc::new(WaitState::default()));
        let count = Arc::new(Count(Default::default()));
        let waker = Waker::from(Arc::clone(&count));
        assert_eq!(Pin::new(&mut awaited).poll(&mut Context::from_waker(&waker)), Poll::Pending);
        assert_eq!(count.0.load(Ordering::SeqCst), 0, "there is no reason to spin");
        promise.keep(7);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut awaited), (Poll::Ready(Some(7)), 0));
    }

    #[test]
    fn a_broken_promise_gives_nothing() {
        let (promise, mut awaited) = promise::<u8>(&Arc::new(WaitState::default()));
        drop(promise);
        assert_eq!(poll(&mut awaited), (Poll::Ready(None), 0));
    }

    #[test]
    fn whoever_is_alone_looks_out_in_turns_and_then_sleeps() {
        let waits = Arc::new(WaitState::spinning(Duration::from_micros(150)));
        let (_promise, mut awaited) = promise::<u8>(&waits);
        assert_eq!(poll(&mut awaited), (Poll::Pending, 1), "others first");
        while poll(&mut awaited) == (Poll::Pending, 1) {}
        assert_eq!(poll(&mut awaited), (Poll::Pending, 0), "patience has an end");
    }

    #[test]
    fn among_several_nobody_spins() {
        let waits = Arc::new(WaitState::spinning(Duration::from_micros(150)));
        let (_one, mut awaited) = promise::<u8>(&waits);
        let (_other, mut other) = promise::<u8>(&waits);
        assert_eq!(poll(&mut awaited), (Poll::Pending, 0));
        assert_eq!(poll(&mut other), (Poll::Pending, 0));
    }
}
