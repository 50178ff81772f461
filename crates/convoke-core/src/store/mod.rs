//! Where runs are kept.
//!
//! A [`Store`] holds, for every run: its record, its journal, the content its journal refers to, and the questions
//! it waits on. It must be atomic (a [`Batch`] is written whole or not at all), ordered (entries are numbered without
//! gaps) and fenced (one writer per run: a later [`claim`](Store::claim) makes every earlier [`Lease`] useless).
//! `convoke-store` has the implementations, and a public contract suite that any further one must pass.

mod error;
mod launch;
mod read;
mod record;
mod ticket;

use std::collections::HashMap;

pub use bytes::Bytes;
pub use error::StoreError;
pub use launch::Launch;
pub(crate) use read::read_entries;
pub use record::{
    Batch, ForkPoint, Lease, NewRun, OnBusy, Retention, RunChange, RunQuery, RunRecord, RunStatus, Totals,
};
pub use ticket::Ticket;

use crate::ask::{Answer, PendingQuestion, QuestionId};
use crate::journal::Entry;
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

    /// The runs that [`purge`](Self::purge) would delete now, newest first.
    fn outdated<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move {
            let newest_first = self.runs(&RunQuery::default()).await?;
            Ok(retention.outdated(newest_first.iter(), Timestamp::now()))
        })
    }

    /// Deletes finished runs as the retention says, and gives their number. Suspended and running ones stay, and so do
    /// those that somebody holds.
    fn purge<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<u64, StoreError>>;
}
