//! The store handle, and the `Store` trait in terms of jobs and queries.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{
    Batch, DueRun, Lease, Mail, NewMail, NewRun, OnBusy, PostReceipt, Retention, RunQuery, RunRecord, Ticket,
};
use convoke_core::{BoxFuture, Digest, Entry, RunId, Store, StoreError, Timestamp};
use futures_util::stream::BoxStream;
use rusqlite::Connection;

use super::failure::Fault;
use super::inspect::{FileState, inspect};
use super::job::{Release, Reply, Task};
use super::threads::Threads;
use super::writer::Writer;
use super::{journal, mail, open, outline, query, run};
use crate::notifier::Topic;

/// What a job writes besides the bytes it was given.
const OVERHEAD: usize = 128;
/// So many runs are deleted in one transaction when old ones are purged; others can write in between.
const PURGED_TOGETHER: usize = 64;

/// Runs in one SQLite file.
///
/// A clone is the same handle. When the last one is dropped, everything queued is written, leases that were not given
/// back are, and the threads end; `drop` waits for that. A lease belongs to the handle that gave it.
///
/// The file is in WAL mode with `synchronous=FULL`: what is acknowledged survives a power cut. Space of deleted runs
/// is given back to the file system in the writer's idle moments.
#[derive(Clone)]
pub struct SqliteStore {
    threads: Arc<Threads>,
}

