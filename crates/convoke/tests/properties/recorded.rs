//! A store that remembers what it was told, so that every moment of a run can be had again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use convoke::core::store::{
    Batch, Bytes, DueRun, Lease, Mail, NewMail, NewRun, OnBusy, PostReceipt, Retention, RunQuery, RunRecord,
    StoreError, Ticket,
};
use convoke::core::{BoxFuture, Digest, Entry, PendingQuestion, Timestamp};
use convoke::prelude::*;
use futures_util::stream::BoxStream;

/// Something the store was told.
#[derive(Clone)]
enum Told {
    Create(Box<NewRun>),
    Append(Box<Batch>),
    Post(RunId, NewMail),
}

/// A store in memory, and all it was told of one run.
#[derive(Default)]
pub(crate) struct Recorded {
    store: MemoryStore,
    told: Mutex<Vec<Told>>,
}

impl Recorded {
    fn note(&self, told: Told) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(told);
    }

    /// How many things it was told.
    pub(crate) fn moments(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// A store that was told only the first so many, at least the first: the process was killed then.
    pub(crate) async fn killed_after(&self, moments: usize) -> Arc<Self> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let store = MemoryStore::new();
        let mut lease = None;
        for told in told.into_iter().take(moments) {
            match (told, &lease) {
                (Told::Create(run), _) => lease = Some(store.create(*run).await.expect("it was made")),
                (Told::Append(batch), Some(lease)) => {
                    store.append(lease, *batch).await.expect("it was written");
                }
                (Told::Post(run, mail), _) => drop(store.post(&run, mail).await.expect("it was sent")),
                (Told::Append(_), None) => unreachable!("a run is made first"),
            }
        }
        lease.iter().for_each(|lease| store.release(lease));
        Arc::new(Self { store, told: Mutex::default() })
    }
}

impl Store for Recorded {
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.note(Told::Create(Box::new(run.clone())));
        self.store.create(run)
    }

    fn append(&self, lease: &Lease, batch: Batch) -> Ticket {
        self.note(Told::Append(Box::new(batch.clone())));
        self.store.append(lease, batch)
    }

    fn post<'a>(&'a self, run: &'a RunId, mail: NewMail) -> BoxFuture<'a, Result<PostReceipt, StoreError>> {
        self.note(Told::Post(run.clone(), mail.clone()));
        self.store.post(run, mail)
    }

    fn claim<'a>(&'a self, run: &'a RunId, busy: OnBusy) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.store.claim(run, busy)
    }

    fn release(&self, lease: &Lease) {
        self.store.release(lease);
    }

    fn run<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>> {
        self.store.run(run)
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        self.store.entries(run, from, limit)
    }

    fn blob_digests<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Digest>, StoreError>> {
        self.store.blob_digests(run)
    }

    fn blobs<'a>(
        &'a self,
        run: &'a RunId,
        digests: &'a [Digest],
    ) -> BoxFuture<'a, Result<HashMap<Digest, Bytes>, StoreError>> {
        self.store.blobs(run, digests)
    }

    fn runs<'a>(&'a self, query: &'a RunQuery) -> BoxFuture<'a, Result<Vec<RunRecord>, StoreError>> {
        self.store.runs(query)
    }

    fn questions<'a>(
        &'a self,
        run: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<Vec<PendingQuestion>, StoreError>> {
        self.store.questions(run)
    }

    fn mail<'a>(
        &'a self,
        run: &'a RunId,
        channel: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        self.store.mail(run, channel, after, limit)
    }

    fn mail_by_key<'a>(
        &'a self,
        run: &'a RunId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        self.store.mail_by_key(run, key)
    }

    fn due(&self, by: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<DueRun>, StoreError>> {
        self.store.due(by, limit)
    }

    fn watch(&self, run: Option<&RunId>) -> BoxStream<'static, ()> {
        self.store.watch(run)
    }

    fn follow(&self, run: &RunId) -> BoxStream<'static, ()> {
        self.store.follow(run)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.delete(run)
    }

    fn purge<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.store.purge(retention)
    }
}
