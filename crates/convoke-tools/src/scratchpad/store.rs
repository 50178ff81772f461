//! Notes in the database.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::database::{RecordedCall, StorageError, once};

/// So many notes a run may have.
const MOST: i64 = 1_000;

pub(super) fn write(
    transaction: &Transaction<'_>,
    call: &RecordedCall,
    name: &str,
    value: &str,
) -> Result<String, StorageError> {
    once(transaction, call, || {
        let others = "SELECT count(*) FROM notes WHERE run = ?1 AND name <> ?2";
        let others: i64 = transaction.query_row(others, params![call.run, name], |row| row.get(0))?;
        if others >= MOST {
            return Err(StorageError::Unfit(format!(
                "there are {MOST} notes already; write into one of them"
            )));
        }
        transaction.execute(
            "INSERT OR REPLACE INTO notes (run, name, value, path, written) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![call.run, name, value, call.path, call.at.as_micros()],
        )?;
        Ok(format!("wrote `{name}` ({} characters)", value.chars().count()))
    })
}

pub(super) fn read(connection: &Connection, run: &str, name: &str) -> Result<String, StorageError> {
    let value = "SELECT value FROM notes WHERE run = ?1 AND name = ?2";
    let value: Option<String> =
        connection.query_row(value, params![run, name], |row| row.get(0)).optional()?;
    value.ok_or_else(|| {
        StorageError::Unfit(format!("there is no note `{name}`; scratchpad_list shows which there are"))
    })
}

/// All notes of a run, by name.
pub(super) fn notes(connection: &Connection, run: &str) -> Result<Vec<(String, String)>, StorageError> {
    let mut notes =
        connection.prepare_cached("SELECT name, value FROM notes WHERE run = ?1 ORDER BY name")?;
    let notes = notes.query_map([run], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(notes.collect::<Result<_, _>>()?)
}

pub(super) fn forget(transaction: &Transaction<'_>, run: &str) -> Result<(), StorageError> {
    transaction.execute("DELETE FROM notes WHERE run = ?1", [run])?;
    transaction.execute("DELETE FROM calls WHERE run = ?1", [run])?;
    Ok(())
}
