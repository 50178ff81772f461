//! Jobs on whole runs: create, claim, release, delete.

use convoke_core::store::{Lease, NewRun, OnBusy};
use convoke_core::{RunId, RunStatus, StoreError, Timestamp};
use rusqlite::params;

use super::failure::Fault;
use super::writer::Writer;
use super::{entry_key, journal, launch, outline, row};
use crate::lease_owner::LeaseOwner;

/// Makes a run with its past.
pub(super) fn create(writer: &mut Writer, run: &NewRun) -> Result<Lease, Fault> {
    let connection = &writer.connection;
    let now = Timestamp::now().as_micros();
    let fork = run.forked_from.as_ref();
    let outline = run.outline.as_ref().map(|outline| outline::keep(connection, outline)).transpose()?;
    let made = connection
        .prepare_cached(
            "INSERT INTO runs (id, workflow, version, status, created, updated, seed, epoch, holder, \
             forked_from, forked_at, outline) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, 1, ?7, ?8, ?9, ?10) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            run.id.as_str(),
            run.workflow,
            run.version,
            row::status_code(RunStatus::Running),
            now,
            run.seed.cast_signed(),
            writer.holder_text,
            fork.map(|fork| fork.run.as_str()),
            fork.map(|fork| fork.at.cast_signed()),
            outline,
        ])?;
    if made == 0 {
        return Err(StoreError::Exists { run: run.id.clone() }.into());
    }
    let key = connection.last_insert_rowid();
    connection
        .prepare_cached("INSERT INTO inputs (run, content) VALUES (?1, ?2)")?
        .execute(params![key, &run.input[..]])?;
    if !run.launch.is_empty() {
        launch::keep(connection, key, &run.launch)?;
    }
    let next_seq = journal::write(connection, &run.id, key, 1, &run.past)?;
    let lease = Lease { run: run.id.clone(), epoch: 1, next_seq };
    writer.leases.grant(&lease, key);
    writer.renew_if_due()?;
    Ok(lease)
}

/// Takes a run.
pub(super) fn claim(writer: &mut Writer, run: &RunId, busy: OnBusy) -> Result<Lease, Fault> {
    let found = find(writer, run)?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
    if busy != OnBusy::TakeOver {
        refuse_if_held(writer, run, &found)?;
    }
    let epoch = found.epoch + 1;
    writer
        .connection
        .prepare_cached("UPDATE runs SET epoch = ?2, holder = ?3 WHERE key = ?1")?
        .execute(params![found.key, epoch.cast_signed(), writer.holder_text])?;
    let last: Option<i64> = writer
        .connection
        .prepare_cached("SELECT max(place) FROM entries WHERE place BETWEEN ?1 AND ?2")?
        .query_row([entry_key::first(found.key), entry_key::last(found.key)], |row| row.get(0))?;
    let next_seq = last.map_or(0, entry_key::seq) + 1;
    let lease = Lease { run: run.clone(), epoch, next_seq };
    writer.leases.grant(&lease, found.key);
    writer.renew_if_due()?;
    Ok(lease)
}

/// Gives a run back, unless somebody else has it by now. A lease that was lost with a transaction is still in the tables, and
/// would keep everybody else away as long as this process lives.
pub(super) fn release(writer: &mut Writer, lease: &Lease) -> Result<(), Fault> {
    if writer.leases.find(lease).is_some() || writer.leases.lost(lease).is_some() {
        writer.leases.forget(&lease.run);
    }
    if clear_lease(writer, lease)? > 0 {
        writer.notify(&lease.run);
    }
    Ok(())
}

/// Clears the holder of a run that is still held under this lease.
pub(super) fn clear_lease(writer: &Writer, lease: &Lease) -> rusqlite::Result<usize> {
    writer
        .connection
        .prepare_cached("UPDATE runs SET holder = NULL WHERE id = ?1 AND epoch = ?2 AND holder = ?3")?
        .execute(params![lease.run.as_str(), lease.epoch.cast_signed(), writer.holder_text])
}

/// Clears a holder at the end of its handle.
pub(super) fn clear_holder(writer: &Writer, key: i64) -> rusqlite::Result<()> {
    writer
        .connection
        .prepare_cached("UPDATE runs SET holder = NULL WHERE key = ?1 AND holder = ?2")?
        .execute(params![key, writer.holder_text])
        .map(|_| ())
}

/// Deletes a run, if there is one.
pub(super) fn delete(writer: &mut Writer, run: &RunId) -> Result<bool, Fault> {
    let Some(found) = find(writer, run)? else { return Ok(false) };
    refuse_if_held(writer, run, &found)?;
    remove(writer, run, found.key)?;
    outline::forget_unused(&writer.connection)?;
    Ok(true)
}

/// Deletes those of the runs that are finished and that nobody holds. Gives their number.
pub(super) fn delete_finished(writer: &mut Writer, runs: &[RunId]) -> Result<u64, Fault> {
    let mut deleted = 0;
    for run in runs {
        let Some(found) = find(writer, run)? else { continue };
        if found.is_final && refuse_if_held(writer, run, &found).is_ok() {
            remove(writer, run, found.key)?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

struct ClaimState {
    key: i64,
    epoch: u64,
    holder: Option<String>,
    /// Until when the holder renewed its leases.
    until: Option<Timestamp>,
    is_final: bool,
}

fn find(writer: &Writer, run: &RunId) -> Result<Option<ClaimState>, Fault> {
    let sql = "SELECT key, epoch, runs.holder, status, until \
               FROM runs LEFT JOIN holders ON holders.holder = runs.holder WHERE id = ?1";
    let mut statement = writer.connection.prepare_cached(sql)?;
    let mut rows = statement.query([run.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(ClaimState {
        key: row.get(0)?,
        epoch: row::unsigned(row, 1)?,
        holder: row.get(2)?,
        until: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_micros),
        is_final: row::status_of(row.get(3)?)?.is_final(),
    }))
}

fn refuse_if_held(writer: &Writer, run: &RunId, found: &ClaimState) -> Result<(), StoreError> {
    let Some(text) = &found.holder else { return Ok(()) };
    let held = if *text == writer.holder_text {
        writer.leases.holds(run, found.epoch)
    } else {
        LeaseOwner::parse(text).is_none_or(|owner| owner.is_alive(found.until))
    };
    if held { Err(StoreError::Busy { run: run.clone(), holder: row::describe_holder(text) }) } else { Ok(()) }
}

fn remove(writer: &mut Writer, run: &RunId, key: i64) -> Result<(), Fault> {
    for sql in [
        "DELETE FROM mail WHERE run = ?1",
        "DELETE FROM waits WHERE run = ?1",
        "DELETE FROM questions WHERE run = ?1",
        "DELETE FROM blobs WHERE run = ?1",
        "DELETE FROM pieces WHERE run = ?1",
        "DELETE FROM outcomes WHERE run = ?1",
        "DELETE FROM inputs WHERE run = ?1",
        "DELETE FROM launches WHERE run = ?1",
        "DELETE FROM carried WHERE run = ?1",
        "DELETE FROM labels WHERE run = ?1",
        "DELETE FROM runs WHERE key = ?1",
    ] {
        writer.connection.prepare_cached(sql)?.execute([key])?;
    }
    writer
        .connection
        .prepare_cached("DELETE FROM entries WHERE place BETWEEN ?1 AND ?2")?
        .execute([entry_key::first(key), entry_key::last(key)])?;
    writer.leases.forget(run);
    writer.freed_pages();
    Ok(())
}
