//! Jobs that open and close questions.

use convoke_core::QuestionId;
use convoke_core::ask::PendingQuestion;
use rusqlite::{Connection, params};

use super::failure::Fault;
use super::{mail, row};

/// Lets a question wait. One that waits already goes on waiting, with the answers it has; one that was settled begins
/// anew, without those it had.
pub(super) fn open(connection: &Connection, run: i64, question: &PendingQuestion) -> Result<(), Fault> {
    let opened = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO questions (run, id, path, asked, question) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            run,
            question.id.as_str(),
            question.path.as_str(),
            question.asked.as_micros(),
            row::json_text(&question.question)?,
        ])?;
    if opened > 0 {
        mail::forget_taken(connection, run, &question.id)?;
    }
    Ok(())
}

/// Ends a question's wait. Its answers stay.
pub(super) fn close(connection: &Connection, run: i64, question: &QuestionId) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM questions WHERE run = ?1 AND id = ?2")?
        .execute(params![run, question.as_str()])?;
    mail::take(connection, run, question)
}
