//! The questions a run could not get answered.

use std::sync::{Mutex, PoisonError};

use crate::Path;
use crate::ask::PendingQuestion;

#[derive(Default)]
pub(crate) struct Waiting(Mutex<Vec<PendingQuestion>>);

impl Waiting {
    pub(crate) fn add(&self, question: PendingQuestion) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(question);
    }

    /// Takes out those asked at or below a path.
    pub(crate) fn withdraw(&self, path: &Path) -> Vec<PendingQuestion> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (withdrawn, kept) = waiting.drain(..).partition(|pending| pending.path.is_within(path));
        *waiting = kept;
        withdrawn
    }

    /// Those asked at or below a path, in the order they were asked.
    pub(crate) fn within(&self, path: &Path) -> Vec<PendingQuestion> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().filter(|pending| pending.path.is_within(path)).cloned().collect()
    }
}
