//! Run records, leases, batches and queries of a store.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Generation, Launch, NextGeneration, StoreError, WaitConditions};
use crate::ask::{PendingQuestion, QuestionId};
use crate::journal::{Blob, Entry};
use crate::message::{Money, Usage};
use crate::{RunId, Timestamp};

/// A run to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The workflow's version.
    pub version: u32,
    /// The initial state, as JSON.
    pub input: Bytes,
    /// What the workflow is made of, as JSON. Many runs have the same.
    pub outline: Option<Bytes>,
    /// What it is started with, beside its state.
    pub launch: Launch,
    /// What its random numbers are derived from.
    pub seed: u64,
    /// The run and entry this one branched off from.
    pub forked_from: Option<ForkPoint>,
    /// Entries and content it starts with (a fork's common past).
    pub past: Batch,
}

/// The point where a run was forked off another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The other run.
    pub run: RunId,
    /// The first entry they do not share.
    pub at: u64,
}

/// The treatment of a run that somebody else is working on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnBusy {
    /// Leave it alone.
    #[default]
    Refuse,
    /// Take it over; the other's next write fails with [`StoreError::Fenced`].
    TakeOver,
}

/// The right to write to one run, until somebody claims it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Which claim this is, from 1.
    pub epoch: u64,
    /// The number the next entry must have.
    pub next_seq: u64,
}

impl Lease {
    /// Refuses a lease that is not the claim in force.
    ///
    /// # Errors
    /// [`StoreError::Fenced`].
    pub fn must_be(&self, current: u64) -> Result<(), StoreError> {
        match self.epoch == current {
            true => Ok(()),
            false => Err(StoreError::Fenced { run: self.run.clone(), ours: self.epoch, current }),
        }
    }
}

/// A batch of writes that are made together or not at all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Entries, numbered without a gap after those already there.
    pub entries: Vec<Entry>,
    /// Content the entries refer to and the run does not have yet.
    pub blobs: Vec<Blob>,
    /// Questions that begin to wait.
    pub opened: Vec<PendingQuestion>,
    /// Questions that are settled.
    pub closed: Vec<QuestionId>,
    /// A change of the run's record.
    pub change: Option<RunChange>,
    /// What the workflow is made of from now on, if that has changed.
    pub outline: Option<Bytes>,
    /// The version of the workflow that goes on with the run from now on, if that is another than before.
    pub version: Option<u32>,
    /// What the run goes on with from now on, if that has changed.
    pub launch: Option<Launch>,
    /// The generation the run continues with, if it does. It begins after the entries of this batch, and its version is the latest
    /// from then on.
    pub next: Option<NextGeneration>,
}

/// A change of a run's record.
#[derive(Debug, Clone, PartialEq)]
pub struct RunChange {
    /// The new status.
    pub status: RunStatus,
    /// How it ended, as JSON: final state, and the error if there is one.
    pub outcome: Option<Bytes>,
    /// What the run has used so far.
    pub totals: Totals,
    /// How long it has been at work so far.
    pub worked: Duration,
    /// What it waits for, if it is suspended, beside answers to its questions.
    pub waits: WaitConditions,
}

/// The usage totals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Model calls.
    pub model_calls: u64,
    /// Of these, calls whose cost is not known: replies without a price, and failures that may have cost something.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens, and what is known of the cost.
    pub usage: Usage,
}

impl Totals {
    /// The whole cost; `None` if the cost of any call is unknown. [`usage`](Self::usage) has what is known of it.
    #[must_use]
    pub fn whole_cost(&self) -> Option<Money> {
        (self.unpriced_calls == 0).then_some(self.usage.cost).flatten()
    }
}

impl Totals {
    /// Adds a call of a model that used this, and whether its whole cost is known.
    pub(crate) fn add_model_call(&mut self, usage: Usage, is_priced: bool) {
        self.model_calls += 1;
        self.unpriced_calls += u64::from(!is_priced);
        // A call that was refused before it could cost anything has no price and no usage: it is known to have cost nothing.
        let cost = usage.cost.or(is_priced.then_some(Money::ZERO));
        self.usage += Usage { cost, ..usage };
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Being worked on, or interrupted by a crash.
    Running,
    /// Waiting for answers.
    Suspended,
    /// Ended well.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended because somebody said so.
    Cancelled,
    /// Ended by its deadline.
    TimedOut,
    /// Ended by its budget.
    BudgetExhausted,
    /// Ended by a supervisor.
    Halted,
    /// Ended by policy.
    Denied,
}

impl RunStatus {
    /// Every status, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Running,
        Self::Suspended,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::BudgetExhausted,
        Self::Halted,
        Self::Denied,
    ];

