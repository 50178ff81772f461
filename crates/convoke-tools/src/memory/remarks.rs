//! Conversations in the database: what was said, the summary of it, and how much of the end is not summed up.

use convoke_agent::memory::{Remark, Unsummarized};
use convoke_core::{Role, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use serde_json::{Map, Value};

use super::meaning::Meaning;
use crate::database::StorageError;

/// So many things may have been said in one conversation.
const MOST: i64 = 100_000;
/// So much of one remark is told, in bytes.
pub(super) const TOLD: usize = 2_000;
/// The last so many, up to so many bytes, are not summed up: they are told as they were said.
const WINDOW: usize = 20;
pub(super) const WINDOW_BYTES: usize = 6 << 10;
/// So many beyond that, or so many bytes, are worth a summary.
const WORTH_REMARKS: usize = 10;
pub(super) const WORTH_BYTES: usize = 4 << 10;
/// So much is summed up at once, in bytes.
const AT_ONCE: usize = 48 << 10;

/// A conversation that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RememberedConversation {
    /// Its name.
    pub name: String,
    /// How many things were said.
    #[serde(rename = "messages")]
    pub remarks: u64,
    /// What was said at first, summed up.
    pub summary: Option<String>,
    /// When something was said last.
    pub last: Option<Timestamp>,
}

/// Something that was said, to be kept.
pub(super) struct NewRemark {
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) meaning: Option<Meaning>,
}

