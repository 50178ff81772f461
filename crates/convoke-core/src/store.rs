//! Where runs are kept.
//!
//! A [`Store`] holds, for every run: its record, its journal, the content its journal refers to, and the questions
//! it waits on. It must be atomic (a [`Batch`] is written whole or not at all), ordered (entries are numbered without
//! gaps) and fenced (one writer per run: a later [`claim`](Store::claim) makes every earlier [`Lease`] useless).
//! `convoke-store` has the implementations, and a public contract suite that any further one must pass.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

pub use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::Shared;
use serde::{Deserialize, Serialize};

use crate::ask::{Answer, PendingQuestion, QuestionId};
use crate::journal::{Blob, Entry};
use crate::message::Usage;
use crate::step::BoxFuture;
use crate::{Digest, RunId, Timestamp};

/// A durable home for runs.
///
/// Methods other than [`append`](Self::append) may be called by anyone at any time; `append` needs the run's lease.
pub trait Store: Send + Sync + 'static {
    /// Makes a new run and gives its first lease.
    ///
    /// Fails with [`StoreError::Exists`] if the id is taken.
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Takes the right to write to a run, and ends every earlier lease on it.
    ///
    /// With [`OnBusy::Refuse`], a run whose holder is alive is left alone and [`StoreError::Busy`] is returned.
    fn claim<'a>(&'a self, run: &'a RunId, busy: OnBusy) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Queues a batch. The order of calls is the order of the journal; the ticket is done when the batch is durable.
    ///
    /// After a batch of a lease has failed, all later batches of that lease fail too: there are no gaps. What may
    /// queue up is bounded by the callers: a run settles its tickets before it performs its next effect.
    fn append(&self, lease: &Lease, batch: Batch) -> Ticket;

    /// Gives a lease back: the run can be claimed by anyone without asking. Called once, after the last append.
    fn release(&self, lease: &Lease);

    /// One run's record.
    fn run<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>>;

    /// A run's entries with `seq >= from`, in order, at most `limit` of them.
    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>>;

    /// The digests of all content kept for a run.
    fn blob_digests<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Digest>, StoreError>>;

    /// Content of a run by digest. What is not there is missing from the answer.
    fn blobs<'a>(
        &'a self,
        run: &'a RunId,
        digests: &'a [Digest],
    ) -> BoxFuture<'a, Result<HashMap<Digest, Bytes>, StoreError>>;

    /// Records of runs, newest first.
    fn runs<'a>(&'a self, query: &'a RunQuery) -> BoxFuture<'a, Result<Vec<RunRecord>, StoreError>>;

    /// Questions that wait for an answer, oldest first; of one run, or of all.
    fn questions<'a>(
        &'a self,
        run: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<Vec<PendingQuestion>, StoreError>>;

    /// Records an answer to a pending question. Needs no lease: whoever may reach the store may answer.
    ///
    /// Fails with [`StoreError::NoSuchQuestion`] if the question is not (or no longer) open, and with
    /// [`StoreError::Unfit`] if the answer does not fit it.
    fn answer<'a>(
        &'a self,
        run: &'a RunId,
        question: &'a QuestionId,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The answers given to a question so far, in the order they came.
    fn answers<'a>(
        &'a self,
        run: &'a RunId,
        question: &'a QuestionId,
    ) -> BoxFuture<'a, Result<Vec<Answer>, StoreError>>;

    /// Deletes a run with all it has. Says whether there was one. A run whose holder is alive is refused as busy.
    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Deletes finished runs as the retention says, and gives their number. Suspended and running ones stay.
    fn purge<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<u64, StoreError>>;
}

/// What a run begins with.
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
    /// What its random numbers are derived from.
    pub seed: u64,
    /// The run and entry this one branched off from.
    pub forked_from: Option<ForkPoint>,
    /// Entries and content it starts with (a fork's common past).
    pub past: Batch,
}

/// Where a run branched off another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The other run.
    pub run: RunId,
    /// The first entry they do not share.
    pub at: u64,
}

