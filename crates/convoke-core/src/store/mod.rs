//! The store trait: where runs are kept.
//!
//! A [`Store`] holds, for every run: its record, its journal, the content its journal refers to, the questions
//! it waits on, and the mail it was sent. It must be atomic (a [`Batch`] is written whole or not at all), ordered (entries are numbered without
//! gaps) and fenced (one writer per run: a later [`claim`](Store::claim) makes every earlier [`Lease`] useless).
//! `convoke-store` has the implementations, and a public contract suite that any further one must pass.

mod error;
mod generation;
mod launch;
mod mail;
mod read;
mod record;
mod ticket;

use std::collections::HashMap;

pub use bytes::Bytes;
pub use error::StoreError;
use futures_util::stream::BoxStream;
pub use generation::{Generation, NextGeneration};
pub use launch::Launch;
pub(crate) use mail::must_be_channel;
pub use mail::{
    AwaitedChannel, CANCEL_CHANNEL, DueRun, Mail, NewMail, PostReceipt, WaitConditions, reply_channel,
};
pub use read::read_entries;
pub(crate) use read::{read_entries_from, read_more};
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

    /// Keeps something for a run. Needs no lease: whoever may reach the store may send. A suspended run that waits for it can go
    /// on from then on.
    ///
    /// What [answers](NewMail::reply) an open question must fit it, and is refused with [`StoreError::Answered`] if those before
    /// it, or time, have settled the question. A run that is completed takes nothing: [`StoreError::Over`].
    fn post<'a>(&'a self, run: &'a RunId, mail: NewMail) -> BoxFuture<'a, Result<PostReceipt, StoreError>>;

    /// What a run was sent on a channel, numbered higher than `after`, in order, at most `limit`.
    fn mail<'a>(
        &'a self,
        run: &'a RunId,
        channel: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>>;

    /// What a run was sent under a key, on whatever channels, in order.
    fn mail_by_key<'a>(
        &'a self,
        run: &'a RunId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>>;

    /// Runs that can go on by a time and that nobody holds, the earliest first, at most `limit`: suspended ones, when what they
    /// [wait](WaitConditions) for has come, or their question is settled, or the time is there; and those that are said to be running, because
    /// whoever worked on them is gone. A [fork](NewRun::forked_from) that nobody has claimed since it was made is not among them: it
    /// waits for whoever made it to say how it is to go on.
    fn due(&self, by: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<DueRun>, StoreError>>;

    /// Says something whenever it is worth looking again: at one run's mail, or at what is [due](Self::due). Whoever else writes
    /// to the store, also from another process, is noticed within about a second. What happens between two looks is one.
    fn watch(&self, run: Option<&RunId>) -> BoxStream<'static, ()>;

    /// Says something whenever a run's journal or record may be another than before. Like [`watch`](Self::watch), for those who read
    /// what a run does.
    fn follow(&self, run: &RunId) -> BoxStream<'static, ()>;

    /// Whether a lease is still in force: [`StoreError::Fenced`] if somebody else has the run by now.
    fn confirm<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match self.run(&lease.run).await? {
                None => Err(StoreError::NotFound { run: lease.run.clone() }),
                Some(record) => lease.must_be(record.epoch),
            }
        })
    }

    /// Records an answer to a pending question. Needs no lease: whoever may reach the store may answer.
    ///
    /// Fails with [`StoreError::NoSuchQuestion`] if the question is not (or no longer) open, and with
    /// [`StoreError::Unfit`] if the answer does not fit it.
    fn answer<'a>(
        &'a self,
        run: &'a RunId,
        question: &'a QuestionId,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if !self.questions(Some(run)).await?.iter().any(|open| open.id == *question) {
                let question = question.to_string();
                return Err(StoreError::NoSuchQuestion { run: run.clone(), question });
            }
            self.post(run, NewMail::reply(question, &answer)?).await.map(|_| ())
        })
    }

    /// The answers given to a question so far, in the order they came.
    fn answers<'a>(
        &'a self,
        run: &'a RunId,
        question: &'a QuestionId,
    ) -> BoxFuture<'a, Result<Vec<Answer>, StoreError>> {
        Box::pin(async move {
            let replies = self.mail(run, &reply_channel(question), 0, usize::MAX).await?;
            // What cannot be read is no answer.
            Ok(replies.iter().filter_map(|reply| reply.read().ok()).collect())
        })
    }

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
