//! The small SQLite files of tools, off the threads that run futures.
//!
//! A call that was made before is known by its key: making it again gives what it gave and does nothing.

use convoke_agent::ToolContext;
use convoke_core::{Digest, Error, Timestamp};
pub use convoke_sqlite::StorageError;
pub(crate) use convoke_sqlite::{Database, FileSchema};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::blocking::blocking;

/// Looks something up.
pub(crate) async fn read<T, F>(database: &Database, work: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, StorageError> + Send + 'static,
{
    let database = database.clone();
    blocking(move |_| database.read(work)).await
}

/// Changes something, in one transaction.
pub(crate) async fn write<T, F>(database: &Database, work: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: FnOnce(&Transaction<'_>) -> Result<T, StorageError> + Send + 'static,
{
    let database = database.clone();
    blocking(move |_| database.write(work)).await
}

/// Does something once for each key: a call that has been made gives what it gave. Whose arguments differ is another
/// call, whatever its key says: ids of runs can be used again.
pub(crate) fn once(
    transaction: &Transaction<'_>,
    call: &RecordedCall,
    work: impl FnOnce() -> Result<String, StorageError>,
) -> Result<String, StorageError> {
    let known = "SELECT result FROM calls WHERE key = ?1 AND arguments = ?2";
    let known: Option<String> =
        transaction.query_row(known, params![call.key, call.arguments], |row| row.get(0)).optional()?;
    if let Some(result) = known {
        return Ok(result);
    }
    let result = work()?;
    transaction.execute(
        "INSERT OR REPLACE INTO calls (key, arguments, run, result, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![call.key, call.arguments, call.run, result, call.at.as_micros()],
    )?;
    Ok(result)
}

/// One call, as the database knows it.
pub(crate) struct RecordedCall {
    pub(crate) run: String,
    pub(crate) path: String,
    pub(crate) at: Timestamp,
    key: String,
    /// A digest of what it was called with.
    arguments: String,
}

impl RecordedCall {
    pub(crate) fn of(
        context: &ToolContext,
        arguments: &impl Serialize,
        at: Timestamp,
    ) -> Result<Self, Error> {
        let arguments = serde_json::to_vec(arguments)?;
        Ok(Self {
            run: context.scope.run_id().as_str().to_owned(),
            path: context.scope.path().to_string(),
            at,
            key: context.key.as_str().to_owned(),
            arguments: Digest::of_parts(&[&arguments]).to_string(),
        })
    }
}
