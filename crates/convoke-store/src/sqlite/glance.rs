//! Read-only access to a store file that leaves no trace beside it.
//!
//! SQLite needs files beside a database in WAL mode, also for reading, and makes them where there are none. A file that
//! nobody has open is complete by itself and can be read as if it could not change (`immutable`), which takes no lock and
//! makes no file. If there is a log, somebody has the file open, or did not close it, and it takes a proper connection.

use std::path::Path;

use convoke_core::StoreError;
use convoke_sqlite::beside;
use rusqlite::{Connection, ErrorCode};

use super::failure::{Fault, explain, lack_of_handles};
use super::file_identity::stamp;
use super::inspect::{holds_something, immutable};
use super::open;

/// How often to look again at a file that changes while it is read.
const PATIENCE: u32 = 20;

/// Asks a file something.
pub(super) fn glance<T>(
    path: &Path,
    place: &str,
    query: &dyn Fn(&Connection) -> Result<T, Fault>,
) -> Result<T, StoreError> {
    for _ in 0..PATIENCE {
        let before = stamp(path);
        if has_log(path) {
            break;
        }
        let result = immutable(path).map_err(Fault::from).and_then(|connection| query(&connection));
        // If somebody has written meanwhile, what was seen may be half of this and half of that.
        if !has_log(path) && stamp(path) == before {
            return result.map_err(|fault| fault.at(place));
        }
    }
    let result = open::to_read(path).map_err(Fault::from).and_then(|connection| query(&connection));
    result.map_err(|fault| match fault {
        Fault::Database(error) if lacks_files(&error) && lack_of_handles().is_none() => StoreError::Failed(format!(
            "{place} has a log beside it that can be read only where its folder can be written: copy the file and its \
             `-wal` to a folder of your own, or let whoever wrote it close it ({error})"
        )),
        Fault::Database(error) => explain(place, &error),
        other => other.at(place),
    })
}

fn has_log(path: &Path) -> bool {
    holds_something(&beside(path, "-wal"))
}

fn lacks_files(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::path::PathBuf;

    use rusqlite::ffi;

    use super::*;

    /// A file with a table in it, that nobody has open.
    fn database(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("some.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE things (name TEXT)").unwrap();
        path
    }

    fn append(path: &Path) {
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(b"more").unwrap();
    }

    #[test]
    fn what_was_seen_of_a_file_that_changed_meanwhile_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, looks) = (database(&folder), Cell::new(0));
        let changed_once = |_: &Connection| {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                append(&path);
            }
            Ok(looks.get())
        };
        assert_eq!(glance(&path, "the store", &changed_once).unwrap(), 2);
        assert_eq!(glance(&path, "the store", &|_| Ok(7)).unwrap(), 7);
        assert!(!beside(&path, "-wal").exists() && !beside(&path, "-shm").exists(), "it leaves no trace");
    }

    #[test]
    fn a_file_with_a_log_is_read_together_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(&folder);
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("INSERT INTO things VALUES ('new')").unwrap();
        let count = |connection: &Connection| {
            Ok(connection.query_row("SELECT count(*) FROM things", [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(glance(&path, "the store", &count).unwrap(), 1);
        // One that appears while the file is read is seen as well.
        drop(writer);
        let later = Cell::new(None);
        let appears = |connection: &Connection| {
            if later.take().is_none() {
                let writer = Connection::open(&path)?;
                writer.execute_batch("INSERT INTO things VALUES ('newer')")?;
                later.set(Some(writer));
            }
            count(connection)
        };
        assert_eq!(glance(&path, "the store", &appears).unwrap(), 2);
    }

    #[test]
    fn of_a_log_that_cannot_be_read_it_is_said_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(&folder);
        let failing = |code| {
            move |_: &Connection| -> Result<(), Fault> {
                Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into())
            }
        };
        let told = |code| glance(&path, "the store", &failing(code)).unwrap_err().to_string();
        let advice = "has a log beside it";
        assert!(!told(ffi::SQLITE_CANTOPEN).contains(advice), "there is none");
        append(&beside(&path, "-wal"));
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY, ffi::SQLITE_PERM] {
            assert!(told(code).contains(advice), "{}", told(code));
        }
        assert!(told(ffi::SQLITE_BUSY).contains("locked by another process"), "{}", told(ffi::SQLITE_BUSY));
    }
}
