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
