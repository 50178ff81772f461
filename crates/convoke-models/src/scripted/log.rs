//! The log of requests that a scripted model was sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convoke_core::{IdempotencyKey, ModelRequest};

/// The retention of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Retention {
    /// Requests and keys, for ever.
    #[default]
    Everything,
    /// Only how many there were.
    Count,
}

/// Every call so far.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    retention: Retention,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    calls: usize,
    requests: Vec<Arc<ModelRequest>>,
    keys: Vec<IdempotencyKey>,
}

impl RequestLog {
    pub(super) fn new(retention: Retention) -> Self {
        Self { retention, entries: Mutex::default() }
    }

    /// Notes a call and returns its number, counted from 1. A key may be made of that number.
    pub(super) fn note(
        &self,
        request: &Arc<ModelRequest>,
        key: impl FnOnce(usize) -> IdempotencyKey,
    ) -> usize {
        let mut entries = self.entries();
        entries.calls += 1;
        if self.retention == Retention::Everything {
            entries.requests.push(Arc::clone(request));
            let key = key(entries.calls);
            entries.keys.push(key);
        }
        entries.calls
    }

    pub(super) fn calls(&self) -> usize {
        self.entries().calls
    }

    pub(super) fn requests(&self) -> Vec<Arc<ModelRequest>> {
        self.entries().requests.clone()
    }

    pub(super) fn last_request(&self) -> Option<Arc<ModelRequest>> {
        self.entries().requests.last().cloned()
    }

    pub(super) fn keys(&self) -> Vec<IdempotencyKey> {
        self.entries().keys.clone()
    }

    /// Whatever happens under this lock, what was noted before is whole: a poisoned one is as good as any.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
