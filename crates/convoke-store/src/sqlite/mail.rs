//! Jobs on mail, and on the wait conditions of suspended runs.

use convoke_core::ask::PendingQuestion;
use convoke_core::store::{CANCEL_CHANNEL, Mail, NewMail, PostReceipt, RunChange, reply_channel};
use convoke_core::{Answer, QuestionId, RunId, RunStatus, StoreError, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::Fault;
use super::query::all;
use super::row::{self, QUESTION_COLUMNS};
use super::writer::Writer;
use crate::batch;

/// Keeps something for a run, and lets the run go on if it waits for it.
pub(super) fn post(writer: &mut Writer, run: &RunId, mail: &NewMail) -> Result<PostReceipt, Fault> {
    let connection = &writer.connection;
    let found: Option<(i64, u8)> = connection
        .prepare_cached("SELECT key, status FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((key, status)) = found else { return Err(StoreError::NotFound { run: run.clone() }.into()) };
    let status = row::status_of(status)?;
    if let Some(number) = earlier(connection, key, mail)? {
        return Ok(PostReceipt { number, is_new: false });
    }
    if status == RunStatus::Completed {
        return Err(StoreError::Over { run: run.clone(), status }.into());
    }
    let question = mail.question();
    let open = match &question {
        Some(question) => open_question(connection, run, question)?,
        None => None,
    };
    if let Some(open) = &open {
        batch::must_take_reply(open, &answers(connection, key, &open.id)?, mail)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO mail (run, channel, id, sender, at, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![key, mail.channel, mail.key, mail.sender, mail.at.as_micros(), &mail.payload[..]])?;
    let number = connection.last_insert_rowid().cast_unsigned();
    let can_go_on = match &open {
        Some(open) => open.verdict(&answers(connection, key, &open.id)?).is_some(),
        None => mail.is_cancel() || is_awaited(connection, key, &mail.channel)?,
    };
    if can_go_on && status == RunStatus::Suspended {
        wake(connection, key)?;
    }
    writer.notify(run);
    Ok(PostReceipt { number, is_new: true })
}

/// Takes down what a run waits for, if it is suspended now. What has come meanwhile lets it go on at once.
pub(super) fn wait(connection: &Connection, key: i64, run: &RunId, change: &RunChange) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM waits WHERE run = ?1")?.execute([key])?;
    let is_suspended = change.status == RunStatus::Suspended;
    let until = change.waits.until.filter(|_| is_suspended).map(Timestamp::as_micros);
    connection.prepare_cached("UPDATE runs SET wake = ?2 WHERE key = ?1")?.execute(params![key, until])?;
    if !is_suspended {
        return Ok(());
    }
    let mut can_go_on = has_mail(connection, key, CANCEL_CHANNEL, 0)?;
    for channel in &change.waits.channels {
        connection
            .prepare_cached("INSERT OR IGNORE INTO waits (run, channel) VALUES (?1, ?2)")?
            .execute(params![key, channel.name])?;
        can_go_on |= has_mail(connection, key, &channel.name, channel.after)?;
    }
    for open in open_questions(connection, run)? {
        can_go_on |= open.settled(&answers(connection, key, &open.id)?, Timestamp::now()).is_some();
    }
    if can_go_on { wake(connection, key) } else { Ok(()) }
}

/// What was sent on a channel after a number.
pub(super) fn read(
    connection: &Connection,
    key: i64,
    channel: &str,
    after: u64,
    most: i64,
) -> Result<Vec<Mail>, Fault> {
    let sql = "SELECT number, channel, sender, at, payload FROM mail \
               WHERE run = ?1 AND channel = ?2 AND number > ?3 ORDER BY number LIMIT ?4";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    all(connection, sql, params![key, channel, after, most], sent)
}

/// What was sent under a key.
pub(super) fn by_key(connection: &Connection, key: i64, id: &str) -> Result<Vec<Mail>, Fault> {
    let sql = "SELECT number, channel, sender, at, payload FROM mail \
               WHERE run = ?1 AND id = ?2 ORDER BY number";
    all(connection, sql, params![key, id], sent)
}

fn sent(row: &Row<'_>) -> Result<Mail, Fault> {
    Ok(Mail {
        number: row::unsigned(row, 0)?,
        channel: row.get(1)?,
        sender: row.get(2)?,
        at: Timestamp::from_micros(row.get(3)?),
        payload: row::bytes(row, 4)?.unwrap_or_default(),
    })
}

/// The answers that a question has, in order.
pub(super) fn answers(
    connection: &Connection,
    key: i64,
    question: &QuestionId,
) -> Result<Vec<Answer>, Fault> {
    let replies = read(connection, key, &reply_channel(question), 0, i64::MAX)?;
    Ok(replies.iter().filter_map(|reply| reply.read().ok()).collect())
}

/// What becomes of the answers of a question that is asked: those it had when it was settled before are void.
pub(super) fn forget_taken(connection: &Connection, key: i64, question: &QuestionId) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM mail WHERE run = ?1 AND channel = ?2 AND taken")?
        .execute(params![key, reply_channel(question)])?;
    Ok(())
}

/// What becomes of the answers of a question that is settled.
pub(super) fn take(connection: &Connection, key: i64, question: &QuestionId) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE mail SET taken = 1 WHERE run = ?1 AND channel = ?2")?
        .execute(params![key, reply_channel(question)])?;
    Ok(())
}

/// The number of the last mail there is or was.
pub(super) fn last_number(connection: &Connection) -> Result<i64, Fault> {
    let last = connection
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'mail'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or(0))
}

/// The runs that were sent something after a number.
pub(super) fn sent_since(connection: &Connection, number: i64) -> Result<Vec<RunId>, Fault> {
    let sql = "SELECT DISTINCT runs.id FROM mail JOIN runs ON runs.key = mail.run WHERE number > ?1";
    all(connection, sql, [number], |row| row::run_id(&row.get::<_, String>(0)?))
}

fn earlier(connection: &Connection, key: i64, mail: &NewMail) -> Result<Option<u64>, Fault> {
    let Some(id) = &mail.key else { return Ok(None) };
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM mail WHERE run = ?1 AND channel = ?2 AND id = ?3")?
        .query_row(params![key, mail.channel, id], |row| row.get(0))
        .optional()?;
    Ok(number.map(i64::cast_unsigned))
}

fn open_question(
    connection: &Connection,
    run: &RunId,
    question: &QuestionId,
) -> Result<Option<PendingQuestion>, Fault> {
    let sql = format!(
        "SELECT {QUESTION_COLUMNS} FROM runs JOIN questions ON run = key WHERE runs.id = ?1 AND questions.id = ?2"
    );
    Ok(all(connection, &sql, [run.as_str(), question.as_str()], row::question)?.pop())
}

fn open_questions(connection: &Connection, run: &RunId) -> Result<Vec<PendingQuestion>, Fault> {
    super::query::questions(connection, Some(run))
}

fn is_awaited(connection: &Connection, key: i64, channel: &str) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM waits WHERE run = ?1 AND channel = ?2";
    Ok(connection.prepare_cached(sql)?.exists(params![key, channel])?)
}

fn has_mail(connection: &Connection, key: i64, channel: &str, after: u64) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM mail WHERE run = ?1 AND channel = ?2 AND number > ?3";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.exists(params![key, channel, after])?)
}

/// Lets a run go on from now on.
fn wake(connection: &Connection, key: i64) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE runs SET wake = min(coalesce(wake, ?2), ?2) WHERE key = ?1")?
        .execute(params![key, Timestamp::now().as_micros()])?;
    Ok(())
}
