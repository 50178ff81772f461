//! Errors of SQLite as store errors, with what the user can do about them.

use std::path::Path;

use convoke_core::StoreError;
use convoke_sqlite::UntrustedFile;
use rusqlite::ErrorCode;

/// A failure of one job or query, before it is known which file it was about.
#[derive(Debug)]
pub(super) enum Fault {
    /// The store works; this cannot be done.
    Refused(StoreError),
    /// The database failed.
    Database(rusqlite::Error),
    /// What is stored makes no sense.
    Damaged(String),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl Fault {
    /// The error a user sees, about the store at `place`.
    pub(super) fn at(self, place: &str) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Database(error) => explain(place, &error),
            Self::Damaged(problem) => StoreError::Corrupt { store: place.to_owned(), problem },
        }
    }
}

/// What a failure of the database at `place` means to its user.
pub(super) fn explain(place: &str, error: &rusqlite::Error) -> StoreError {
    explain_with(place, error, || room_at(Path::new(place)))
}

/// The same, where somebody says how many bytes there still is room for.
fn explain_with(place: &str, error: &rusqlite::Error, room: impl FnOnce() -> Option<u64>) -> StoreError {
    let is_full = || room().is_some_and(|room| room < LEAST_ROOM);
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            return StoreError::Corrupt { store: place.to_owned(), problem: error.to_string() };
        }
        code if code == Some(ErrorCode::DiskFull) || (is_for_lack_of_room(code) && is_full()) => {
            format!(
                "the disk that holds {place} is full: free some space, then try again; a run that had begun can be resumed"
            )
        }
        Some(ErrorCode::ReadOnly) => {
            format!("{place} cannot be written: make the file and its folder writable for this user")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            let why = match lack_of_handles() {
                Some(said) => {
                    format!(
                        "{said}; let this program have more files open (`ulimit -n`), or do less at a time"
                    )
                }
                None if Path::new(place).is_file() => {
                    "check that this user may read it, and write in its folder".to_owned()
                }
                None => "check that its folder exists and that this user may write there".to_owned(),
            };
            format!("{place} cannot be opened: {why}")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{place} is locked by another process: end that process, or wait for it and try again")
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!(
                "reading or writing {place} failed: check the disk, its file system, and how large files may be (`ulimit -f`)"
            )
        }
        Some(ErrorCode::TooBig) => {
            format!(
                "a value is too large for {place}: keep what steps return below 1 GB, and large things in files"
            )
        }
        Some(ErrorCode::OutOfMemory) => format!("there is not enough memory to use {place}: free some"),
        _ => format!("{place} failed unexpectedly: please report this"),
    };
    StoreError::Failed(format!("{advice} ({error})"))
}

/// What SQLite needs at once: the index of its log takes 32 KiB, and a page or more are written to the log and the file.
const LEAST_ROOM: u64 = 64 * 1024;

/// Whether a failure may come of a full disk, of which SQLite says so only where it writes pages.
fn is_for_lack_of_room(code: Option<ErrorCode>) -> bool {
    matches!(code, Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen))
}

/// How many bytes the disk that holds a file still has room for, if the system says so and it is a disk at all: `/proc` has no blocks.
#[cfg(unix)]
fn room_at(place: &Path) -> Option<u64> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let disk = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn room_at(_: &Path) -> Option<u64> {
    None
}

/// Why a file is not opened, as the error a user sees.
pub(super) fn untrusted(why: UntrustedFile) -> StoreError {
    StoreError::Failed(why.to_string())
}

/// What the system says if no more files can be opened. SQLite does not pass that on, so the system is asked again.
pub(super) fn lack_of_handles() -> Option<std::io::Error> {
    /// As many as SQLite opens at once: the file, its log and the index of that, and a folder.
    const NEEDED: usize = 4;
    /// Too many in the whole system, and in this process.
    const TOO_MANY: [i32; 2] = [23, 24];
    let opened: Result<Vec<_>, _> = (0..NEEDED).map(|_| std::fs::read_dir("/")).collect();
    opened
        .err()
        .filter(|error| cfg!(unix) && error.raw_os_error().is_some_and(|code| TOO_MANY.contains(&code)))
}

/// The writer or reader is gone, because it panicked.
pub(super) fn stopped(place: &str) -> StoreError {
    StoreError::Failed(format!(
        "{place} has stopped after an internal failure: open it again, and please report this"
    ))
}

/// Somebody wants to write to a store that was opened for reading.
pub(super) fn read_only(place: &str) -> StoreError {
    StoreError::Failed(format!(
        "{place} was opened for reading only: open it with `SqliteStore::open` to write"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_and_cannot_be_opened_is_one_that_may_not_be_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused =
            rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN), None);
        let told = |place: &str| explain(place, &refused).to_string();
        assert!(told(file.path().to_str().unwrap()).contains("this user may read it"));
        assert!(told("nowhere/convoke.db").contains("its folder exists"));
    }

    #[test]
    fn a_full_disk_is_named_whatever_sqlite_calls_the_failure() {
        use rusqlite::ffi;
        let told = |code, room| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            explain_with("m/runs.db", &error, || room).to_string()
        };
        // No room is left for the index of the log.
        for code in [ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_CANTOPEN] {
            let full = told(code, Some(8_192));
            assert!(full.contains("the disk that holds m/runs.db is full"), "{code}: {full}");
            for elsewhere in [Some(1 << 30), None] {
                let told = told(code, elsewhere);
                assert!(!told.contains("full"), "{code}: {told}");
            }
        }
        assert!(told(ffi::SQLITE_BUSY, Some(0)).contains("locked by another process"));
    }

    #[test]
    #[cfg(unix)]
    fn how_much_room_there_is_is_known_of_files_that_are_still_to_be_made() {
        let folder = tempfile::tempdir().unwrap();
        assert!(room_at(&folder.path().join("runs.db")).is_some());
        assert!(room_at(Path::new("runs.db")).is_some());
        assert!(room_at(&folder.path().join("nowhere/runs.db")).is_none());
    }

    #[test]
    fn every_failure_that_somebody_can_do_something_about_says_what() {
        use rusqlite::ffi;
        for (code, advice) in [
            (ffi::SQLITE_FULL, "free some space"),
            (ffi::SQLITE_READONLY, "writable for this user"),
            (ffi::SQLITE_BUSY, "locked by another process"),
            (ffi::SQLITE_LOCKED, "locked by another process"),
            (ffi::SQLITE_IOERR, "check the disk"),
            (ffi::SQLITE_TOOBIG, "too large"),
            (ffi::SQLITE_NOMEM, "not enough memory"),
            (ffi::SQLITE_MISUSE, "please report this"),
        ] {
            let told =
                explain("runs.db", &rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).to_string();
            assert!(told.contains(advice) && told.contains("runs.db"), "{code}: {told}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            let told = explain("runs.db", &rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert!(matches!(told, StoreError::Corrupt { .. }), "{told}");
        }
    }
}
