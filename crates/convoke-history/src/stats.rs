//! Sums over many runs: how many stand where, how long they took, what they did.

use std::collections::BTreeMap;
use std::time::Duration;

use convoke_core::store::{RunRecord, Store};
use convoke_core::{Error, RunStatus, Timestamp};

use super::{DisplayStatus, Tally};

/// Sums over some runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// How many there are.
    pub runs: u64,
    /// How many stand where, in the order of [`DisplayStatus::ALL`]; those where none stands are left out.
    pub by_status: Vec<(DisplayStatus, u64)>,
    /// What they did together.
    pub tally: Tally,
    /// How long those took that are over, shortest first.
    pub durations: Vec<Duration>,
    /// When the first and the last of them began.
    pub began: Option<(Timestamp, Timestamp)>,
}

/// Sums over runs, all of them and by workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AllStats {
    /// Over all of them.
    pub all: Stats,
    /// By the name of their workflow.
    pub workflows: BTreeMap<String, Stats>,
}

impl AllStats {
    /// Sums up runs. Reads their journals, but not what was said.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn read(store: &dyn Store, records: &[RunRecord]) -> Result<Self, Error> {
        let mut stats = Self::default();
        for record in records {
            let tally = Tally::read(store, record).await?;
            stats.all.add(record, &tally);
            stats.workflows.entry(record.workflow.clone()).or_default().add(record, &tally);
        }
        stats.all.finish();
        stats.workflows.values_mut().for_each(Stats::finish);
        Ok(stats)
    }
}

impl Stats {
    fn add(&mut self, record: &RunRecord, tally: &Tally) {
        self.runs += 1;
        self.tally += tally;
        let own = DisplayStatus::of(record);
        match self.by_status.iter_mut().find(|(status, _)| *status == own) {
            Some((_, count)) => *count += 1,
            None => self.by_status.push((own, 1)),
        }
        if record.status.is_final() {
            self.durations.push(record.updated.since(record.created));
        }
        let (first, last) = self.began.unwrap_or((record.created, record.created));
        self.began = Some((first.min(record.created), last.max(record.created)));
    }

    fn finish(&mut self) {
        self.durations.sort_unstable();
        let place = |status: &DisplayStatus| DisplayStatus::ALL.iter().position(|one| one == status);
        self.by_status.sort_by_key(|(status, _)| place(status));
    }

    /// Returns how many completed.
    #[must_use]
    pub fn completed(&self) -> u64 {
        let completed = DisplayStatus::Status(RunStatus::Completed);
        self.by_status.iter().find(|(status, _)| *status == completed).map_or(0, |(_, count)| *count)
    }

    /// Returns how long those took together that are over.
    #[must_use]
    pub fn total_duration(&self) -> Duration {
        self.durations.iter().sum()
    }

    /// Returns how long one of them took: the middle, or between the two in the middle. `None` if none is over.
    #[must_use]
    pub fn median_duration(&self) -> Option<Duration> {
        let middle = self.durations.len() / 2;
        let upper = *self.durations.get(middle)?;
        match self.durations.len() % 2 {
            0 => Some((self.durations[middle - 1] + upper) / 2),
            _ => Some(upper),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        let median = |seconds: &[u64]| {
            let durations = seconds.iter().map(|seconds| Duration::from_secs(*seconds)).collect();
            Stats { durations, ..Stats::default() }.median_duration().map(|median| median.as_secs())
        };
        assert_eq!(
            [median(&[]), median(&[4]), median(&[1, 3]), median(&[1, 2, 90])],
            [None, Some(4), Some(2), Some(2)]
        );
    }
}
