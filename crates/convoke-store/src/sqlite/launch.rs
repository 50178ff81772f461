//! Launch parameters and search columns of runs.

use convoke_core::store::Launch;
use rusqlite::{Connection, params};

use super::failure::Fault;
use super::{pieces, row};

/// Keeps what a run is started with, in the place of what was kept before.
pub(super) fn keep(connection: &Connection, key: i64, launch: &Launch) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE runs SET parent = ?2, thread = ?3 WHERE key = ?1")?
        .execute(params![key, launch.parent.as_ref().map(|run| run.as_str()), launch.thread])?;
    let text = row::json_text(launch)?;
    let stored = pieces::keep(connection, key, text.as_bytes())?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO launches (run, content, depth) VALUES (?1, ?2, ?3)")?
        .execute(params![key, &stored.content[..], stored.depth])?;
    connection.prepare_cached("DELETE FROM labels WHERE run = ?1")?.execute([key])?;
    let mut label = connection.prepare_cached("INSERT INTO labels (name, value, run) VALUES (?1, ?2, ?3)")?;
    for (name, value) in &launch.labels {
        label.execute(params![name, value, key])?;
    }
    Ok(())
}
