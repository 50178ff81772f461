//! What jobs do to questions: open, answer, close.

use convoke_core::ask::PendingQuestion;
use convoke_core::{Answer, Path, QuestionId, RunId, StoreError, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Fault;
use super::query::answers_of;
use super::row;
use super::writer::Writer;
use crate::batch;

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
        connection
            .prepare_cached("DELETE FROM answers WHERE run = ?1 AND question = ?2")?
            .execute(params![run, question.id.as_str()])?;
    }
    Ok(())
}

/// Ends a question's wait. Its answers stay.
pub(super) fn close(connection: &Connection, run: i64, question: &QuestionId) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM questions WHERE run = ?1 AND id = ?2")?
        .execute(params![run, question.as_str()])?;
    Ok(())
}

/// Adds an answer to an open question, unless those it has settle it: of several at once, one is told that it counts.
pub(super) fn answer(
    writer: &Writer,
    run: &RunId,
    question: &QuestionId,
    answer: &Answer,
) -> Result<(), Fault> {
    let found: Option<(i64, String, i64, String)> = writer
        .connection
        .prepare_cached(
            "SELECT key, path, asked, question FROM runs JOIN questions ON questions.run = key \
             WHERE runs.id = ?1 AND questions.id = ?2",
        )?
        .query_row(params![run.as_str(), question.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((key, path, asked, text)) = found else {
        let question = question.to_string();
        return Err(StoreError::NoSuchQuestion { run: run.clone(), question }.into());
    };
    let pending = PendingQuestion {
        run: run.clone(),
        id: question.clone(),
        path: Path::from(path.as_str()),
        asked: Timestamp::from_micros(asked),
        question: row::json(&text)?,
    };
    batch::must_take(&pending, &answers_of(&writer.connection, key, question)?, answer)?;
    writer
        .connection
        .prepare_cached(
            "INSERT INTO answers (run, question, number, answer) \
             SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3 FROM answers WHERE run = ?1 AND question = ?2",
        )?
        .execute(params![key, question.as_str(), row::json_text(answer)?])?;
    Ok(())
}
