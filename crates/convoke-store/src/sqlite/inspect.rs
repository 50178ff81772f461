//! Inspection of a file before it is touched.
//!
//! What is not ours, newer than we understand, or damaged must stay as it is, to the byte, and must get no files beside
//! it. So the first look is SQLite's at a file that "cannot change" (`immutable`): it takes no lock and makes no file.
//! That look does not see the log, so a second one, that can, follows when there is a log.
//!
//! The file is never opened behind SQLite's back while it may be in use: closing it would end the locks that other
//! handles of this process have on it (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).

use std::io::ErrorKind;
use std::path::Path;

use convoke_core::StoreError;
use convoke_sqlite::{Schema, Triggers, beside, refuse_journal};
use rusqlite::{Connection, OpenFlags};

use super::failure::{explain, untrusted};
use super::open;
use super::schema::{self, APPLICATION_ID};

/// Files up to this size are checked through and through when they are opened, which takes some milliseconds. For
/// larger ones that would make every start slow; damage in them is reported when it is met.
const CHECKED_SIZE: u64 = 4 << 20;

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// No file, or an empty one, or a database in which nothing was ever made.
    Nothing,
    /// A store that we understand.
    Store,
}

/// Looks at what is at a path, without changing a byte of it.
pub(super) fn inspect(path: &Path, place: &str) -> Result<FileState, StoreError> {
    let length = match path.symlink_metadata() {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(unreadable(place, &error)),
    };
    if length == 0 {
        return Ok(FileState::Nothing);
    }
    refuse_journal(path).map_err(untrusted)?;
    if beside(path, "-wal").exists() {
        inspect_with_log(path, place, length)
    } else {
        inspect_immutable(path, place, length)
    }
}

/// The usual case: nobody has the file open.
fn inspect_immutable(path: &Path, place: &str, length: u64) -> Result<FileState, StoreError> {
    let result = immutable(path).and_then(|connection| Inspection::through(&connection, length));
    if beside(path, "-wal").exists() {
        // Somebody has opened it meanwhile; what was seen may be half of this and half of that.
        return inspect_with_log(path, place, length);
    }
    result.map_err(|error| explain(place, &error))?.judge(place)
}

/// Somebody has the file open, or did not close it.
fn inspect_with_log(path: &Path, place: &str, length: u64) -> Result<FileState, StoreError> {
    // Only ours may be opened in earnest. After a crash the file may be incomplete without its log; then this look
    // fails, and only the next one can tell.
    if let Ok(seen) = immutable(path).and_then(|connection| Inspection::through(&connection, 0)) {
        seen.judge(place)?;
    }
    let seen = open::to_read(path).and_then(|connection| Inspection::through(&connection, length));
    seen.map_err(|error| explain(place, &error))?.judge(place)
}

/// What a look into a database found.
struct Inspection {
    application: i64,
    version: i64,
    /// How often tables were made or changed.
    changes: i64,
    problem: Option<String>,
}

impl Inspection {
    fn through(connection: &Connection, length: u64) -> rusqlite::Result<Self> {
        let application = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version = schema::version(connection)?;
        let changes = connection.pragma_query_value(None, "schema_version", |row| row.get(0))?;
        let mut seen = Self { application, version, changes, problem: None };
        let is_ours = application == APPLICATION_ID && version <= schema::newest();
        if is_ours && length > 0 {
            seen.problem = foreign(connection, version)?;
        }
        if is_ours && seen.problem.is_none() && (1..=CHECKED_SIZE).contains(&length) {
            let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            seen.problem = (verdict != "ok").then_some(verdict);
        }
        Ok(seen)
    }

    fn judge(self, place: &str) -> Result<FileState, StoreError> {
        let corrupt = |problem| Err(StoreError::Corrupt { store: place.to_owned(), problem });
        if let Some(problem) = self.problem {
            return corrupt(problem);
        }
        match (self.application, self.version, self.changes) {
            // What SQLite itself leaves of a file that somebody is about to make.
            (0, 0, 0) => Ok(FileState::Nothing),
            (APPLICATION_ID, version, _) => refuse_newer(place, version).map(|()| FileState::Store),
            _ => corrupt("it belongs to another application".to_owned()),
        }
    }
}

/// What a store of this version has that our own steps do not make, or lacks, if anything. A store that somebody else has prepared
/// could have triggers that approve every question.
pub(super) fn foreign(connection: &Connection, version: i64) -> rusqlite::Result<Option<String>> {
    let ours = Schema::after(schema::steps_to(version))?;
    Ok(ours.difference(&Schema::of(connection)?))
}

/// Refuses a version from the future.
pub(super) fn refuse_newer(place: &str, found: i64) -> Result<(), StoreError> {
    let supported = schema::newest();
    if found <= supported {
        return Ok(());
    }
    Err(StoreError::Newer { store: place.to_owned(), found, supported })
}

/// Opens a file as if it could not change.
pub(super) fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let Some(text) = path.to_str() else { return open::to_read(path) };
    let mut uri = String::from(if cfg!(windows) { "file:///" } else { "file://" });
    for byte in text.bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'/' | b'.' | b'-' | b'_' | b':' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    convoke_sqlite::open(uri + "?immutable=1", flags, Triggers::Never)
}

fn unreadable(place: &str, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!(
        "{place} cannot be read: check the path and that this user may read it ({error})"
    ))
}

pub(super) fn holds_something(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}
