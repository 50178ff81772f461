//! A sink that dispatches events to handlers by their type, on a thread of its own.

use std::any::{Any, TypeId};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::{Notice, Sink};

/// How many events may wait if nobody says otherwise.
const DEFAULT_QUEUE: usize = 1_024;

type Handler = Arc<dyn Fn(&dyn Notice) + Send + Sync>;

/// An event, and who had asked for it when it came.
type Waiting = (Arc<dyn Notice>, Vec<Handler>);

/// Hands events to functions that asked for their type, one event at a time, in the order of asking. Whoever tells never
/// waits: what does not fit into the queue is dropped, and counted.
pub struct Handlers {
    handlers: Mutex<Vec<(TypeId, Handler)>>,
    queue: Mutex<Option<SyncSender<Waiting>>>,
    worker: Mutex<Option<JoinHandle<()>>>,
    dropped: AtomicU64,
}

impl Handlers {
    /// Creates a sink whose queue holds this many events; 0 means 1,024.
    #[must_use]
    pub fn new(queue: usize) -> Self {
        let (sender, receiver) = sync_channel(if queue == 0 { DEFAULT_QUEUE } else { queue });
        let worker =
            thread::Builder::new().name("convoke-handlers".to_owned()).spawn(move || work(&receiver));
        Self {
            handlers: Mutex::default(),
            queue: Mutex::new(Some(sender)),
            // Without a thread nobody receives: everything is dropped, and counted.
            worker: Mutex::new(worker.ok()),
            dropped: AtomicU64::new(0),
        }
    }

    /// Registers a handler for every event of its type that comes from now on.
    pub fn on<E: Notice>(&self, handler: impl Fn(&E) + Send + Sync + 'static) {
        let handler: Handler = Arc::new(move |notice: &dyn Notice| {
            if let Some(event) = (notice as &dyn Any).downcast_ref::<E>() {
                handler(event);
            }
        });
        locked(&self.handlers).push((TypeId::of::<E>(), handler));
    }

    /// Returns how many events were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes no more events, and waits until those that wait are handled. A second time does nothing.
    pub fn close(&self) {
        drop(locked(&self.queue).take());
        let worker = locked(&self.worker).take();
        // A handler that closes what it is called by cannot wait for itself.
        if let Some(worker) = worker.filter(|worker| worker.thread().id() != thread::current().id()) {
            let _ = worker.join();
        }
    }
}

fn work(queue: &Receiver<Waiting>) {
    while let Ok((notice, handlers)) = queue.recv() {
        for handler in handlers {
            // One that panics must not keep the event from the others. The panic has been reported by its hook.
            let _ = catch_unwind(AssertUnwindSafe(|| handler(&*notice)));
        }
    }
}

impl Sink for Handlers {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        let kind = (&**notice as &dyn Any).type_id();
        let wanted = locked(&self.handlers);
        let handlers: Vec<Handler> = wanted
            .iter()
            .filter(|(wanted, _)| *wanted == kind)
            .map(|(_, handler)| Arc::clone(handler))
            .collect();
        drop(wanted);
        if handlers.is_empty() {
            return;
        }
        let is_taken = locked(&self.queue)
            .as_ref()
            .is_some_and(|queue| queue.try_send((Arc::clone(notice), handlers)).is_ok());
        if !is_taken {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handlers").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// What is in here is never left half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
