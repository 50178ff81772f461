//! A small SQLite file of ours that several processes may use at once.
//!
//! Every call blocks; whatever writes is one transaction.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::{Schema, Triggers, create_folder, examine, place, switch_log_on};

/// How long to wait for another process that has the file locked.
const PATIENCE: Duration = Duration::from_secs(20);

/// Errors of keeping something, or finding it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The file cannot be opened.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
    /// What was asked for cannot be done.
    #[error("{0}")]
    Unfit(String),
}

/// The schema of a kind of file.
#[derive(Debug)]
pub struct FileSchema {
    /// What a file of this kind says in its header.
    pub application: i32,
    /// Step `n` leads from version `n` to `n + 1`. A step that has been released never changes.
    pub steps: &'static [&'static str],
    /// Whether there are triggers among them.
    pub triggers: Triggers,
}

/// A small SQLite file of one kind. Clones share its connection.
#[derive(Debug, Clone)]
pub struct Database {
    path: Arc<Path>,
    layout: &'static FileSchema,
    /// `None` until it is first needed.
    connection: Arc<Mutex<Option<Connection>>>,
}

impl Database {
    /// A file that is opened, and made, when it is first needed.
    #[must_use]
    pub fn at(path: &Path, layout: &'static FileSchema) -> Self {
        Self { path: path.into(), layout, connection: Arc::default() }
    }

    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// If that cannot be done, or the file is something else.
    pub fn open(path: &Path, layout: &'static FileSchema) -> Result<Self, StorageError> {
        let database = Self::at(path, layout);
        drop(database.connected()?);
        Ok(database)
    }

    /// The connection, which there is then.
    fn connected(&self) -> Result<MutexGuard<'_, Option<Connection>>, StorageError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.is_none() {
            *connection = Some(Self::connect(&self.path, self.layout)?);
        }
        Ok(connection)
    }

    fn connect(path: &Path, layout: &FileSchema) -> Result<Connection, StorageError> {
        let fail = |problem: String| StorageError::File { path: path.to_owned(), problem };
        let made = || {
            if let Some(folder) = std::path::absolute(path)?.parent() {
                create_folder(folder)?;
            }
            let place = place(path)?;
            examine(&place).map_err(std::io::Error::other)?;
            create(&place).map(|()| place)
        };
        let place = made().map_err(|error| fail(format!("it cannot be made or opened: {error}")))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let opened = crate::open(place, flags, layout.triggers).and_then(|mut connection| {
            connection.busy_timeout(PATIENCE)?;
            let state = prepare(&mut connection, layout)?;
            Ok((connection, state))
        });
        let (connection, state) = opened.map_err(|error| fail(error.to_string()))?;
        match state {
            State::Ready => Ok(connection),
            State::Foreign => Err(fail("it is the file of something else; name another".to_owned())),
            State::Changed(how) => Err(fail(format!("{how}; nothing was changed: name another"))),
            State::Newer => Err(fail("a newer version of convoke has written it; use that one".to_owned())),
        }
    }

    /// Looks something up.
    ///
    /// # Errors
    /// If the file cannot be opened, or the work fails.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut connection = self.connected()?;
        work(connection.as_mut().ok_or_else(closed)?)
    }

    /// Changes something, in one transaction.
    ///
    /// # Errors
    /// If the file cannot be opened, or the work fails: then nothing is changed.
    pub fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut connection = self.connected()?;
        let connection = connection.as_mut().ok_or_else(closed)?;
        // Taken at once: a transaction that read first could not become one that writes while others do.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }
}

fn closed() -> StorageError {
    StorageError::Unfit("the file is not open".to_owned())
}

/// Only the user may read what is kept.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

enum State {
    Ready,
    Foreign,
    /// Ours, and somebody has changed its tables; how.
    Changed(String),
    Newer,
}

fn prepare(connection: &mut Connection, layout: &FileSchema) -> rusqlite::Result<State> {
    let state = judge(connection, layout)?;
    if !matches!(state, State::Ready) {
        return Ok(state);
    }
    switch_log_on(connection, PATIENCE)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What is deleted is overwritten: nobody finds it in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been there since.
    let state = judge(&transaction, layout)?;
    if !matches!(state, State::Ready) {
        return Ok(state);
    }
    for step in layout.steps.iter().skip(version(&transaction)?) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", layout.application)?;
    transaction.pragma_update(None, "user_version", i64::try_from(layout.steps.len()).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(State::Ready)
}

/// Whether a database is empty, or ours and exactly as our steps made it.
fn judge(connection: &Connection, layout: &FileSchema) -> rusqlite::Result<State> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != layout.application && (application != 0 || tables > 0) {
        return Ok(State::Foreign);
    }
    let Some(done) = layout.steps.get(..version(connection)?) else { return Ok(State::Newer) };
    let difference = Schema::after(done)?.difference(&Schema::of(connection)?);
    Ok(difference.map_or(State::Ready, State::Changed))
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
