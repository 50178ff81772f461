//! The job that appends a batch.

use bytes::Bytes;
use convoke_core::store::{Batch, Lease, RunChange};
use convoke_core::{Blob, Entry, RunId, StoreError, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Fault;
use super::lease::HeldLease;
use super::writer::Writer;
use super::{entry_key, generation, launch, mail, outline, pieces, question, row};
use crate::batch;

/// Writes a batch under a lease, and remembers how the lease goes on.
pub(super) fn append(writer: &mut Writer, lease: &Lease, batch: &Batch) -> Result<(), Fault> {
    // Whatever it fails by, what would have followed fails by the same.
    let next_seq = try_append(writer, lease, batch).map_err(|fault| fault.at(writer.place()));
    let remembered = match &next_seq {
        Ok(next_seq) => Ok(*next_seq),
        Err(error) => Err(error.clone()),
    };
    writer.leases.appended(lease, remembered);
    writer.notify_followers(&lease.run);
    if batch.change.is_some() {
        writer.notify(&lease.run);
    }
    next_seq.map(|_| ()).map_err(Fault::from)
}

fn try_append(writer: &Writer, lease: &Lease, batch: &Batch) -> Result<u64, Fault> {
    let held = in_force(writer, lease)?;
    let next_seq = held.next_seq.clone()?;
    write(&writer.connection, &lease.run, held.key, next_seq, batch)
}

/// The lease, if it is the one the database knows. This is the fence: it is read under the lock that the write needs.
fn in_force<'a>(writer: &'a Writer, lease: &Lease) -> Result<&'a HeldLease, Fault> {
    if let Some(cause) = writer.leases.lost(lease) {
        return Err(cause.clone().into());
    }
    let Some(held) = writer.leases.find(lease) else { return Err(refuse(writer, lease)) };
    let in_force: Option<bool> = writer
        .connection
        .prepare_cached("SELECT epoch = ?2 AND holder IS ?3 FROM runs WHERE key = ?1")?
        .query_row(params![held.key, held.epoch.cast_signed(), writer.holder_text], |row| row.get(0))
        .optional()?;
    if in_force == Some(true) { Ok(held) } else { Err(refuse(writer, lease)) }
}

/// Why a lease may not write.
fn refuse(writer: &Writer, lease: &Lease) -> Fault {
    let run = lease.run.clone();
    let found = writer
        .connection
        .prepare_cached("SELECT epoch FROM runs WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([run.as_str()], |row| row.get(0)).optional());
    match found.map(|epoch| epoch.map(i64::cast_unsigned)) {
        Err(error) => error.into(),
        Ok(None) => StoreError::NotFound { run }.into(),
        Ok(Some(current)) if current != lease.epoch => {
            StoreError::Fenced { run, ours: lease.epoch, current }.into()
        }
        Ok(Some(_)) => batch::given_back(&run).into(),
    }
}

/// Writes a batch into a run, unconditionally. Gives the number of the entry that would come next.
pub(super) fn write(
    connection: &Connection,
    run: &RunId,
    key: i64,
    next_seq: u64,
    batch: &Batch,
) -> Result<u64, Fault> {
    let next_seq = batch::check(run, next_seq, batch)?;
    batch.entries.iter().try_for_each(|entry| insert_entry(connection, key, entry))?;
    batch.blobs.iter().try_for_each(|blob| insert_blob(connection, key, blob))?;
    batch.opened.iter().try_for_each(|opened| question::open(connection, key, opened))?;
    batch.closed.iter().try_for_each(|closed| question::close(connection, key, closed))?;
    batch.change.iter().try_for_each(|change| change_run(connection, run, key, change))?;
    batch.outline.iter().try_for_each(|outline| change_outline(connection, key, outline))?;
    batch.version.iter().try_for_each(|version| change_version(connection, key, *version))?;
    batch.launch.iter().try_for_each(|launch| launch::keep(connection, key, launch))?;
    batch.next.iter().try_for_each(|next| generation::begin(connection, key, next))?;
    Ok(next_seq)
}

fn insert_entry(connection: &Connection, key: i64, entry: &Entry) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO entries (place, path, ordinal, effect, phase, digest, at, request, outcome, labels) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            entry_key::of(key, entry.seq)?,
            entry.path.as_str(),
            entry.ordinal,
            entry.effect.code(),
            entry.phase.code(),
            entry.digest.as_bytes(),
            entry.at.as_micros(),
            entry.request.as_deref(),
            entry.outcome.as_deref(),
            (!entry.labels.is_empty()).then(|| entry.labels.to_string()),
        ])?;
    Ok(())
}

/// The same content twice is not an error: the digest says that it is the same.
fn insert_blob(connection: &Connection, key: i64, blob: &Blob) -> Result<(), Fault> {
    let is_known = connection
        .prepare_cached("SELECT 1 FROM blobs WHERE run = ?1 AND digest = ?2")?
        .exists(params![key, blob.digest.as_bytes()])?;
    if !is_known {
        let stored = pieces::keep(connection, key, &blob.content)?;
        connection
            .prepare_cached("INSERT INTO blobs (run, digest, content, depth) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![key, blob.digest.as_bytes(), stored.content, stored.depth])?;
    }
    Ok(())
}

fn change_outline(connection: &Connection, key: i64, outline: &Bytes) -> Result<(), Fault> {
    let outline = outline::keep(connection, outline)?;
    connection.prepare_cached("UPDATE runs SET outline = ?2 WHERE key = ?1")?.execute([key, outline])?;
    Ok(())
}

fn change_version(connection: &Connection, key: i64, version: u32) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE runs SET latest = ?2 WHERE key = ?1")?
        .execute(params![key, version])?;
    Ok(())
}

fn change_run(connection: &Connection, run: &RunId, key: i64, change: &RunChange) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE runs SET status = ?2, updated = ?3, totals = ?4, worked = ?5 WHERE key = ?1")?
        .execute(params![
            key,
            row::status_code(change.status),
            Timestamp::now().as_micros(),
            row::totals_text(&change.totals)?,
            i64::try_from(change.worked.as_micros()).unwrap_or(i64::MAX),
        ])?;
    match &change.outcome {
        Some(outcome) => connection
            .prepare_cached("INSERT OR REPLACE INTO outcomes (run, content) VALUES (?1, ?2)")?
            .execute(params![key, &outcome[..]])?,
        None => connection.prepare_cached("DELETE FROM outcomes WHERE run = ?1")?.execute([key])?,
    };
    mail::wait(connection, key, run, change)
}