    /// The status' name as users see and write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Halted => "halted",
            Self::Denied => "denied",
        }
    }

    /// The status with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns whether the run is over: neither running nor waiting.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Suspended)
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The version of the workflow that began it, or the generation it is in.
    pub version: u32,
    /// The latest version that has gone on with it.
    pub latest: u32,
    /// Where it stands.
    pub status: RunStatus,
    /// When it was made.
    pub created: Timestamp,
    /// When its record last changed.
    pub updated: Timestamp,
    /// The state that the run, or the generation it is in, began with, as JSON.
    pub input: Bytes,
    /// Which generation it is in.
    pub generation: Generation,
    /// What the workflow is made of, as JSON, if that was kept.
    pub outline: Option<Bytes>,
    /// What it was started with, beside its state.
    pub launch: Launch,
    /// How it ended, as JSON.
    pub outcome: Option<Bytes>,
    /// What its random numbers are derived from.
    pub seed: u64,
    /// The claim in force.
    pub epoch: u64,
    /// Who holds the lease, if anyone does: host and process, for people to read.
    pub holder: Option<String>,
    /// The run and entry this one branched off from.
    pub forked_from: Option<ForkPoint>,
    /// What it has used, as of its last change of status.
    pub totals: Totals,
    /// How long it has been at work, as of its last change of status.
    pub worked: Duration,
    /// From when on it can go on by itself, if it is suspended: it sleeps until then, or what it waited for came then.
    pub wake: Option<Timestamp>,
    /// The channels it waits for mail on, if it is suspended.
    pub channels: Vec<String>,
}

impl RunRecord {
    /// Returns whether the entry with this number and time is from the past of the run this one branched off from. Entries keep
    /// their times when they are copied, but not always their numbers: calls that were under way at the fork are left out.
    #[must_use]
    pub fn has_inherited(&self, seq: u64, at: Timestamp) -> bool {
        self.forked_from.as_ref().is_some_and(|fork| seq < fork.at) && at < self.created
    }
}

/// A query for runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunQuery {
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// Only runs that stand here.
    pub status: Option<RunStatus>,
    /// Only runs whose id begins like this.
    pub id_prefix: Option<String>,
    /// Only runs with all of these labels.
    pub labels: BTreeMap<String, String>,
    /// Only runs that this one started.
    pub parent: Option<RunId>,
    /// Only runs of this conversation.
    pub thread: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

/// The retention rule for finished runs. A run is deleted when every limit that is set says so: older than the age, and beyond the
/// newest ones. Without any limit all are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retention {
    /// Those that ended within this time are kept.
    pub max_age: Option<Duration>,
    /// The newest so many of each workflow are kept.
    pub keep_per_workflow: Option<usize>,
}

impl Retention {
    /// The runs it does not keep, out of all runs, newest first: finished ones that nobody holds.
    #[must_use]
    pub fn outdated<'a>(
        &self,
        newest_first: impl Iterator<Item = &'a RunRecord>,
        now: Timestamp,
    ) -> Vec<RunId> {
        let has_limits = self.max_age.is_some() || self.keep_per_workflow.is_some();
        let ended_by = self.max_age.map(|age| now - age);
        let mut places: HashMap<&str, usize> = HashMap::new();
        let finished = newest_first.filter(|record| record.status.is_final());
        let outdated = finished.filter(|record| {
            let place = places.entry(&record.workflow).or_default();
            *place += 1;
            let is_old = ended_by.is_none_or(|ended_by| record.updated <= ended_by);
            let is_surplus = self.keep_per_workflow.is_none_or(|keep| *place > keep);
            has_limits && is_old && is_surplus && record.holder.is_none()
        });
        outdated.map(|record| record.id.clone()).collect()
    }
}
