//! Periodic work of the writer: renewing leases, and noticing what other processes have written.

use std::time::{Duration, Instant};

use convoke_core::{RunId, Timestamp};
use rusqlite::params;

use super::failure::Fault;
use super::mail;
use super::writer::Writer;
use crate::holder::{LEASE, RENEWAL};

/// How often to look whether others have written, while somebody waits for it.
const LOOK: Duration = Duration::from_millis(250);

/// When what was done last.
#[derive(Default)]
pub(super) struct Rounds {
    renewed: Option<Instant>,
    looked: Option<Instant>,
    /// What the database says of commits by others.
    data_version: Option<i64>,
    /// The last mail that was seen.
    last_mail: Option<i64>,
    /// The runs that something happens to in the transaction under way.
    told: Vec<RunId>,
    /// The runs that do something in it.
    followed: Vec<RunId>,
}

impl Writer {
    /// Tells those who wait for a run, once the transaction is durable.
    pub(super) fn tell(&mut self, run: &RunId) {
        if self.board.is_watched() {
            self.rounds.told.push(run.clone());
        }
    }

    /// Tells those who follow a run, once the transaction is durable.
    pub(super) fn tell_followers(&mut self, run: &RunId) {
        if self.board.is_followed(run) && self.rounds.followed.last() != Some(run) {
            self.rounds.followed.push(run.clone());
        }
    }

    /// The transaction is durable, or lost.
    pub(super) fn tell_waiting(&mut self, is_durable: bool) {
        let told = std::mem::take(&mut self.rounds.told);
        told.iter().filter(|_| is_durable).for_each(|run| self.board.tell(run));
        let followed = std::mem::take(&mut self.rounds.followed);
        followed.iter().filter(|_| is_durable).for_each(|run| self.board.tell_followers(run));
    }

    /// How long until there is something to do; nothing if there never is.
    pub(super) fn next_round(&self) -> Option<Duration> {
        let left = |last: Option<Instant>, interval: Duration| {
            last.map_or(Duration::ZERO, |last| interval.saturating_sub(last.elapsed()))
        };
        let renewal = (!self.leases.is_empty()).then(|| left(self.rounds.renewed, RENEWAL));
        let look = self.board.is_watched().then(|| left(self.rounds.looked, LOOK));
        renewal.into_iter().chain(look).min()
    }

    /// Does what there is to do, between two transactions.
    pub(super) fn make_round(&mut self) {
        let is_due = |last: Option<Instant>, interval| last.is_none_or(|last| last.elapsed() >= interval);
        if !self.leases.is_empty() && is_due(self.rounds.renewed, RENEWAL) {
            // Should this fail, what is written next says why; and there is time for some more rounds.
            let _ = self.renew_alone();
        }
        if self.board.is_watched() && is_due(self.rounds.looked, LOOK) {
            self.rounds.looked = Some(Instant::now());
            if self.look_for_others().is_err() {
                // Whoever looks finds out what is wrong.
                self.board.tell_everybody();
            }
        }
    }

    /// Renews all leases of this handle, within a transaction, if that is due.
    pub(super) fn renew_if_due(&mut self) -> Result<(), Fault> {
        if self.rounds.renewed.is_none_or(|last| last.elapsed() >= RENEWAL) {
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO holders (holder, until) VALUES (?1, ?2)")?
                .execute(params![self.holder_text, (Timestamp::now() + LEASE).as_micros()])?;
            self.rounds.renewed = Some(Instant::now());
        }
        Ok(())
    }

    fn renew_alone(&mut self) -> Result<(), Fault> {
        self.execute("BEGIN IMMEDIATE")?;
        let renewed = self.renew_if_due().and_then(|()| Ok(self.execute("COMMIT")?));
        if !self.connection.is_autocommit() {
            // What is written next must find no transaction of ours.
            self.execute("ROLLBACK")?;
        }
        renewed
    }

    /// Our own commits do not count for this connection: those who wait for them were told.
    fn look_for_others(&mut self) -> Result<(), Fault> {
        let version: i64 = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.rounds.data_version.replace(version) == Some(version) {
            return Ok(());
        }
        let last = mail::last_number(&self.connection)?;
        match self.rounds.last_mail.replace(last) {
            Some(seen) => {
                let runs = mail::sent_since(&self.connection, seen)?;
                runs.iter().for_each(|run| self.board.tell(run));
                self.board.tell_those_of_any();
            }
            // Nobody knows what has come between the beginning of the wait and this.
            None => self.board.tell_everybody(),
        }
        Ok(())
    }
}
