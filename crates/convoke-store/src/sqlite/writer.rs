//! The writer thread, which commits jobs in groups.
//!
//! It takes a job, begins a transaction, adds every job that is there by then, and commits once for all of them. A job
//! that fails is undone alone; the others of its transaction never notice. Nobody is told that something is durable
//! before it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use convoke_core::StoreError;
use rusqlite::Connection;

use super::failure::explain;
use super::file_identity::FileIdentity;
use super::job::Job;
use super::lease::Leases;
use super::maintenance::Maintenance;
use super::wait_mode::{WaitState, WaitTuner};
use super::{overwritten, run};
use crate::lease_owner::LeaseOwner;
use crate::notifier::ChangeNotifier;

/// No more jobs than this share a transaction, so that the first of them does not wait too long.
const MOST_JOBS: usize = 1024;
/// A transaction that has written so many bytes takes no further job.
const MOST_BYTES: usize = 16 << 20;
/// How long to look out for the next job after a commit before going to sleep. A run that waits for one append before
/// it makes the next is back within this time, and need not wake us.
const VIGIL: Duration = Duration::from_micros(60);
/// How many free pages are given back to the file system at a time, between transactions.
const PAGES_TO_RETURN: u32 = 512;

/// The owner of the connection that writes.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) leases: Leases,
    /// This handle as the tables name it.
    pub(super) holder_text: String,
    owner: LeaseOwner,
    place: Arc<str>,
    waits: Arc<WaitState>,
    observer: WaitTuner,
    file_identity: FileIdentity,
    /// Those who wait for something to happen.
    pub(super) notifier: Arc<ChangeNotifier>,
    pub(super) maintenance: Maintenance,
    /// When the last commit began, if it was for one task alone.
    began_alone: Option<Instant>,
    has_free_pages: bool,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        path: &Path,
        place: Arc<str>,
        notifier: Arc<ChangeNotifier>,
    ) -> Self {
        let owner = LeaseOwner::begin();
        let holder_text = owner.text();
        Self {
            connection,
            leases: Leases::default(),
            holder_text,
            owner,
            file_identity: FileIdentity::of(path, &place),
            place,
            notifier,
            maintenance: Maintenance::default(),
            waits: Arc::default(),
            observer: WaitTuner::default(),
            began_alone: None,
            has_free_pages: false,
        }
    }

    /// Which store this is.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// How busy this writer is.
    pub(super) fn waits(&self) -> Arc<WaitState> {
        Arc::clone(&self.waits)
    }

    /// Says that something was deleted.
    pub(super) fn freed_pages(&mut self) {
        self.has_free_pages = true;
    }

    /// Works until no handle is left and everything queued is done.
    pub(super) fn work(mut self, jobs: &Receiver<Box<dyn Job>>) {
        while let Some(first) = self.next_job(jobs) {
            self.commit_together(first, jobs);
            // One who is never idle makes rounds too.
            self.run_due();
        }
        self.give_back_leases();
    }

    fn next_job(&mut self, jobs: &Receiver<Box<dyn Job>>) -> Option<Box<dyn Job>> {
        let began = Instant::now();
        loop {
            match jobs.try_recv() {
                Ok(job) => {
                    self.note_round();
                    return Some(job);
                }
                Err(_) if self.has_free_pages => self.return_pages(),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if began.elapsed() > VIGIL => {
                    self.began_alone = None;
                    return self.wait_for_job(jobs);
                }
                // Not a bare loop: the task we have just woken may be waiting for this very core.
                Err(TryRecvError::Empty) => std::thread::yield_now(),
            }
        }
    }

    /// Sleeps until there is a job, and wakes for rounds only if there are any to make.
    fn wait_for_job(&mut self, jobs: &Receiver<Box<dyn Job>>) -> Option<Box<dyn Job>> {
        loop {
            let Some(pause) = self.next_due() else { return jobs.recv().ok() };
            match jobs.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => self.run_due(),
                received => return received.ok(),
            }
        }
    }

    /// If the last commit was for one task alone and this one came at once, it says something about waiting.
    fn note_round(&mut self) {
        if let Some(began) = self.began_alone.take() {
            self.observer.round(began.elapsed(), &self.waits);
        }
    }

    fn commit_together(&mut self, first: Box<dyn Job>, jobs: &Receiver<Box<dyn Job>>) {
        let began = Instant::now();
        let mut group = vec![first];
        let is_changed = self.file_identity.has_changed();
        let result = self
            .fill(&mut group, jobs)
            .and_then(|()| self.commit())
            .and_then(|()| self.file_identity.check())
            .and_then(|()| if is_changed { self.must_not_be_overwritten() } else { Ok(()) });
        if result.is_ok() {
            self.file_identity.accept();
        }
        if let Err(cause) = &result {
            self.lose(&group, cause);
        }
        self.began_alone = (group.len() == 1).then_some(began);
        self.notify_waiting(result.is_ok());
        for job in group {
            job.finish(&result);
        }
    }

    /// Looks into the file, after the commit: what was only in the log before it is then read from where it is.
    fn must_not_be_overwritten(&self) -> Result<(), StoreError> {
        overwritten::check(self.file_identity.path(), &self.place, self.leases.written())
    }

    /// Performs the first job of the group, and then all that are waiting. An error means that the transaction is
    /// lost with all of them.
    fn fill(
        &mut self,
        group: &mut Vec<Box<dyn Job>>,
        jobs: &Receiver<Box<dyn Job>>,
    ) -> Result<(), StoreError> {
        if let Err(error) = self.execute("BEGIN IMMEDIATE") {
            // Whoever waits behind would only wait for the same thing again.
            group.extend(jobs.try_iter().take(MOST_JOBS));
            return Err(explain(&self.place, &error));
        }
        let mut weight = 0;
        let mut fence = &Fence::FIRST;
        while let Some(job) = group.last_mut() {
            weight += job.weight();
            self.perform(job.as_mut(), fence)?;
            fence = &Fence::LATER;
            if group.len() >= MOST_JOBS || weight >= MOST_BYTES {
                break;
            }
            match jobs.try_recv() {
                Ok(job) => group.push(job),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Performs a job; undoes it if it fails.
    fn perform(&mut self, job: &mut dyn Job, fence: &Fence) -> Result<(), StoreError> {
        self.execute_all(fence.before)?;
        let result = job.perform(self);
        if let Err(error) = &result
            && self.connection.is_autocommit()
        {
            // Some failures, a full disk above all, make SQLite undo the whole transaction.
            return Err(error.clone());
        }
        self.execute_all(if result.is_ok() { fence.keep } else { fence.undo })
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.execute_all(&["COMMIT"])
    }

    fn lose(&mut self, group: &[Box<dyn Job>], cause: &StoreError) {
        if !self.connection.is_autocommit() {
            // Should this fail, the next BEGIN fails too, and says why.
            let _ = self.execute("ROLLBACK");
        }
        for run in group.iter().filter_map(|job| job.run()) {
            self.leases.lose(run, cause);
        }
        group.iter().filter_map(|job| job.gives_back()).for_each(|lease| self.leases.return_later(lease));
    }

    /// Gives free pages back to the file system, some at a time.
    fn return_pages(&mut self) {
        let free = || -> rusqlite::Result<u32> {
            self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))
        };
        let returned = free().and_then(|before| {
            // Every row that is read is a page that is returned.
            self.connection.pragma(None, "incremental_vacuum", PAGES_TO_RETURN, |_| Ok(()))?;
            Ok((before, free()?))
        });
        // Free pages that cannot be returned are used again; that is no reason to fail anybody.
        self.has_free_pages = returned.is_ok_and(|(before, after)| 0 < after && after < before);
    }

    /// Nobody can write under this handle any more: other processes need not wait until this one ends.
    fn give_back_leases(&mut self) {
        let keys: Vec<i64> = self.leases.drain().map(|held| held.key).collect();
        let unreturned = self.leases.take_unreturned();
        if keys.is_empty() && unreturned.is_empty() {
            return;
        }
        let given_back = self.execute("BEGIN IMMEDIATE").and_then(|()| {
            keys.iter().try_for_each(|key| run::clear_holder(self, *key))?;
            unreturned.iter().try_for_each(|lease| run::clear_lease(self, lease).map(drop))?;
            self.connection.execute("DELETE FROM holders WHERE holder = ?1", [&self.holder_text])?;
            self.execute("COMMIT")
        });
        // If this fails other processes wait until this one ends; within it the holder ends in any case.
        drop(given_back);
    }

    fn execute_all(&self, statements: &[&str]) -> Result<(), StoreError> {
        let mut statements = statements.iter();
        statements.try_for_each(|sql| self.execute(sql)).map_err(|error| explain(&self.place, &error))
    }

    pub(super) fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }
}

/// What keeps a job that fails from taking others with it.
struct Fence {
    before: &'static [&'static str],
    keep: &'static [&'static str],
    undo: &'static [&'static str],
}

impl Fence {
    /// Before the first job of a transaction there is nothing to protect: undoing it is beginning again.
    const FIRST: Self = Self { before: &[], keep: &[], undo: &["ROLLBACK", "BEGIN IMMEDIATE"] };
    const LATER: Self = Self {
        before: &["SAVEPOINT job"],
        keep: &["RELEASE job"],
        undo: &["ROLLBACK TO job", "RELEASE job"],
    };
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.owner.end();
    }
}
