//! Hardened connections, which execute nothing of what a file says.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Result};

/// The rule whether a file of this kind may have triggers of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triggers {
    /// It has none, so none is run.
    Never,
    /// It has some. They are ours if its [`Schema`](crate::Schema) is.
    Ours,
}

/// Opens a file at a [`place`](crate::place), or a `file:` address with `SQLITE_OPEN_URI`, without following links.
///
/// # Errors
/// If SQLite cannot open it.
pub fn open(path: impl AsRef<Path>, flags: OpenFlags, triggers: Triggers) -> Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, triggers == Triggers::Ours),
    ];
    for (setting, value) in settings {
        connection.set_db_config(setting, value)?;
    }
    Ok(connection)
}

/// Switches to write-ahead logging. It needs the file for itself for a moment, and SQLite does not wait for that. Gives `false` on
/// file systems that cannot do it.
///
/// # Errors
/// If SQLite cannot do it, or others have had the file for longer than this.
pub fn switch_log_on(connection: &Connection, patience: Duration) -> Result<bool> {
    let began = Instant::now();
    // Switching writes one page. With a rollback journal beside it, others would refuse the file meanwhile.
    keep_journal_in_memory(connection)?;
    loop {
        let mode: Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Ok(mode) => return Ok(mode == "wal"),
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Has a database without a log make no rollback journal beside it: what is written before the log is switched on is lost with the
/// process.
///
/// # Errors
/// If SQLite cannot do it.
pub fn keep_journal_in_memory(connection: &Connection) -> Result<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode == "wal" { Ok(()) } else { connection.pragma_update(None, "journal_mode", "MEMORY") }
}
