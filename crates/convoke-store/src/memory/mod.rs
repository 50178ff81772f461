//! The in-memory store: lasts as long as the process.
//!
//! It keeps every promise of a store but durability: an append is acknowledged when it is in memory. What there is to
//! know about runs, leases and questions is in [`state`]; this file only takes the lock.

mod state;

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{
    Batch, DueRun, Lease, Mail, NewMail, NewRun, OnBusy, PostReceipt, Retention, RunQuery, RunRecord, Ticket,
};
use convoke_core::{BoxFuture, Digest, Entry, RunId, Store, StoreError, Timestamp};
use futures_util::stream::BoxStream;
use state::State;

use crate::notifier::{ChangeNotifier, Topic};

/// Runs in memory. A clone is the same store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    notifier: Arc<ChangeNotifier>,
}

impl MemoryStore {
    /// A store with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryStore").field("runs", &self.state().count()).finish()
    }
}

impl Store for MemoryStore {
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(ready(self.state().create(run)))
    }

    fn claim<'a>(&'a self, run: &'a RunId, busy: OnBusy) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(ready(self.state().claim(run, busy)))
    }

    fn append(&self, lease: &Lease, batch: Batch) -> Ticket {
        let is_change = batch.change.is_some();
        let appended = self.state().append(lease, batch);
        match is_change {
            true => self.notifier.notify(&lease.run),
            false if self.notifier.is_followed(&lease.run) => self.notifier.notify_followers(&lease.run),
            false => {}
        }
        Ticket::done(appended)
    }

    fn release(&self, lease: &Lease) {
        self.state().release(lease);
        self.notifier.notify(&lease.run);
    }

    fn run<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>> {
        Box::pin(ready(Ok(self.state().run(run))))
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        Box::pin(ready(Ok(self.state().entries(run, from, limit))))
    }

    fn blob_digests<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Digest>, StoreError>> {
        Box::pin(ready(Ok(self.state().blob_digests(run))))
    }

    fn blobs<'a>(
        &'a self,
        run: &'a RunId,
        digests: &'a [Digest],
    ) -> BoxFuture<'a, Result<HashMap<Digest, Bytes>, StoreError>> {
        Box::pin(ready(Ok(self.state().blobs(run, digests))))
    }

    fn runs<'a>(&'a self, query: &'a RunQuery) -> BoxFuture<'a, Result<Vec<RunRecord>, StoreError>> {
        Box::pin(ready(Ok(self.state().runs(query))))
    }

    fn questions<'a>(
        &'a self,
        run: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<Vec<PendingQuestion>, StoreError>> {
        Box::pin(ready(Ok(self.state().questions(run))))
    }

    fn post<'a>(&'a self, run: &'a RunId, mail: NewMail) -> BoxFuture<'a, Result<PostReceipt, StoreError>> {
        let posted = self.state().post(run, mail);
        self.notifier.notify(run);
        Box::pin(ready(posted))
    }

    fn mail<'a>(
        &'a self,
        run: &'a RunId,
        channel: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        Box::pin(ready(Ok(self.state().mail(run, channel, after, limit))))
    }

    fn mail_by_key<'a>(
        &'a self,
        run: &'a RunId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        Box::pin(ready(Ok(self.state().mail_by_key(run, key))))
    }

    fn due(&self, by: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<DueRun>, StoreError>> {
        Box::pin(ready(Ok(self.state().due(by, limit))))
    }

    fn watch(&self, run: Option<&RunId>) -> BoxStream<'static, ()> {
        self.notifier.watch(Topic::of(run)).0
    }

    fn follow(&self, run: &RunId) -> BoxStream<'static, ()> {
        self.notifier.watch(Topic::Journal(run.clone())).0
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(self.state().delete(run)))
    }

    fn purge<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(ready(Ok(self.state().purge(retention))))
    }
}
