//! A note of replies that lack something a later step may need.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::{ComposingScope, Path};

/// Where the reply came from that lacks something, by what it lacks; the latest.
#[derive(Default)]
pub(crate) struct LackingReplies(Mutex<HashMap<Box<str>, Path>>);

impl LackingReplies {
    pub(crate) fn place(&self, what: &str) -> Option<Path> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(what).cloned()
    }

    fn note(&self, what: &str, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(what.into(), path.clone());
    }
}

impl ComposingScope<'_> {
    /// Takes note that what a model replied at or below this scope lacks something. That is no failure; but a later step
    /// that cannot do without it may [say so](crate::UnusableReply::lacking), and the reply is then asked for anew when
    /// the run is resumed.
    pub fn note_lacking(&self, what: &str) {
        self.node.run.lacking.note(what, self.path());
    }
}
