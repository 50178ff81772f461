//! Preparation of a tool call, before the call counts as begun.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// The preparation of a call, before it is written down as begun: its turn, and what things were like.
#[derive(Clone, Default)]
pub struct Preparation {
    held: Option<Arc<dyn Any + Send + Sync>>,
    before: Option<Value>,
}

impl Preparation {
    /// Holds something until the call has ended: a lock, a place among those that take turns.
    #[must_use]
    pub fn holding<T: Any + Send + Sync>(mut self, held: T) -> Self {
        self.held = Some(Arc::new(held));
        self
    }

    /// Keeps with the call what its tool needs to [find out](super::Tool::reconcile) what became of it, should it be
    /// interrupted. It is written into the journal: never a secret, and little.
    #[must_use]
    pub fn keeping(mut self, before: Value) -> Self {
        self.before = Some(before);
        self
    }

    /// Returns what is held, if it is of this type.
    #[must_use]
    pub fn held<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.held.as_ref()?.downcast_ref()
    }

    /// Returns what is kept with the call.
    #[must_use]
    pub fn before(&self) -> Option<&Value> {
        self.before.as_ref()
    }
}

impl fmt::Debug for Preparation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = self.held.is_some();
        formatter.debug_struct("Preparation").field("holds", &holds).field("before", &self.before).finish()
    }
}
