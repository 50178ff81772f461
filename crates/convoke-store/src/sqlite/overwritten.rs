//! A check that what was written can be read again, once another program has changed the file.
//!
//! Other processes of ours change it too, when they move commits from the log to the file. So nothing is concluded from the
//! change itself: the file is looked into, by a connection that has none of its pages in memory.

use std::path::Path;

use convoke_core::{RunId, StoreError};
use rusqlite::params;

use super::failure::explain;
use super::inspect::{FileState, inspect};
use super::{entry_key, open};

/// Refuses to go on if the file is no store any more, is damaged, or lacks one of these runs or entries of it: its number in the
/// tables, and how many entries it has.
pub(super) fn check<'a>(
    path: &Path,
    place: &str,
    runs: impl Iterator<Item = (&'a RunId, i64, u64)>,
) -> Result<(), StoreError> {
    match inspect(path, place) {
        Ok(FileState::Store) => {}
        Ok(FileState::Nothing) => return Err(refused(place, "it is empty")),
        Err(StoreError::Corrupt { problem, .. }) => return Err(refused(place, &problem)),
        Err(StoreError::Newer { .. }) => return Err(refused(place, "it is of another version")),
        // Locked for long, no more files to be opened: that is no damage.
        Err(_) => return Ok(()),
    }
    match has_entries(path, runs) {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(place, "what was written is not in it")),
        Err(error) => match explain(place, &error) {
            StoreError::Corrupt { problem, .. } => Err(refused(place, &problem)),
            _ => Ok(()),
        },
    }
}

fn has_entries<'a>(
    path: &Path,
    mut runs: impl Iterator<Item = (&'a RunId, i64, u64)>,
) -> rusqlite::Result<bool> {
    let connection = open::to_read(path)?;
    let sql = "SELECT count(*) FROM entries WHERE place BETWEEN ?3 AND ?4 \
               AND EXISTS (SELECT 1 FROM runs WHERE key = ?1 AND id = ?2)";
    let mut count = connection.prepare(sql)?;
    runs.try_fold(true, |all, (run, key, entries)| {
        let place = params![key, run.as_str(), entry_key::first(key), entry_key::last(key)];
        let found: i64 = count.query_row(place, |row| row.get(0))?;
        Ok(all && found.cast_unsigned() == entries)
    })
}

fn refused(place: &str, problem: &str) -> StoreError {
    StoreError::Failed(format!(
        "{place} was written over by another program while runs were at work in it: {problem}. Nothing more is done; put \
         back a copy of the store from before, with what was beside it, then resume"
    ))
}
