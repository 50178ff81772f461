//! The context of a conversation: its state, how it got there, what it has produced and used.
//!
//! The JSON is what the Go program keeps, key by key. What it has no key for is only written when there is something to say:
//! what was forgotten because histories are bounded, how it ended, and time that does not count.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::instant;
use super::spec::is_default;

/// The values of artifacts. Shared between a context and its history until one is set.
pub(super) type Artifacts = Arc<BTreeMap<Arc<str>, Arc<str>>>;

/// The run state of a workflow. Cheap to read; [`advance`](super::advance) is what changes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Context {
    pub(super) current_state: Arc<str>,
    #[serde(default)]
    pub(super) history: Option<VecDeque<Transition>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) metadata: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) visit_counts: Option<BTreeMap<Arc<str>, u64>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) total_tool_calls: u64,
    #[serde(default, skip_serializing_if = "no_artifacts")]
    pub(super) artifacts: Option<Artifacts>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) artifact_history: Option<VecDeque<Snapshot>>,
    #[serde(default = "instant::unknown", with = "instant")]
    pub(super) started_at: Timestamp,
    #[serde(default = "instant::unknown", with = "instant")]
    pub(super) updated_at: Timestamp,
    /// How many transitions happened that the history no longer has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) forgotten_transitions: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) idle_ms: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) status: Status,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
    /// The sum of the visits, which is asked for at every step.
    #[serde(skip)]
    pub(super) total_visits: u64,
    /// How many bytes the artifact history holds, shared values counted once.
    #[serde(skip)]
    pub(super) snapshot_bytes: usize,
}

/// One transition that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// The state it left.
    pub from: Arc<str>,
    /// The state it entered.
    pub to: Arc<str>,
    /// The event.
    pub event: Arc<str>,
    /// When.
    #[serde(with = "instant")]
    pub timestamp: Timestamp,
}

/// The values of all artifacts when a transition happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The state it left.
    pub from_state: Arc<str>,
    /// The state it entered.
    pub to_state: Arc<str>,
    /// The event.
    pub event: Arc<str>,
    /// The values, by name.
    pub values: Artifacts,
    /// When.
    #[serde(with = "instant")]
    pub timestamp: Timestamp,
}

/// The status of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It goes on.
    #[default]
    Running,
    /// A terminal state was reached.
    Completed,
    /// Something it is limited by is used up.
    BudgetExhausted,
    /// A state was to be entered once too often, and there was nowhere else to go.
    MaxVisitsExceeded,
    /// It failed.
    Failed,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By its name in JSON.
        self.serialize(formatter)
    }
}

impl Context {
    /// A context that enters a state for the first time.
    pub(super) fn entering(state: &Arc<str>, at: Timestamp) -> Self {
        Self {
            current_state: Arc::clone(state),
            history: Some(VecDeque::new()),
            metadata: Some(Map::new()),
            visit_counts: Some(BTreeMap::from([(Arc::clone(state), 1)])),
            started_at: at,
            updated_at: at,
            total_visits: 1,
            ..Self::default()
        }
    }

    /// The state it is in.
    #[must_use]
    pub fn current_state(&self) -> &str {
        &self.current_state
    }

