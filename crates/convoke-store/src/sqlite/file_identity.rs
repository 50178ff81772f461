//! A check that the open file is still the one others will find.
//!
//! A file that is deleted, replaced or moved while it is open can be written to for ever, and nobody will read it. Looked
//! at after each commit, before anybody is told that something is durable: two questions to the file system. And whenever
//! somebody asks what is due: whoever attends to a file that is gone would wait for ever.
//!
//! A file that another program writes over stays the same file, so its size and time are looked at too, before each commit.
//! They also change when another process moves its commits from the log to the file: whether what we wrote is still there
//! only a look into it can tell ([`super::overwritten`]).

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use convoke_core::StoreError;
use convoke_sqlite::beside;

/// The file and its log, as they were when they were opened.
pub(super) struct FileIdentity {
    place: String,
    database: WatchedFile,
    /// Known from the first commit on; before, there may be none.
    log: WatchedFile,
    /// The size and time of the file after our last commit.
    stamp: Option<Stamp>,
}

/// A file as it was when it was opened.
pub(super) struct WatchedFile {
    path: PathBuf,
    was: Option<Identity>,
}

impl FileIdentity {
    pub(super) fn of(path: &Path, place: &str) -> Self {
        let log = beside(path, "-wal");
        Self {
            place: place.to_owned(),
            database: WatchedFile::at(path),
            log: WatchedFile { path: log, was: None },
            stamp: stamp(path),
        }
    }

    /// Whether somebody else has written into the file since the last [`accept`](Self::accept).
    pub(super) fn has_changed(&self) -> bool {
        stamp(&self.database.path) != self.stamp
    }

    /// Takes the file as it is now for what it should be.
    pub(super) fn accept(&mut self) {
        self.stamp = stamp(&self.database.path);
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.database.path
    }

    /// Refuses to go on if one of them is not there any more, or another one is.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        self.database.must_be_there(&self.place)?;
        self.log.was = self.log.was.or_else(|| identity(&self.log.path));
        self.log.must_be_there(&self.place)
    }
}

impl WatchedFile {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), was: identity(path) }
    }

    /// Refuses if it is not there any more, or another one is.
    pub(super) fn must_be_there(&self, place: &str) -> Result<(), StoreError> {
        let is = identity(&self.path);
        if self.was.is_none() || is == self.was {
            return Ok(());
        }
        let what = if is.is_none() { "is gone" } else { "is another file now" };
        Err(StoreError::Replaced(format!(
            "{} {what}, though this process has it open: it was deleted, replaced or moved while runs were at \
             work in {place}. What is written now would be lost, so nothing more is done; if the file was \
             moved, move it back with what was beside it, then resume",
            self.path.display()
        )))
    }
}

/// The size of a file, and when it was written.
pub(super) type Stamp = (u64, Option<SystemTime>);

pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|found| (found.len(), found.modified().ok()))
}

#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Elsewhere a file that is open cannot be deleted or replaced.
#[cfg(not(unix))]
type Identity = ();

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    None
}