/// What to do about a run that somebody else is working on.
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

/// Things that are written together or not at all.
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
}

/// What a run has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Model calls.
    pub model_calls: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens and money.
    pub usage: Usage,
}

/// Where a run stands.
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

    /// Whether the run is over: neither running nor waiting.
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

/// What the store knows about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The workflow's version.
    pub version: u32,
    /// Where it stands.
    pub status: RunStatus,
    /// When it was made.
    pub created: Timestamp,
    /// When its record last changed.
    pub updated: Timestamp,
    /// The initial state, as JSON.
    pub input: Bytes,
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
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunQuery {
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// Only runs that stand here.
    pub status: Option<RunStatus>,
    /// Only runs whose id begins like this.
    pub id_prefix: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

/// Which finished runs to keep. A run is deleted when any of the limits says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retention {
    /// Those that ended within this time.
    pub max_age: Option<Duration>,
    /// The newest so many of each workflow.
    pub keep_per_workflow: Option<usize>,
}

/// A promise that a batch will be durable.
///
/// It may be cloned and awaited by several; dropping it does not undo the batch.
#[derive(Clone)]
pub struct Ticket(Shared<BoxFuture<'static, Result<(), StoreError>>>);

impl Ticket {
    /// A ticket that is done when the future is.
    pub fn new(future: impl Future<Output = Result<(), StoreError>> + Send + 'static) -> Self {
        let future: BoxFuture<'static, _> = Box::pin(future);
        Self(future.shared())
    }

    /// A ticket that is already done.
    #[must_use]
    pub fn done(result: Result<(), StoreError>) -> Self {
        Self::new(std::future::ready(result))
    }
}

impl Future for Ticket {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(context)
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ticket").field("result", &self.0.peek()).finish()
    }
}

/// Why a store could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such run.
    #[error("there is no run `{run}` in this store; `convoke runs` lists those there are")]
    NotFound {
        /// The run asked for.
        run: RunId,
    },
    /// The id is taken.
    #[error("run `{run}` exists already: resume it, or choose another id")]
    Exists {
        /// The run.
        run: RunId,
    },
    /// Somebody else is working on it.
    #[error("run `{run}` is being worked on by {holder}: wait for it, or take it over")]
    Busy {
        /// The run.
        run: RunId,
        /// Host and process.
        holder: String,
    },
    /// Somebody else has taken the run over.
    #[error(
        "run `{run}` was taken over by another writer (claim {current}, ours was {ours}); nothing was written"
    )]
    Fenced {
        /// The run.
        run: RunId,
        /// The claim the write was made under.
        ours: u64,
        /// The claim in force.
        current: u64,
    },
    /// An entry's number does not follow the last one's.
    #[error(
        "run `{run}`: entry {found} does not follow entry {expected}-1; an earlier write of this lease failed"
    )]
    Gap {
        /// The run.
        run: RunId,
        /// The number that would have followed.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The question is not open.
    #[error("run `{run}` has no open question `{question}`; it may have been answered already")]
    NoSuchQuestion {
        /// The run.
        run: RunId,
        /// The question asked for.
        question: String,
    },
    /// The answer does not fit the question.
    #[error(transparent)]
    Unfit(#[from] crate::ask::UnfitAnswer),
    /// The store was written by a newer Convoke.
    #[error(
        "{store} has schema version {found}, this Convoke understands up to {supported}: upgrade Convoke; the store was not touched"
    )]
    Newer {
        /// Which store.
        store: String,
        /// Its version.
        found: i64,
        /// The newest version understood.
        supported: i64,
    },
    /// What is there is not a Convoke store, or is damaged.
    #[error(
        "{store} is damaged or not a Convoke store: {problem}; it was not touched. Restore it from a backup, or name another file"
    )]
    Corrupt {
        /// Which store.
        store: String,
        /// What is wrong.
        problem: String,
    },
    /// The store itself failed (disk full, connection lost).
    #[error("the store failed: {0}")]
    Failed(String),
}