    /// The transitions that are still known, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Transition> + DoubleEndedIterator {
        self.history.as_ref().map_or_else(Default::default, VecDeque::iter)
    }

    /// Returns how many transitions happened, also those that the history no longer has.
    #[must_use]
    pub fn transition_count(&self) -> u64 {
        self.forgotten_transitions + self.history().len() as u64
    }

    /// The transition that happened last.
    #[must_use]
    pub fn last_transition(&self) -> Option<&Transition> {
        self.history().next_back()
    }

    /// Returns how often a state was entered.
    #[must_use]
    pub fn visits(&self, state: &str) -> u64 {
        self.visit_counts.as_ref().and_then(|counts| counts.get(state)).copied().unwrap_or(0)
    }

    /// Returns how often each state was entered, by name.
    pub fn visit_counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.visit_counts.iter().flatten().map(|(state, visits)| (&**state, *visits))
    }

    /// Returns how often states were entered in all.
    #[must_use]
    pub fn total_visits(&self) -> u64 {
        self.total_visits
    }

    /// Returns how many calls of tools were counted.
    #[must_use]
    pub fn total_tool_calls(&self) -> u64 {
        self.total_tool_calls
    }

    /// The value of an artifact; nothing if it was never set.
    #[must_use]
    pub fn artifact(&self, name: &str) -> Option<&str> {
        self.artifacts.as_ref().and_then(|artifacts| artifacts.get(name)).map(|value| &**value)
    }

    /// The artifacts that have a value, by name.
    pub fn artifacts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.artifacts.iter().flat_map(|artifacts| artifacts.iter()).map(|(name, value)| (&**name, &**value))
    }

    /// Returns what artifacts were worth at the transitions that are still known, oldest first.
    pub fn artifact_history(&self) -> impl ExactSizeIterator<Item = &Snapshot> + DoubleEndedIterator {
        self.artifact_history.as_ref().map_or_else(Default::default, VecDeque::iter)
    }

    /// Returns what the host keeps with it.
    #[must_use]
    pub fn metadata(&self) -> Option<&Map<String, Value>> {
        self.metadata.as_ref()
    }

    /// Keeps something of the host with it.
    pub fn set_metadata(&mut self, key: impl Into<String>, value: Value) {
        self.metadata.get_or_insert_default().insert(key.into(), value);
    }

    /// Returns when it began; nothing if whoever stored it did not say.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        (self.started_at != instant::unknown()).then_some(self.started_at)
    }

    /// Returns when the last transition happened.
    #[must_use]
    pub fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// Returns how it ended, if something ended it. A terminal state is no such thing: ask [`Compiled::status`](super::Compiled::status).
    #[must_use]
    pub fn concluded(&self) -> Option<Status> {
        (self.status != Status::Running).then_some(self.status)
    }

    /// The whole seconds that count against the wall-time budget.
    pub(crate) fn elapsed_seconds(&self, now: Timestamp) -> u64 {
        let Some(started) = self.started_at() else { return 0 };
        let elapsed = u64::try_from(now.duration_since(started).as_millis()).unwrap_or(0);
        elapsed.saturating_sub(self.idle_ms) / 1000
    }
}

impl Serialize for Context {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Context {
    /// Reads a context, and computes what is not stored because it follows from the rest.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut context = Self::deserialize(deserializer)?;
        let visits = context.visit_counts().map(|(_, visits)| visits);
        context.total_visits = visits.fold(0, u64::saturating_add);
        context.snapshot_bytes = context.artifact_history.as_mut().map_or(0, share_equal_values);
        if context.forgotten_transitions == 0 {
            // The Go program forgets old transitions without counting them; every transition was a visit, though.
            let known = context.history().len() as u64;
            context.forgotten_transitions = context.total_visits.saturating_sub(1).saturating_sub(known);
        }
        Ok(context)
    }
}

/// Lets snapshots that follow each other share their values if they are the same, as they did before they were stored. Gives the bytes
/// of what is left.
fn share_equal_values(snapshots: &mut VecDeque<Snapshot>) -> usize {
    let mut bytes = 0;
    let mut before: Option<Artifacts> = None;
    for snapshot in snapshots {
        match &before {
            Some(values) if *values == snapshot.values => snapshot.values = Arc::clone(values),
            _ => bytes += bytes_of(&snapshot.values),
        }
        before = Some(Arc::clone(&snapshot.values));
    }
    bytes
}

/// How many bytes values take.
pub(super) fn bytes_of(values: &BTreeMap<Arc<str>, Arc<str>>) -> usize {
    values.iter().map(|(name, value)| name.len() + value.len()).sum()
}

fn is_empty<'a, T: 'a>(values: &'a Option<T>) -> bool
where
    &'a T: IntoIterator,
{
    values.as_ref().is_none_or(|values| values.into_iter().next().is_none())
}

fn no_artifacts(artifacts: &Option<Artifacts>) -> bool {
    artifacts.as_ref().is_none_or(|artifacts| artifacts.is_empty())
}
