//! The tables, and their migrations.
//!
//! The version is `PRAGMA user_version`; step `n` of [`STEPS`] leads from version `n` to `n + 1`. A step that has been
//! released never changes: add another. A file says that it is ours in `PRAGMA application_id`.

use rusqlite::{Connection, TransactionBehavior};

/// "Cnvk", in the header of every store.
pub(super) const APPLICATION_ID: i64 = 0x436e_766b;

/// The steps from an empty file to the newest version.
pub(super) const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];

/// The oldest version that can be read as it is.
pub(super) const OLDEST_READABLE: i64 = 2;

/// The first version that keeps long content in pieces.
pub(super) const WITH_PIECES: i64 = 3;

/// The first version that keeps what runs were started with.
pub(super) const WITH_LAUNCHES: i64 = 4;

/// The first version that keeps mail, and answers in it.
pub(super) const WITH_MAIL: i64 = 5;

/// The first version whose runs have generations, and whose entries have labels.
pub(super) const WITH_GENERATIONS: i64 = 6;
pub(super) const WITH_LABELS: i64 = 6;

/// The first version that keeps what runs were started with in pieces.
pub(super) const WITH_LAUNCH_PIECES: i64 = 7;

/// The newest version this crate understands.
pub(super) fn newest() -> i64 {
    version_after(STEPS)
}

/// The steps that lead to a version.
pub(super) fn steps_to(version: i64) -> &'static [&'static str] {
    let count = usize::try_from(version).unwrap_or(0);
    STEPS.get(..count).unwrap_or(STEPS)
}

fn version_after(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Brings a database up to date, all steps in one transaction. Says whether anything had to be done.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<bool> {
    if version(connection)? >= version_after(steps) {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // Another process may have been faster.
    let done = usize::try_from(version(&transaction)?).unwrap_or(0);
    for step in steps.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version_after(steps).max(version(&transaction)?))?;
    transaction.commit()?;
    Ok(true)
}

/// The version a database has; 0 if it is empty.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_older_database_is_brought_up_to_date_and_keeps_what_it_has() {
        let mut connection = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('kept');";
        assert!(migrate(&mut connection, &[first]).unwrap());
        let later =
            [first, "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7", "CREATE TABLE more (x)"];
        assert!(migrate(&mut connection, &later).unwrap());
        let row: (String, i64) = connection
            .query_row("SELECT name, size FROM things", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(row, ("kept".to_owned(), 7));
        assert_eq!(version(&connection).unwrap(), 3);
        assert!(!migrate(&mut connection, &later).unwrap());
    }

    #[test]
    fn a_step_that_fails_undoes_all_of_them() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(migrate(&mut connection, &["CREATE TABLE things (name TEXT)", "nonsense"]).is_err());
        assert_eq!((tables(&connection), version(&connection).unwrap()), (0, 0));
    }

    #[test]
    fn every_released_step_runs() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(migrate(&mut connection, STEPS).unwrap());
        assert_eq!(version(&connection).unwrap(), newest());
        assert!(tables(&connection) >= 7);
    }
}
