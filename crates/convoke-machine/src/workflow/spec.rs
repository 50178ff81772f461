//! The `workflow` section of a pack, field by field. Fields that are not known are kept.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::finding::child;

/// The `workflow` section of a pack.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spec {
    /// 1, or 2 for what came with loops, artifacts and budgets.
    #[serde(default)]
    pub version: i64,
    /// The state that a conversation begins in.
    #[serde(default)]
    pub entry: String,
    /// The states by name.
    #[serde(default)]
    pub states: IndexMap<String, StateSpec>,
    /// Settings of the engine; only `budget` has a meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Map<String, Value>>,
    /// What else is written there.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StateSpec {
    /// The prompt that speaks in it.
    pub prompt_task: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where each event leads.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub on_event: IndexMap<String, String>,
    /// `transient` or `persistent`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub persistence: String,
    /// `internal`, `external`, `hybrid` or `composition`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub orchestration: String,
    /// Which skills are to be had in it: a folder, a pattern, or `none`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub skills: String,
    /// The composition that is run instead of a prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub composition: String,
    /// Whether the workflow ends here.
    #[serde(skip_serializing_if = "is_default")]
    pub terminal: bool,
    /// How often it may be entered; zero and less are no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub max_visits: i64,
    /// Where to go instead when it was entered often enough.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub on_max_visits: String,
    /// What is produced in it, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub artifacts: IndexMap<String, ArtifactSpec>,
    /// What else is written there.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Something that is produced in a state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ArtifactSpec {
    /// Its media type.
    #[serde(rename = "type")]
    pub media_type: String,
    /// What it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `replace` or `append`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// What else is written there.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl StateSpec {
    /// Whether nothing leads out of it.
    pub(crate) fn ends(&self) -> bool {
        self.terminal || self.on_event.is_empty()
    }
}

/// A place in the workflow section.
pub(super) fn pointer(steps: &[&str]) -> String {
    steps.iter().fold("/workflow".to_owned(), |path, step| child(&path, step))
}

/// Whether there is nothing to say of a value.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
