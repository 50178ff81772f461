//! Creating a store file atomically.
//!
//! It is made under another name and then given its own, so that nobody ever finds half a store, and no journal to roll it back is
//! ever beside it: a journal that somebody finds is not ours.

use std::path::Path;

use convoke_sqlite::{Triggers, keep_journal_in_memory};
use rusqlite::{Connection, OpenFlags};

use super::failure::Fault;
use super::schema::{self, STEPS};

/// Makes a store where there is no file. If it cannot be made, opening it says why; if another process was faster, its store is
/// the one.
pub(super) fn create_if_absent(path: &Path) {
    if path.symlink_metadata().is_err() && create(path).is_err() {
        // Not every file system can give a name without taking one. Then it is made in its place, and as private.
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let _ = options.open(path);
    }
}

/// A file that only this user may read: it will have everything in it that models were told and said. What SQLite puts beside it is
/// as private as the file itself.
fn create(path: &Path) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::Damaged(error.to_string());
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = tempfile::Builder::new().prefix(".convoke-new-").tempfile_in(folder).map_err(failed)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    make(&mut convoke_sqlite::open(file.path(), flags, Triggers::Never)?)?;
    file.persist_noclobber(path).map_err(|failure| failed(failure.error))?;
    if cfg!(unix) {
        // A name is durable when its folder is.
        std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(())
}

/// Makes the tables in a file without any.
pub(super) fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    keep_journal_in_memory(connection)?;
    // Has an effect only before there are tables. Deleting runs then makes the file smaller.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    schema::migrate(connection, STEPS).map(drop)
}
