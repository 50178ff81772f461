//! Exclusive access to a database, to copy and remove it.
//!
//! Moving takes two steps, and a process can be killed between them: the copy is complete and in its place before the original goes.
//! Whoever finds both has to say whether one is a copy of the other; nothing is lost in between.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::backup::Backup;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Result};

use crate::connection::{Triggers, keep_journal_in_memory, open};
use crate::file::beside;

/// So many pages are copied at a time.
const PAGES: std::os::raw::c_int = 1_000;

/// How long to wait for others to let go of it.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);

/// A database that nobody else has open, and that nobody else can open until this is dropped.
#[derive(Debug)]
pub struct ExclusiveDatabase {
    place: PathBuf,
    connection: Connection,
}

/// The treatment of a file that exists where a copy is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExisting {
    /// It stays, and there is no copy.
    Keep,
    /// The copy takes its place.
    Replace,
}

impl ExclusiveDatabase {
    /// Takes a database at a [`place`](crate::place) for this process alone. Give it only what is known to be ours.
    ///
    /// # Errors
    /// If it cannot be opened. `Ok(None)` if another process, or another handle of this one, has it open.
    pub fn take(place: &Path) -> Result<Option<Self>> {
        let connection = open(place, OpenFlags::SQLITE_OPEN_READ_WRITE, Triggers::Never)?;
        connection.busy_timeout(PATIENCE)?;
        let taken = connection
            .pragma_update(None, "locking_mode", "EXCLUSIVE")
            .and_then(|()| connection.execute_batch("BEGIN IMMEDIATE; COMMIT"))
            // Everything is in the file itself then; what lies beside it can go.
            .and_then(|()| connection.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())));
        match taken {
            Ok(()) => Ok(Some(Self { place: place.to_owned(), connection })),
            Err(Error::SqliteFailure(failure, _)) if failure.code == ErrorCode::DatabaseBusy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Copies it to another place, complete and durable or not at all. `Ok(false)` if something stands there, and is to be kept.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn copy_to(&self, to: &Path, existing: OnExisting) -> io::Result<bool> {
        let folder = to.parent().unwrap_or(Path::new("."));
        // Made for this user alone, and removed if it does not come to be used.
        let file = tempfile::Builder::new().prefix(".convoke-moving-").tempfile_in(folder)?;
        self.copy(file.path()).map_err(io::Error::other)?;
        file.as_file().sync_all()?;
        let placed = match existing {
            OnExisting::Replace => file.persist(to),
            OnExisting::Keep => file.persist_noclobber(to),
        };
        match placed {
            Ok(_) => {}
            Err(failed)
                if existing == OnExisting::Keep && failed.error.kind() == io::ErrorKind::AlreadyExists =>
            {
                return Ok(false);
            }
            Err(failed) => return Err(failed.error),
        }
        sync_folder(folder)?;
        Ok(true)
    }

    fn copy(&self, to: &Path) -> Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let mut copy = open(to, flags, Triggers::Never)?;
        // It is of no use before it is complete, so nothing needs to be rolled back, and no file lies beside it.
        keep_journal_in_memory(&copy)?;
        Backup::new(&self.connection, &mut copy)?.run_to_completion(
            PAGES,
            std::time::Duration::ZERO,
            None,
        )?;
        copy.close().map_err(|(_, error)| error)
    }

    /// Removes it, with what SQLite has beside it.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn remove(self) -> io::Result<()> {
        // While it is held: nobody can write into what is removed. The log is empty, and harmless if it is left.
        std::fs::remove_file(&self.place)?;
        let Self { place, connection } = self;
        drop(connection);
        for suffix in ["-wal", "-shm"] {
            match std::fs::remove_file(beside(&place, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A name in a folder is durable when the folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { std::fs::File::open(folder)?.sync_all() } else { Ok(()) }
}
