//! Artifacts of a workflow: their declarations, and how values are put into them.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::json_text;
use convoke_text::document::keeps_numbers;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::compiled::named_or_usual;
use super::{ArtifactSpec, Options, WorkflowError};

/// An artifact that some state declares.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredArtifact {
    /// Its name.
    pub name: Arc<str>,
    /// Its media type, as it is written.
    pub media_type: String,
    /// Whether its values are JSON; otherwise they are text.
    pub is_json: bool,
    /// What it is.
    pub description: String,
    /// How values are put into it.
    pub mode: ArtifactMode,
}

/// The ways in which values are put into an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArtifactMode {
    /// The last value counts.
    #[default]
    Replace,
    /// Every value is added.
    Append,
}

impl DeclaredArtifact {
    fn new(name: Arc<str>, spec: &ArtifactSpec) -> Self {
        let essence = spec.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Self {
            name,
            media_type: spec.media_type.clone(),
            is_json: essence == "application/json" || essence.ends_with("+json"),
            description: spec.description.clone(),
            mode: named_or_usual(&spec.mode).unwrap_or_default(),
        }
    }

    /// What it holds after this value was put into it.
    pub(super) fn with(
        &self,
        before: Option<&str>,
        value: &str,
        options: &Options,
    ) -> Result<Arc<str>, WorkflowError> {
        let before = before.unwrap_or_default();
        let after = match (self.mode, self.is_json) {
            (ArtifactMode::Replace, true) => {
                self.read::<Value>(value, "the value")?;
                value.to_owned()
            }
            (ArtifactMode::Replace, false) => value.to_owned(),
            (ArtifactMode::Append, true) => self.appended(before, value)?,
            (ArtifactMode::Append, false) => {
                let newline = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
                format!("{before}{newline}{value}")
            }
        };
        match after.len() > options.artifact_bytes {
            true => Err(WorkflowError::ArtifactTooLarge {
                name: self.name.to_string(),
                bytes: after.len(),
                max: options.artifact_bytes,
            }),
            false => Ok(after.into()),
        }
    }

    /// Another element of an array. What is there and no array, because the Go program wrote it, becomes its first element.
    fn appended(&self, before: &str, value: &str) -> Result<String, WorkflowError> {
        let added = self.read(value, "the value")?;
        if !keeps_numbers(before) || !keeps_numbers(value) {
            return self.appended_as_written(before, value);
        }
        let mut elements = match before {
            "" => Vec::new(),
            before => match self.read(before, "what is there")? {
                Value::Array(elements) => elements,
                single => vec![single],
            },
        };
        elements.push(added);
        Ok(json_text(&Value::Array(elements)))
    }

    /// The same with texts that have numbers with more digits than are read: every element stays as it is written.
    fn appended_as_written(&self, before: &str, value: &str) -> Result<String, WorkflowError> {
        let what = "what is there";
        let elements: Vec<&RawValue> = match before.trim_start() {
            "" => Vec::new(),
            list if list.starts_with('[') => self.read(list, what)?,
            single => vec![self.read(single, what)?],
        };
        let elements = elements.into_iter().map(RawValue::get).chain([value.trim()]);
        Ok(format!("[{}]", elements.collect::<Vec<_>>().join(",")))
    }

    fn read<'t, T: Deserialize<'t>>(&self, text: &'t str, what: &str) -> Result<T, WorkflowError> {
        serde_json::from_str(text).map_err(|error| WorkflowError::InvalidArtifact {
            name: self.name.to_string(),
            reason: format!("{what} is not valid JSON: {error}"),
        })
    }
}

/// Every artifact that some state declares, by name. Validation has seen to it that declarations agree.
pub(super) fn declared<'a>(
    states: impl Iterator<Item = (&'a String, &'a ArtifactSpec)>,
) -> BTreeMap<Arc<str>, DeclaredArtifact> {
    let mut table: BTreeMap<Arc<str>, DeclaredArtifact> = BTreeMap::new();
    for (name, spec) in states {
        let name: Arc<str> = name.as_str().into();
        let known =
            table.entry(Arc::clone(&name)).or_insert_with(|| DeclaredArtifact::new(Arc::clone(&name), spec));
        if known.description.is_empty() {
            known.description.clone_from(&spec.description);
        }
    }
    table
}
