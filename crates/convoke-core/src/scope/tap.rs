//! Event taps on a part of a run.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Path;
use crate::event::EventKind;

/// Collects the events of one scope and everything below it, besides whoever listens to the run.
#[derive(Clone, Default)]
pub struct Tap(Arc<Inner>);

#[derive(Default)]
struct Inner {
    events: Mutex<Vec<(Path, EventKind)>>,
    outer: Option<Tap>,
}

impl Tap {
    pub(super) fn within(outer: Option<&Tap>) -> Self {
        Self(Arc::new(Inner { events: Mutex::default(), outer: outer.cloned() }))
    }

    pub(super) fn record(&self, path: &Path, kind: &EventKind) {
        for tap in std::iter::successors(Some(self), |tap| tap.0.outer.as_ref()) {
            tap.0.events.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), kind.clone()));
        }
    }

    /// Takes the events collected so far, in order.
    #[must_use]
    pub fn take(&self) -> Vec<(Path, EventKind)> {
        std::mem::take(&mut self.0.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tap").finish_non_exhaustive()
    }
}