impl SqliteStore {
    /// Opens the store at a path; makes the file, and the folder it is in, if there is none.
    ///
    /// # Errors
    /// [`StoreError::Newer`] or [`StoreError::Corrupt`] for a file that we cannot work with (not a byte of it is
    /// changed), [`StoreError::Failed`] if it cannot be opened or written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = open::prepare(path.as_ref())?;
        let place: Arc<str> = path.display().to_string().into();
        let connection = open::to_write(&path, &place)?;
        Self::start(path, place, connection)
    }

    /// Opens the store at a path for reading. Nothing is made, changed or brought up to date, so the file and its folder
    /// need not be writable; whatever would write is refused.
    ///
    /// Every query sees what is there by then, also if others write.
    ///
    /// # Errors
    /// [`StoreError::Older`] for a store that would have to be brought up to date first, and as [`open`](Self::open).
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = open::existing(path.as_ref())?;
        let place: Arc<str> = path.display().to_string().into();
        open::must_be_current(&path, &place)?;
        Ok(Self { threads: Arc::new(Threads::reading(path, place)?) })
    }

    /// Returns whether the file at a path is one in which nothing was ever made, as a process leaves it that is ended while it makes a
    /// store. [`open`](Self::open) makes one of it.
    ///
    /// # Errors
    /// As [`open_read_only`](Self::open_read_only).
    pub fn is_uninitialized(path: impl AsRef<Path>) -> Result<bool, StoreError> {
        let path = open::existing(path.as_ref())?;
        Ok(inspect(&path, &path.display().to_string())? == FileState::Nothing)
    }

    fn start(path: PathBuf, place: Arc<str>, connection: Connection) -> Result<Self, StoreError> {
        let writer = Writer::new(connection, &path, Arc::clone(&place), Arc::default());
        Ok(Self { threads: Arc::new(Threads::start(path, place, writer)?) })
    }

    /// The absolute path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.threads.path
    }

    async fn ask_outdated(&self, retention: &Retention) -> Result<Vec<(RunId, bool)>, StoreError> {
        let retention = retention.clone();
        self.threads.readers.ask(move |connection| query::outdated(connection, &retention)).await
    }

    fn queue<T: Send + 'static>(
        &self,
        run: Option<&RunId>,
        weight: usize,
        work: impl FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
    ) -> Reply<T> {
        let (job, reply) = Task::queue(&self.threads.waits, run.cloned(), weight + OVERHEAD, work);
        self.threads.perform(job);
        reply
    }

    async fn write<T: Send + 'static>(
        &self,
        run: Option<&RunId>,
        weight: usize,
        work: impl FnOnce(&mut Writer) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue(run, weight, work).await.unwrap_or_else(|| Err(self.threads.gone().error()))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.threads.path).finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            let weight = run.input.len() + weight(&run.past);
            self.write(Some(&run.id.clone()), weight, move |writer| run::create(writer, &run)).await
        })
    }

    fn claim<'a>(&'a self, run: &'a RunId, busy: OnBusy) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let id = run.clone();
        Box::pin(self.write(Some(run), 0, move |writer| run::claim(writer, &id, busy)))
    }

    fn append(&self, lease: &Lease, batch: Batch) -> Ticket {
        let (lease, weight) = (lease.clone(), weight(&batch));
        let run = lease.run.clone();
        let reply = self.queue(Some(&run), weight, move |writer| journal::append(writer, &lease, &batch));
        let gone = self.threads.gone();
        Ticket::new(async move { reply.await.unwrap_or_else(|| Err(gone.error())) })
    }

    fn release(&self, lease: &Lease) {
        self.threads.perform(Box::new(Release(lease.clone())));
    }

    fn run<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>> {
        let run = run.clone();
        Box::pin(self.threads.readers.ask(move |connection| query::run(connection, &run)))
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        let run = run.clone();
        Box::pin(self.threads.readers.ask(move |connection| query::entries(connection, &run, from, limit)))
    }

    fn blob_digests<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Digest>, StoreError>> {
        let run = run.clone();
        Box::pin(self.threads.readers.ask(move |connection| query::blob_digests(connection, &run)))
    }

    fn blobs<'a>(
        &'a self,
        run: &'a RunId,
        digests: &'a [Digest],
    ) -> BoxFuture<'a, Result<HashMap<Digest, Bytes>, StoreError>> {
        let (run, digests) = (run.clone(), digests.to_vec());
        Box::pin(self.threads.readers.ask(move |connection| query::blobs(connection, &run, &digests)))
    }

    fn runs<'a>(&'a self, query: &'a RunQuery) -> BoxFuture<'a, Result<Vec<RunRecord>, StoreError>> {
        let query = query.clone();
        Box::pin(self.threads.readers.ask(move |connection| query::runs(connection, &query)))
    }

    fn questions<'a>(
        &'a self,
        run: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<Vec<PendingQuestion>, StoreError>> {
        let run = run.cloned();
        Box::pin(self.threads.readers.ask(move |connection| query::questions(connection, run.as_ref())))
    }

    fn post<'a>(&'a self, run: &'a RunId, mail: NewMail) -> BoxFuture<'a, Result<PostReceipt, StoreError>> {
        let (run, weight) = (run.clone(), mail.payload.len());
        Box::pin(self.write(None, weight, move |writer| mail::post(writer, &run, &mail)))
    }

    fn mail<'a>(
        &'a self,
        run: &'a RunId,
        channel: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        let (run, channel) = (run.clone(), channel.to_owned());
        let read = move |connection: &Connection| query::mail(connection, &run, &channel, after, limit);
        Box::pin(self.threads.readers.ask(read))
    }

    fn mail_by_key<'a>(
        &'a self,
        run: &'a RunId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        let (run, key) = (run.clone(), key.to_owned());
        Box::pin(self.threads.readers.ask(move |connection| query::mail_by_key(connection, &run, &key)))
    }

    fn due(&self, by: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<DueRun>, StoreError>> {
        Box::pin(async move {
            self.threads.must_be_there()?;
            let due = self.threads.readers.ask(move |connection| query::due(connection, by, limit)).await;
            if due.is_err() {
                // It may be gone since, which says more than what SQLite makes of it.
                self.threads.must_be_there()?;
            }
            due
        })
    }

    fn watch(&self, run: Option<&RunId>) -> BoxStream<'static, ()> {
        self.threads.watch(Topic::of(run))
    }

    fn follow(&self, run: &RunId) -> BoxStream<'static, ()> {
        self.threads.watch(Topic::Journal(run.clone()))
    }

    fn confirm<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let run = lease.run.clone();
            match self.threads.readers.ask(move |connection| query::epoch(connection, &run)).await? {
                Some(current) => lease.must_be(current),
                None => Err(StoreError::NotFound { run: lease.run.clone() }),
            }
        })
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        let id = run.clone();
        Box::pin(self.write(Some(run), 0, move |writer| run::delete(writer, &id)))
    }

    fn outdated<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move {
            let outdated = self.ask_outdated(retention).await?;
            Ok(outdated.into_iter().filter(|(_, is_held)| !is_held).map(|(run, _)| run).collect())
        })
    }

    fn purge<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<u64, StoreError>> {
        let retention = retention.clone();
        Box::pin(async move {
            // Whether they are held is for the writer to say: it knows of leases that are just being given back.
            let outdated = self.ask_outdated(&retention).await?;
            let outdated: Vec<RunId> = outdated.into_iter().map(|(run, _)| run).collect();
            let mut deleted = 0;
            // The oldest first, in case this is interrupted.
            for runs in outdated.rchunks(PURGED_TOGETHER) {
                let runs = runs.to_vec();
                deleted += self.write(None, 0, move |writer| run::delete_finished(writer, &runs)).await?;
            }
            if deleted > 0 {
                self.write(None, 0, |writer| outline::forget_unused(&writer.connection)).await?;
            }
            Ok(deleted)
        })
    }
}