pub(super) fn conversations(
    connection: &Connection,
    scope: &str,
) -> Result<Vec<RememberedConversation>, StorageError> {
    let sql = "SELECT c.name, count(r.id), c.summary, max(r.said) FROM conversations AS c
         LEFT JOIN remarks AS r ON r.conversation = c.id WHERE c.scope = ?1 GROUP BY c.id ORDER BY c.name";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_map([scope], |row| {
        Ok(RememberedConversation {
            name: row.get(0)?,
            remarks: row.get::<_, i64>(1)?.unsigned_abs(),
            summary: row.get(2)?,
            last: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_micros),
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Forgets a conversation; says how much was said in it.
pub(super) fn forget(
    transaction: &Transaction<'_>,
    scope: &str,
    name: &str,
) -> Result<Option<u64>, StorageError> {
    let Some(id) = find(transaction, scope, name)? else { return Ok(None) };
    let said = "SELECT count(*) FROM remarks WHERE conversation = ?1";
    let said: i64 = transaction.query_row(said, [id], |row| row.get(0))?;
    transaction.execute("DELETE FROM conversations WHERE id = ?1", [id])?;
    Ok(Some(said.unsigned_abs()))
}

pub(super) fn find(connection: &Connection, scope: &str, name: &str) -> Result<Option<i64>, StorageError> {
    let sql = "SELECT id FROM conversations WHERE scope = ?1 AND name = ?2";
    Ok(connection.prepare_cached(sql)?.query_row([scope, name], |row| row.get(0)).optional()?)
}

fn made(transaction: &Transaction<'_>, scope: &str, name: &str) -> Result<i64, StorageError> {
    transaction
        .execute("INSERT OR IGNORE INTO conversations (scope, name) VALUES (?1, ?2)", [scope, name])?;
    find(transaction, scope, name)?.ok_or_else(|| StorageError::Unfit("the conversation is gone".to_owned()))
}

/// Adds what was said, once for each key.
pub(super) fn append(
    transaction: &Transaction<'_>,
    (scope, name): (&str, &str),
    (run, key): (&str, &str),
    said: &[NewRemark],
    now: Timestamp,
) -> Result<(), StorageError> {
    let conversation = made(transaction, scope, name)?;
    for (ordinal, remark) in said.iter().enumerate() {
        let (embedder, packed) =
            remark.meaning.as_ref().map(|meaning| (&meaning.embedder, meaning.vector.as_bytes())).unzip();
        transaction.execute(
            "INSERT OR IGNORE INTO remarks (conversation, run, key, ordinal, role, text, said, embedder, packed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                conversation,
                run,
                key,
                ordinal as i64,
                role_name(remark.role),
                remark.text,
                now.as_micros(),
                embedder,
                packed
            ],
        )?;
    }
    let count = "SELECT count(*) FROM remarks WHERE conversation = ?1";
    let count: i64 = transaction.query_row(count, [conversation], |row| row.get(0))?;
    match count > MOST {
        true => Err(StorageError::Unfit(format!(
            "{MOST} things were said under `{name}` already: `convoke memory remove {name}` forgets them"
        ))),
        false => Ok(()),
    }
}

pub(super) fn load(connection: &Connection, conversation: i64) -> Result<Vec<Remark>, StorageError> {
    let sql = "SELECT id, role, text, said FROM remarks WHERE conversation = ?1 ORDER BY id";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_map([conversation], |row| Ok(remark(row)?.1))?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn summary(
    connection: &Connection,
    conversation: i64,
) -> Result<(Option<String>, i64), StorageError> {
    let sql = "SELECT summary, summarized FROM conversations WHERE id = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([conversation], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// What should be summed up, if it is worth it.
pub(super) fn unsummarized(
    connection: &Connection,
    conversation: i64,
) -> Result<Option<Unsummarized>, StorageError> {
    let (summary, summarized) = summary(connection, conversation)?;
    let sql = "SELECT id, role, text, said FROM remarks WHERE conversation = ?1 AND id > ?2 AND id < ?3 ORDER BY id";
    let mut found = connection.prepare_cached(sql)?;
    let window = window(connection, conversation)?;
    let found = found.query_map(params![conversation, summarized, window], remark)?;
    let (mut text, mut count, mut through) = (String::new(), 0, summarized);
    for one in found {
        let (id, one) = one?;
        let who = if one.role == Role::User { "User" } else { "Assistant" };
        if !text.is_empty() && text.len() + one.text.len() > AT_ONCE {
            break;
        }
        let said = &one.text[..one.text.floor_char_boundary(AT_ONCE)];
        text.push_str(&format!("{who}: {said}\n\n"));
        (count, through) = (count + 1, id);
    }
    let is_worth_it = count >= WORTH_REMARKS || text.len() >= WORTH_BYTES;
    Ok(is_worth_it.then_some(Unsummarized { summary, text, through }))
}

/// The first remark that is told as it was said.
fn window(connection: &Connection, conversation: i64) -> Result<i64, StorageError> {
    let sql = "SELECT id, length(CAST(text AS BLOB)) FROM remarks WHERE conversation = ?1 ORDER BY id DESC LIMIT ?2";
    let mut found = connection.prepare_cached(sql)?;
    let mut found = found.query(params![conversation, WINDOW as i64])?;
    let (mut first, mut bytes) = (i64::MAX, 0);
    while let Some(row) = found.next()? {
        bytes += TOLD.min(usize::try_from(row.get::<_, i64>(1)?).unwrap_or(TOLD));
        if bytes > WINDOW_BYTES {
            break;
        }
        first = row.get(0)?;
    }
    Ok(first)
}

pub(super) fn summarize(
    transaction: &Transaction<'_>,
    (scope, name): (&str, &str),
    through: i64,
    summary: &str,
) -> Result<(), StorageError> {
    transaction.execute(
        "UPDATE conversations SET summary = ?3, summarized = ?4 WHERE scope = ?1 AND name = ?2 AND summarized < ?4",
        params![scope, name, beginning_of(summary, 4 * TOLD), through],
    )?;
    Ok(())
}

pub(super) fn vars(connection: &Connection, conversation: i64) -> Result<Map<String, Value>, StorageError> {
    let sql = "SELECT vars FROM conversations WHERE id = ?1";
    let vars: String = connection.query_row(sql, [conversation], |row| row.get(0))?;
    serde_json::from_str(&vars)
        .map_err(|error| StorageError::Unfit(format!("its values cannot be read: {error}")))
}

pub(super) fn save(
    transaction: &Transaction<'_>,
    (scope, name): (&str, &str),
    vars: &str,
) -> Result<(), StorageError> {
    let conversation = made(transaction, scope, name)?;
    transaction.execute("UPDATE conversations SET vars = ?2 WHERE id = ?1", params![conversation, vars])?;
    Ok(())
}

fn role_name(role: Role) -> &'static str {
    if role == Role::User { "user" } else { "assistant" }
}

pub(super) fn remark(row: &Row<'_>) -> rusqlite::Result<(i64, Remark)> {
    let role = if row.get::<_, String>(1)? == "user" { Role::User } else { Role::Assistant };
    let day = Timestamp::from_micros(row.get(3)?).to_string();
    let day = day.split('T').next().map(str::to_owned);
    Ok((row.get(0)?, Remark { role, text: row.get(2)?, day }))
}

/// The beginning of a text, with a sign where the rest is.
pub(super) fn beginning_of(text: &str, bytes: usize) -> String {
    match text.len() > bytes {
        true => format!("{} […]", &text[..text.floor_char_boundary(bytes)]),
        false => text.to_owned(),
    }
}
