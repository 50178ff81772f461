//! Sums over runs, as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{SpentView, seconds, time};
use crate::{AllStats, Stats};

/// Sums over runs, by workflow and by model.
#[derive(Debug, Serialize)]
pub struct StatsView<'a> {
    #[serde(flatten)]
    all: GroupView,
    workflows: BTreeMap<&'a str, GroupView>,
    models: BTreeMap<&'a str, SpentView>,
}

#[derive(Debug, Serialize)]
struct GroupView {
    runs: u64,
    by_status: BTreeMap<&'static str, u64>,
    first_started: Option<String>,
    last_started: Option<String>,
    spent: SpentView,
    /// Effects that failed.
    failures: u64,
    questions: u64,
    questions_answered: u64,
    /// Runs that are over; the durations are theirs.
    ended: usize,
    total_duration_seconds: f64,
    median_duration_seconds: Option<f64>,
}

impl<'a> From<&'a AllStats> for StatsView<'a> {
    fn from(stats: &'a AllStats) -> Self {
        Self {
            all: GroupView::from(&stats.all),
            workflows: stats.workflows.iter().map(|(name, group)| (&**name, group.into())).collect(),
            models: stats.all.tally.models.iter().map(|(name, spent)| (&**name, spent.into())).collect(),
        }
    }
}

impl From<&Stats> for GroupView {
    fn from(stats: &Stats) -> Self {
        Self {
            runs: stats.runs,
            by_status: stats.by_status.iter().map(|(status, count)| (status.name(), *count)).collect(),
            first_started: stats.began.map(|(first, _)| time(first)),
            last_started: stats.began.map(|(_, last)| time(last)),
            spent: (&stats.tally.spent).into(),
            failures: stats.tally.spent.failures,
            questions: stats.tally.questions,
            questions_answered: stats.tally.answered,
            ended: stats.durations.len(),
            total_duration_seconds: seconds(stats.total_duration()),
            median_duration_seconds: stats.median_duration().map(seconds),
        }
    }
}
