//! A run, as JSON.

use convoke_core::Timestamp;
use convoke_core::store::{ForkPoint, RunRecord};
use serde::Serialize;
use serde_json::Value;

use super::{SpentView, seconds, time};
use crate::{DisplayStatus, Ending, run_duration};

/// The record of a run.
#[derive(Debug, Serialize)]
pub struct RunView<'a> {
    id: &'a str,
    workflow: &'a str,
    version: u32,
    status: &'static str,
    started: String,
    updated: String,
    duration_seconds: Option<f64>,
    spent: SpentView,
    held_by: Option<&'a str>,
    forked_from: Option<&'a ForkPoint>,
    /// From when on a suspended run can go on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    goes_on: Option<String>,
    /// The channels a suspended run waits for mail on.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    channels: &'a [String],
}

impl<'a> RunView<'a> {
    /// A run as it stands at this moment.
    #[must_use]
    pub fn new(record: &'a RunRecord, spent: SpentView, now: Timestamp) -> Self {
        Self {
            id: record.id.as_str(),
            workflow: &record.workflow,
            version: record.version,
            status: DisplayStatus::of(record).name(),
            started: time(record.created),
            updated: time(record.updated),
            duration_seconds: run_duration(record, now).map(seconds),
            spent,
            held_by: record.holder.as_deref(),
            forked_from: record.forked_from.as_ref(),
            goes_on: record.wake.map(time),
            channels: &record.channels,
        }
    }
}

/// The end of a run.
#[derive(Debug, Serialize)]
pub struct EndingView<'a> {
    error: Option<&'a str>,
    failed_at: Vec<&'a str>,
    state: Option<&'a Value>,
}

impl<'a> From<&'a Ending> for EndingView<'a> {
    fn from(ending: &'a Ending) -> Self {
        Self {
            error: ending.error.as_deref(),
            failed_at: ending.failed_at.iter().map(|path| path.as_str()).collect(),
            state: ending.state.as_ref(),
        }
    }
}
