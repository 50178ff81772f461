//! The set of tools that were called on behalf of a worker by others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Names of tools, gathered from those who work at the same time. They stand in the order of their names: who was first
/// depends on timing, and prompts must not.
#[derive(Debug, Clone, Default)]
pub(super) struct CalledTools(Arc<Mutex<BTreeSet<String>>>);

impl CalledTools {
    pub(super) fn add(&self, tools: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(tools);
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Adds them after those that are there already.
    pub(super) fn add_to(&self, tools: &mut Vec<String>) {
        merge(tools, self.names());
    }
}

/// Adds names that are not there yet, in their order.
pub(super) fn merge(tools: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for tool in more {
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
}
