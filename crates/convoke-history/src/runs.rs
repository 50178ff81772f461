//! Lists of runs: which ones are wanted, and what each has spent.

use convoke_core::store::{RunQuery, RunRecord, Store};
use convoke_core::{Error, RunStatus, StoreError, Timestamp};

use crate::json::{RunView, SpentView};
use crate::{DisplayStatus, History, Spent, human};

/// The runs that are wanted; all of them, unless something is said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFilter {
    /// Those of this workflow.
    pub workflow: Option<String>,
    /// Those that stand here.
    pub standing: Option<DisplayStatus>,
    /// Those that began then or later.
    pub since: Option<Timestamp>,
    /// Those that began earlier than that.
    pub until: Option<Timestamp>,
}

impl RunFilter {
    /// Reads the runs that are wanted, newest first. With a limit, the store may give no more than one beyond it, which says that
    /// there are more.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn read(&self, store: &dyn Store, limit: Option<usize>) -> Result<Vec<RunRecord>, StoreError> {
        // The store knows no times, nor who is alive: those are told apart here, among all there are.
        let is_told_apart = self.since.is_some()
            || self.until.is_some()
            || self.standing.is_some_and(|standing| standing.status() == RunStatus::Running);
        let query = RunQuery {
            workflow: self.workflow.clone(),
            status: self.standing.map(DisplayStatus::status),
            limit: limit.filter(|_| !is_told_apart).map(|limit| limit.saturating_add(1)),
            ..RunQuery::default()
        };
        let mut records = store.runs(&query).await?;
        records.retain(|record| {
            self.since.is_none_or(|since| record.created >= since)
                && self.until.is_none_or(|until| record.created < until)
                && self.standing.is_none_or(|standing| standing == DisplayStatus::of(record))
        });
        Ok(records)
    }
}

/// A run in a list, with what it spent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListedRun {
    /// What the store knows about it.
    pub record: RunRecord,
    /// What it has spent, where the record does not say it.
    so_far: Option<Spent>,
}

impl ListedRun {
    /// Finds out what a run has spent. The record of a run under way says nothing about that since it began, and that of an
    /// earlier build not why a cost is missing; the journal does.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn read(store: &dyn Store, record: RunRecord) -> Result<Self, Error> {
        let totals = &record.totals;
        let is_unexplained =
            totals.model_calls > 0 && totals.unpriced_calls == 0 && totals.usage.cost.is_none();
        let so_far = match record.status == RunStatus::Running || is_unexplained {
            true => Some(History::spent_so_far(store, &record.id).await?),
            false => None,
        };
        Ok(Self { record, so_far })
    }

    /// The run as JSON.
    #[must_use]
    pub fn view(&self, now: Timestamp) -> RunView<'_> {
        let spent =
            self.so_far.as_ref().map_or_else(|| SpentView::from(&self.record.totals), SpentView::from);
        RunView::new(&self.record, spent, now)
    }

    /// Returns how many calls of models it made.
    #[must_use]
    pub fn model_calls(&self) -> u64 {
        self.so_far.map_or(self.record.totals.model_calls, |spent| spent.model_calls)
    }

    /// Returns how many tokens it used.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.so_far.map_or(self.record.totals.usage, |spent| spent.usage).total_tokens()
    }

    /// Returns what it cost, in words.
    #[must_use]
    pub fn cost(&self) -> String {
        match &self.so_far {
            None => human::totals_cost(&self.record.totals),
            Some(spent) => Some(human::spent_cost(spent))
                .filter(|cost| !cost.is_empty())
                .unwrap_or(human::NOTHING.to_owned()),
        }
    }
}
