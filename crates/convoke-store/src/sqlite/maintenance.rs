//! Periodic work of the writer: renewing leases, giving back those that could not be, and noticing what other processes have
//! written.

use std::time::{Duration, Instant};

use convoke_core::{RunId, Timestamp};
use rusqlite::params;

use super::failure::Fault;
use super::writer::Writer;
use super::{mail, run};
use crate::lease_owner::{LEASE, RENEWAL};

/// How often to look whether others have written, while somebody waits for it.
const LOOK: Duration = Duration::from_millis(250);
/// How often to try to give leases back that could not be given back.
const RETURN: Duration = Duration::from_secs(1);

/// When what was done last.
#[derive(Default)]
pub(super) struct Maintenance {
    renewed: Option<Instant>,
    looked: Option<Instant>,
    returned: Option<Instant>,
    /// What the database says of commits by others.
    data_version: Option<i64>,
    /// The last mail that was seen.
    last_mail: Option<i64>,
    /// The runs that something happens to in the transaction under way.
    changed: Vec<RunId>,
    /// The runs that do something in it.
    followed: Vec<RunId>,
}

impl Writer {
    /// Tells those who wait for a run, once the transaction is durable.
    pub(super) fn notify(&mut self, run: &RunId) {
        if self.notifier.is_watched() {
            self.maintenance.changed.push(run.clone());
        }
    }

    /// Tells those who follow a run, once the transaction is durable.
    pub(super) fn notify_followers(&mut self, run: &RunId) {
        if self.notifier.is_followed(run) && self.maintenance.followed.last() != Some(run) {
            self.maintenance.followed.push(run.clone());
        }
    }

    /// The transaction is durable, or lost.
    pub(super) fn notify_waiting(&mut self, is_durable: bool) {
        let changed = std::mem::take(&mut self.maintenance.changed);
        changed.iter().filter(|_| is_durable).for_each(|run| self.notifier.notify(run));
        let followed = std::mem::take(&mut self.maintenance.followed);
        followed.iter().filter(|_| is_durable).for_each(|run| self.notifier.notify_followers(run));
    }

    /// How long until there is something to do; nothing if there never is.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let left = |last: Option<Instant>, interval: Duration| {
            last.map_or(Duration::ZERO, |last| interval.saturating_sub(last.elapsed()))
        };
        let renewal = (!self.leases.is_empty()).then(|| left(self.maintenance.renewed, RENEWAL));
        let look = self.notifier.is_watched().then(|| left(self.maintenance.looked, LOOK));
        let back = self.leases.has_unreturned().then(|| left(self.maintenance.returned, RETURN));
        renewal.into_iter().chain(look).chain(back).min()
    }

    /// Does what there is to do, between two transactions.
    pub(super) fn run_due(&mut self) {
        let is_due = |last: Option<Instant>, interval| last.is_none_or(|last| last.elapsed() >= interval);
        if !self.leases.is_empty() && is_due(self.maintenance.renewed, RENEWAL) {
            // Should this fail, what is written next says why; and there is time for some more rounds.
            let _ = self.renew_alone();
        }
        if self.leases.has_unreturned() && is_due(self.maintenance.returned, RETURN) {
            self.return_leases();
            self.maintenance.returned = Some(Instant::now());
        }
        if self.notifier.is_watched() && is_due(self.maintenance.looked, LOOK) {
            self.maintenance.looked = Some(Instant::now());
            if self.detect_other_writers().is_err() {
                // Whoever looks finds out what is wrong.
                self.notifier.notify_everybody();
            }
        }
    }

    /// Renews all leases of this handle, within a transaction, if that is due.
    pub(super) fn renew_if_due(&mut self) -> Result<(), Fault> {
        if self.maintenance.renewed.is_none_or(|last| last.elapsed() >= RENEWAL) {
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO holders (holder, until) VALUES (?1, ?2)")?
                .execute(params![self.holder_text, (Timestamp::now() + LEASE).as_micros()])?;
            self.maintenance.renewed = Some(Instant::now());
        }
        Ok(())
    }

    fn renew_alone(&mut self) -> Result<(), Fault> {
        self.alone(Self::renew_if_due)
    }

    /// Gives leases back that were given back in lost transactions. Those that cannot be yet are kept for the next round.
    fn return_leases(&mut self) {
        let leases = self.leases.take_unreturned();
        let returned = self.alone(|writer| leases.iter().try_for_each(|lease| run::release(writer, lease)));
        self.notify_waiting(returned.is_ok());
        if returned.is_err() {
            leases.iter().for_each(|lease| self.leases.return_later(lease));
        }
    }

    /// Does something in a transaction of its own.
    fn alone(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.execute("BEGIN IMMEDIATE")?;
        let done = work(self).and_then(|()| Ok(self.execute("COMMIT")?));
        if !self.connection.is_autocommit() {
            // What is written next must find no transaction of ours.
            self.execute("ROLLBACK")?;
        }
        done
    }

    /// Our own commits do not count for this connection: those who wait for them were changed.
    fn detect_other_writers(&mut self) -> Result<(), Fault> {
        let version: i64 = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.maintenance.data_version.replace(version) == Some(version) {
            return Ok(());
        }
        let last = mail::last_number(&self.connection)?;
        match self.maintenance.last_mail.replace(last) {
            Some(seen) => {
                let runs = mail::sent_since(&self.connection, seen)?;
                runs.iter().for_each(|run| self.notifier.notify(run));
                self.notifier.notify_any();
            }
            // Nobody knows what has come between the beginning of the wait and this.
            None => self.notifier.notify_everybody(),
        }
        Ok(())
    }
}
