//! Outlines of workflows, each stored once however many runs have it.

use std::collections::HashMap;

use bytes::Bytes;
use convoke_core::Digest;
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Fault;
use super::row;

/// The number of an outline, which is kept if it was not.
pub(super) fn keep(connection: &Connection, outline: &Bytes) -> Result<i64, Fault> {
    let digest = Digest::of_parts(&[outline]);
    let find = || {
        let mut statement = connection.prepare_cached("SELECT key FROM outlines WHERE digest = ?1")?;
        statement.query_row([digest.as_bytes()], |row| row.get(0)).optional()
    };
    if let Some(key) = find()? {
        return Ok(key);
    }
    connection
        .prepare_cached("INSERT INTO outlines (digest, content) VALUES (?1, ?2)")?
        .execute(params![digest.as_bytes(), &outline[..]])?;
    Ok(connection.last_insert_rowid())
}

/// Forgets those that no run has.
pub(super) fn forget_unused(connection: &Connection) -> Result<(), Fault> {
    let sql = "DELETE FROM outlines WHERE key NOT IN (SELECT outline FROM runs WHERE outline IS NOT NULL)";
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Reads outlines, each of them once.
pub(super) struct Outlines<'a> {
    connection: &'a Connection,
    known: HashMap<i64, Bytes>,
}

impl<'a> Outlines<'a> {
    pub(super) fn of(connection: &'a Connection) -> Self {
        Self { connection, known: HashMap::new() }
    }

    /// The outline with this number.
    pub(super) fn get(&mut self, key: Option<i64>) -> Result<Option<Bytes>, Fault> {
        let Some(key) = key else { return Ok(None) };
        if let Some(known) = self.known.get(&key) {
            return Ok(Some(known.clone()));
        }
        let mut statement = self.connection.prepare_cached("SELECT content FROM outlines WHERE key = ?1")?;
        let mut rows = statement.query([key])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let outline = row::bytes(row, 0)?;
        self.known.extend(outline.clone().map(|outline| (key, outline)));
        Ok(outline)
    }
}
