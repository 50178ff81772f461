//! Launch parameters of a run, beside its state.
//!
//! It is in the run's record from the first moment, so whoever has the store can go on with the run as its starter would: within
//! the same limits, under the same labels. It must never hold a secret: records are read by whoever may read the store.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Limits;
use crate::{RunId, Timestamp};

/// The launch parameters of a run, beside its state.
///
/// ```
/// use std::time::Duration;
/// use convoke_core::{Launch, Limits};
///
/// let launch = Launch::default()
///     .limits(Limits::default().tokens(50_000))
///     .timeout(Duration::from_secs(600))
///     .label("customer", "ann");
/// assert_eq!(launch.labels["customer"], "ann");
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Launch {
    /// What the whole run may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// How long the run may be at work, over its whole life. While it is suspended no time passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// When the run must be over, suspended or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What runs are found by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The run that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The conversation it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Who started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    /// What the program that started it needs to go on with it. The kernel does not look into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Value>,
}

impl Launch {
    /// Limits what the whole run may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Limits how long the run may be at work, over its whole life.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Says when the run must be over.
    #[must_use]
    pub fn deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Says which run started it.
    #[must_use]
    pub fn parent(mut self, run: RunId) -> Self {
        self.parent = Some(run);
        self
    }

    /// Says which conversation it is part of.
    #[must_use]
    pub fn thread(mut self, thread: impl Into<String>) -> Self {
        self.thread = Some(thread.into());
        self
    }

    /// Says who starts it.
    #[must_use]
    pub fn started_by(mut self, who: impl Into<String>) -> Self {
        self.started_by = Some(who.into());
        self
    }

    /// Keeps what the starting program needs to go on with it.
    #[must_use]
    pub fn host(mut self, description: Value) -> Self {
        self.host = Some(description);
        self
    }

    /// Returns whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same, with what `given` says in the place of what is said here. Labels are added.
    #[must_use]
    pub fn changed_by(self, given: Self) -> Self {
        let mut labels = self.labels;
        labels.extend(given.labels);
        Self {
            limits: given.limits.or(self.limits),
            timeout: given.timeout.or(self.timeout),
            deadline: given.deadline.or(self.deadline),
            labels,
            parent: given.parent.or(self.parent),
            thread: given.thread.or(self.thread),
            started_by: given.started_by.or(self.started_by),
            host: given.host.or(self.host),
        }
    }
}