fn weight(batch: &Batch) -> usize {
    let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
    let entries: usize =
        batch.entries.iter().map(|entry| OVERHEAD + length(&entry.request) + length(&entry.outcome)).sum();
    let blobs: usize = batch.blobs.iter().map(|blob| OVERHEAD + blob.content.len()).sum();
    let input = batch.next.as_ref().map_or(0, |next| next.input.len());
    entries + blobs + input + batch.change.as_ref().map_or(0, |change| length(&change.outcome))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn run(id: &str) -> NewRun {
        NewRun {
            id: id.parse().unwrap(),
            workflow: String::new(),
            version: 1,
            input: Bytes::new(),
            outline: None,
            launch: Default::default(),
            seed: 1,
            forked_from: None,
            past: Batch::default(),
        }
    }

    fn blob(size: usize) -> Batch {
        // Nothing in it comes twice: what does is kept once.
        let content: Bytes = (0_u32..).flat_map(u32::to_le_bytes).take(size).collect::<Vec<u8>>().into();
        Batch {
            blobs: vec![convoke_core::Blob { digest: Digest::of_parts(&[&content]), content }],
            ..Batch::default()
        }
    }

    #[tokio::test]
    async fn a_full_disk_fails_the_run_that_fills_it_and_is_over_when_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let connection = open::to_write(&path, "the store").unwrap();
        connection.pragma_update(None, "max_page_count", 100).unwrap();
        let store = SqliteStore::start(path, "the store".into(), connection).unwrap();
        let (one, other) =
            (store.create(run("one")).await.unwrap(), store.create(run("other")).await.unwrap());

        let error = store.append(&one, blob(1 << 20)).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Failed(advice) if advice.contains("free some space")),
            "{error}"
        );
        assert!(error.to_string().contains("the disk that holds the store is full"), "{error}");
        let later = store.append(&one, blob(1)).await;
        assert_eq!(later, Err(error), "what follows a batch that failed says why that did");

        assert_eq!(store.append(&other, blob(1_000)).await, Ok(()), "a small batch still fits");
        let one = store.claim(&one.run, OnBusy::TakeOver).await.unwrap();
        assert_eq!(store.append(&one, blob(2_000)).await, Ok(()));
    }

    #[tokio::test]
    async fn what_follows_a_lost_transaction_names_its_cause_and_not_a_lease() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let connection = open::to_write(&path, "the store").unwrap();
        connection.pragma_update(None, "max_page_count", 100).unwrap();
        let store = SqliteStore::start(path, "the store".into(), connection).unwrap();
        let lease = store.create(run("one")).await.unwrap();
        // Both are in the queue before the first has failed.
        let tickets: Vec<Ticket> = (0..8).map(|_| store.append(&lease, blob(1 << 20))).collect();
        for ticket in tickets {
            let error = ticket.await.unwrap_err();
            assert!(error.to_string().contains("free some space"), "{error}");
        }
        let later = store.append(&lease, blob(1)).await.unwrap_err();
        assert!(later.to_string().contains("free some space"), "{later}");
    }

    fn entry(seq: u64) -> Batch {
        let entry = Entry {
            seq,
            path: convoke_core::Path::from("main"),
            ordinal: u32::try_from(seq).unwrap(),
            effect: convoke_core::EffectKind::Now,
            phase: convoke_core::Phase::Finished,
            digest: Digest::default(),
            at: convoke_core::Timestamp::now(),
            request: None,
            outcome: None,
            labels: convoke_core::Labels::new(),
        };
        Batch { entries: vec![entry], ..Batch::default() }
    }

    #[tokio::test]
    async fn whoever_shared_a_lost_transaction_leaves_no_gap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let connection = open::to_write(&path, "the store").unwrap();
        connection.pragma_update(None, "max_page_count", 100).unwrap();
        let store = SqliteStore::start(path.clone(), "the store".into(), connection).unwrap();
        let (large, small) =
            (store.create(run("large")).await.unwrap(), store.create(run("small")).await.unwrap());
        // As long as somebody else writes, everything comes together in the queue.
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut tickets: Vec<Ticket> = (1..=3).map(|seq| store.append(&small, entry(seq))).collect();
        let lost = store.append(&large, blob(1 << 20));
        tickets.extend((4..=6).map(|seq| store.append(&small, entry(seq))));
        other.execute_batch("ROLLBACK").unwrap();
        assert!(lost.await.is_err());
        for ticket in tickets {
            assert!(ticket.await.is_err(), "it was lost, or would follow what was");
        }
        assert_eq!(store.entries(&small.run, 1, 10).await, Ok(vec![]));
        assert!(store.append(&small, entry(4)).await.is_err(), "the lease is lost");
        let again = store.claim(&small.run, OnBusy::Refuse).await.unwrap();
        assert_eq!(again.next_seq, 1);
        assert_eq!(store.append(&again, entry(1)).await, Ok(()));
    }

    #[tokio::test]
    async fn a_lease_that_was_lost_is_given_back_to_others_also_if_that_failed_at_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let connection = open::to_write(&path, "the store").unwrap();
        connection.busy_timeout(std::time::Duration::from_millis(10)).unwrap();
        let store = SqliteStore::start(path.clone(), "the store".into(), connection).unwrap();
        let others = SqliteStore::open(&path).unwrap();
        let (released, abandoned) =
            (store.create(run("released")).await.unwrap(), store.create(run("abandoned")).await.unwrap());
        let locks = Connection::open(&path).unwrap();
        locks.execute_batch("BEGIN IMMEDIATE").unwrap();
        for lease in [&released, &abandoned] {
            assert!(store.append(lease, entry(1)).await.is_err(), "somebody else writes");
        }
        store.release(&released);
        // Done when the release was tried.
        assert!(store.claim(&"none".parse().unwrap(), OnBusy::Refuse).await.is_err());
        locks.execute_batch("ROLLBACK").unwrap();
        let mut watch = others.watch(None);
        while others.run(&released.run).await.unwrap().unwrap().holder.is_some() {
            futures_util::StreamExt::next(&mut watch).await;
        }
        let due: Vec<RunId> =
            others.due(Timestamp::now(), 9).await.unwrap().into_iter().map(|due| due.run).collect();
        assert_eq!(
            due,
            std::slice::from_ref(&released.run),
            "whoever did not give it back may still be at work"
        );
        let again = others.claim(&released.run, OnBusy::Refuse).await.unwrap();
        assert_eq!(others.append(&again, entry(1)).await, Ok(()));
        store.release(&abandoned);
        store.claim(&abandoned.run, OnBusy::Refuse).await.unwrap();
        assert!(others.claim(&abandoned.run, OnBusy::Refuse).await.is_err(), "it was claimed again");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_store_that_is_gone_is_noticed_by_whoever_asks_what_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
        assert_eq!(store.due(Timestamp::now(), 9).await, Ok(Vec::new()));
        std::fs::remove_file(store.path()).unwrap();
        drop(SqliteStore::open(store.path()).unwrap());
        let error = store.due(Timestamp::now(), 9).await.unwrap_err();
        assert!(error.to_string().contains("deleted, replaced or moved"), "{error}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_store_that_is_deleted_replaced_or_moved_under_a_run_is_noticed() {
        type Harm = fn(&Path) -> std::io::Result<()>;
        let harms: [Harm; 4] = [
            |file| std::fs::remove_file(file),
            |file| std::fs::remove_file(file).and_then(|()| std::fs::write(file, "")),
            |file| std::fs::rename(file, file.with_extension("moved")),
            |file| std::fs::remove_file(convoke_sqlite::beside(file, "-wal")),
        ];
        for harm in harms {
            let folder = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
            let lease = store.create(run("one")).await.unwrap();
            assert_eq!(store.append(&lease, blob(100)).await, Ok(()));
            harm(store.path()).unwrap();
            for size in [200, 300] {
                let error = store.append(&lease, blob(size)).await.unwrap_err();
                assert!(error.to_string().contains("deleted, replaced or moved"), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn a_store_can_be_dropped_by_whoever_it_wakes() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
        let (done, finished) = std::sync::mpsc::channel();
        // A task without a runtime: it goes on, and drops the store, on the thread that wakes it.
        let future: BoxFuture<'static, ()> = Box::pin(async move {
            let result = store.create(run("one")).await;
            drop(store);
            done.send(result).unwrap();
        });
        std::task::Wake::wake(Arc::new(Task { future: Mutex::new(Some(future)) }));
        assert!(finished.recv().unwrap().is_ok());
    }

    struct Task {
        future: Mutex<Option<BoxFuture<'static, ()>>>,
    }

    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {
            let waker = Arc::clone(&self).into();
            let mut future = self.future.lock().unwrap();
            let mut context = std::task::Context::from_waker(&waker);
            if future.as_mut().is_some_and(|task| task.as_mut().poll(&mut context).is_ready()) {
                *future = None;
            }
        }
    }
}
