//! One line of a session log.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

/// One event, with the fields of the format.
#[derive(Serialize, Default)]
pub(super) struct LogEvent<'a> {
    pub(super) _type: &'static str,
    pub(super) seq: usize,
    pub(super) r#type: &'static str,
    pub(super) timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) corr_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) step: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<Cow<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) meta: Map<String, Value>,
}

impl LogEvent<'static> {
    pub(super) fn warning(content: &str) -> Self {
        Self { r#type: "warning", content: Some(content.to_owned()), ..Self::default() }
    }
}

/// A duration as the format has it.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
