//! How many steps run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use convoke_steps::{AsyncFunc, task_boxed};

/// Counts how many of its steps run at once, and how many ran at all.
#[derive(Clone, Default)]
pub(crate) struct Gauge(Arc<Counts>);

#[derive(Default)]
struct Counts {
    now: AtomicUsize,
    most: AtomicUsize,
    in_all: AtomicUsize,
}

impl Gauge {
    /// A step that is counted while it waits.
    pub(crate) fn step<S: Send + 'static>(&self, name: &str, millis: u64) -> AsyncFunc<S> {
        let counts = Arc::clone(&self.0);
        task_boxed(name, move |scope, _| {
            let counts = Arc::clone(&counts);
            Box::pin(async move {
                counts.in_all.fetch_add(1, Ordering::SeqCst);
                let now = counts.now.fetch_add(1, Ordering::SeqCst) + 1;
                counts.most.fetch_max(now, Ordering::SeqCst);
                let slept = scope.sleep(Duration::from_millis(millis)).await;
                counts.now.fetch_sub(1, Ordering::SeqCst);
                slept
            })
        })
    }

    pub(crate) fn now(&self) -> usize {
        self.0.now.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }

    pub(crate) fn in_all(&self) -> usize {
        self.0.in_all.load(Ordering::SeqCst)
    }
}
