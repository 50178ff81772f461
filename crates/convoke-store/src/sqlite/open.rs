//! Opening a store file, and migrating it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use convoke_core::StoreError;
use convoke_sqlite::{Triggers, create_folder, examine, place, switch_log_on};
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::create::{create_if_absent, make};
use super::failure::{Fault, untrusted};
use super::glance::glance;
use super::inspect::{FileState, foreign, inspect, refuse_newer};
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

/// The place of a store, and the folder it is in made.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, StoreError> {
    if let Some(folder) = std::path::absolute(path).ok().as_deref().and_then(Path::parent) {
        create_folder(folder).map_err(|error| {
            fail(path, "its folder cannot be made: choose another, or make it yourself", &error)
        })?;
    }
    real(path)
}

/// The place of a store that must be there.
pub(super) fn existing(path: &Path) -> Result<PathBuf, StoreError> {
    path.metadata().map_err(|error| fail(path, "it cannot be read: name a store", &error))?;
    real(path)
}

fn real(path: &Path) -> Result<PathBuf, StoreError> {
    if path.is_dir() {
        return Err(StoreError::Failed(format!(
            "{} is a folder: give the path of a file in it",
            path.display()
        )));
    }
    place(path).map_err(|error| fail(path, "give the path of a file", &error))
}

fn fail(path: &Path, advice: &str, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!("{}: {advice} ({error})", path.display()))
}

/// Refuses to read what is not a store of a version that can be read as it is.
pub(super) fn must_be_current(path: &Path, place: &str) -> Result<(), StoreError> {
    let (store, supported) = (place.to_owned(), schema::newest());
    if inspect(path, place)? == FileState::Nothing {
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
    examine(path).map_err(untrusted)?;
    create_if_absent(path);
    let found = inspect(path, place)?;
    set_up(path, place, found).map_err(|fault| fault.at(place))
}

/// Opens a connection that reads.
pub(super) fn to_read(path: &Path) -> rusqlite::Result<Connection> {
    let connection = convoke_sqlite::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, Triggers::Never)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn set_up(path: &Path, place: &str, found: FileState) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = convoke_sqlite::open(path, flags, Triggers::Never)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Another process may have been there since.
    refuse_newer(place, schema::version(&connection)?)?;
    refuse_read_only(&connection, place)?;
    // The tables are made before the log is switched on. So what says that a file is ours is never in the log alone,
    // and `inspect` can tell without it. What is ours already is changed with a log only.
    let migrated = match found {
        FileState::Nothing => make(&mut connection).map(|()| true)?,
        FileState::Store => {
            log(&connection, place)?;
            schema::migrate(&mut connection, STEPS)?
        }
    };
    log(&connection, place)?;
    // Asked of the connection that is going to be used: what was looked at may have been another file.
    if let Some(problem) = foreign(&connection, schema::version(&connection)?)? {
        return Err(Fault::Damaged(problem));
    }
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

fn log(connection: &Connection, place: &str) -> Result<(), Fault> {
    if switch_log_on(connection, PATIENCE)? {
        return Ok(());
    }
    let advice = format!("{place} is on a file system without shared memory: use a local disk");
    Err(StoreError::Failed(advice).into())
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
