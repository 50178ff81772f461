//! The job that begins the next generation of a run.

use convoke_core::store::{Generation, NextGeneration};
use rusqlite::{Connection, params};

use super::failure::Fault;

/// Lets a run continue: what it began with gives way to what it continues with.
pub(super) fn begin(connection: &Connection, key: i64, next: &NextGeneration) -> Result<(), Fault> {
    let NextGeneration { generation, version, seed, input } = next;
    let Generation { number, begins_at, carried } = generation;
    connection
        .prepare_cached(
            "UPDATE runs SET generation = ?2, begins_at = ?3, version = ?4, latest = ?4, seed = ?5 WHERE key = ?1",
        )?
        .execute(params![key, number, begins_at.cast_signed(), version, seed.cast_signed()])?;
    connection
        .prepare_cached("UPDATE inputs SET content = ?2 WHERE run = ?1")?
        .execute(params![key, &input[..]])?;
    match carried {
        Some(carried) => connection
            .prepare_cached("INSERT OR REPLACE INTO carried (run, content) VALUES (?1, ?2)")?
            .execute(params![key, &carried[..]])?,
        None => connection.prepare_cached("DELETE FROM carried WHERE run = ?1")?.execute([key])?,
    };
    Ok(())
}
