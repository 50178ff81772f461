//! Opening a file and bringing it up to date.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use convoke_core::StoreError;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::failure::Fault;
use super::glance::glance;
use super::inspect::{Found, inspect, refuse_newer};
use super::real::real_path;
use super::schema::{self, STEPS};

/// How long to wait for another process that has the file locked.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// So many pages gather in the log before they are moved to the database. The more, the fewer pages of runs that are
/// written at the same time are moved again and again.
const LOG_PAGES: u32 = 1_000;
/// A log that one large transaction made longer than this many bytes is cut.
const LOG_BYTES: u32 = 32 << 20;
/// Memory for pages, in KiB: the newest pages of some thousand runs.
const CACHE_KIB: i32 = 32 << 10;

/// The absolute path of a store, and the folder it is in made.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, StoreError> {
    let absolute = absolute(path)?;
    if let Some(folder) = absolute.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            fail(path, "its folder cannot be made: choose another, or make it yourself", &error)
        })?;
    }
    Ok(absolute)
}

/// The absolute path of a store that must be there.
pub(super) fn existing(path: &Path) -> Result<PathBuf, StoreError> {
    let absolute = absolute(path)?;
    absolute.metadata().map_err(|error| fail(path, "it cannot be read: name a store", &error))?;
    Ok(absolute)
}

fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    // SQLite gives some names a meaning of their own (`:memory:`), but only to relative ones.
    let absolute =
        std::path::absolute(path).map_err(|error| fail(path, "give the path of a file", &error))?;
    let absolute = real_path(&absolute);
    if absolute.is_dir() {
        return Err(StoreError::Failed(format!(
            "{} is a folder: give the path of a file in it",
            path.display()
        )));
    }
    Ok(absolute)
}

fn fail(path: &Path, advice: &str, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!("{}: {advice} ({error})", path.display()))
}

/// Refuses to read what is not a store of a version that can be read as it is.
pub(super) fn must_be_current(path: &Path, place: &str) -> Result<(), StoreError> {
    let (store, supported) = (place.to_owned(), schema::newest());
    if inspect(path, place)? == Found::Nothing {
        return Err(StoreError::Corrupt { store, problem: "it is empty".to_owned() });
    }
    let found = glance(path, place, &|connection| Ok(schema::version(connection)?))?;
    if found < schema::OLDEST_READABLE { Err(StoreError::Older { store, found, supported }) } else { Ok(()) }
}

/// Opens the connection that writes, on a file with the newest schema.
pub(super) fn to_write(path: &Path, place: &str) -> Result<Connection, StoreError> {
    // One at a time within a process: what `inspect` sees is then not changed under its eyes by ourselves.
    static OPENING: Mutex<()> = Mutex::new(());
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let found = inspect(path, place)?;
    set_up(path, place, found).map_err(|fault| fault.at(place))
}

/// Opens a connection that reads.
pub(super) fn to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A file that only this user may read: it will have everything in it that models were told and said. What SQLite puts
/// beside it is as private as the file itself. If it cannot be made, opening it says why.
fn create_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

fn set_up(path: &Path, place: &str, found: Found) -> Result<Connection, Fault> {
    if found == Found::Nothing {
        create_private(path);
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Another process may have been there since.
    refuse_newer(place, schema::version(&connection)?)?;
    refuse_read_only(&connection, place)?;
    if found == Found::Nothing {
        // Has an effect only before there are tables. Deleting runs then makes the file smaller.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // The tables are made before the log is switched on. So what says that a file is ours is never in the log alone,
    // and `inspect` can tell without it.
    let migrated = schema::migrate(&mut connection, STEPS)?;
    switch_log_on(&connection, place)?;
    if migrated {
        connection.pragma_query(None, "wal_checkpoint", |_| Ok(()))?;
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // What is deleted is overwritten: nobody finds it in the file. A journal only grows, so this costs where runs are
    // deleted and nowhere else.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

/// SQLite opens what it may not write for reading, and says nothing.
fn refuse_read_only(connection: &Connection, place: &str) -> Result<(), Fault> {
    if !connection.is_readonly(MAIN_DB)? {
        return Ok(());
    }
    let advice =
        format!("{place} is read-only: make the file and its folder writable for this user, or copy it");
    Err(StoreError::Failed(advice).into())
}

/// Switches to write-ahead logging. It needs the file for itself for a moment, and SQLite does not wait for that.
fn switch_log_on(connection: &Connection, place: &str) -> Result<(), Fault> {
    let began = Instant::now();
    loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                let advice = format!("{place} is on a file system without shared memory: use a local disk");
                return Err(StoreError::Failed(advice).into());
            }
            Err(error) if is_busy(&error) && began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        drop(to_write(&path, "the store").unwrap());
        let connection = to_read(&path).unwrap();
        let refused = refuse_read_only(&connection, "the store").unwrap_err().at("the store");
        assert!(refused.to_string().contains("writable"), "{refused}");
        let error = connection.execute_batch("DELETE FROM runs").unwrap_err();
        let explained = Fault::from(error).at("the store");
        assert!(explained.to_string().contains("writable"), "{explained}");
    }
}
