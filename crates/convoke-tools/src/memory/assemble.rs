//! Assembles what is told of a conversation: its summary, what was said last, and what fits the words of now.

use convoke_agent::memory::{Recollection, Remark};
use convoke_sqlite::{any_word, fuse};
use rusqlite::{Connection, params};

use super::meaning::{CANDIDATES, Meaning};
use super::remarks::{TOLD, WINDOW_BYTES, WORTH_BYTES, beginning_of, remark, summary};
use crate::database::StorageError;

/// What is told as it was said, at the end of a conversation, in bytes: what is not summed up yet fits into it.
const RECENT_BYTES: usize = WINDOW_BYTES + WORTH_BYTES + 2 * TOLD;
/// So many that fit are told.
const RECALLED: usize = 5;

/// What is told of a conversation to whoever says these words in this run.
pub(super) fn assemble(
    connection: &Connection,
    conversation: i64,
    run: &str,
    words: &str,
    meaning: Option<&Meaning>,
) -> Result<Recollection, StorageError> {
    let (summary, summarized) = summary(connection, conversation)?;
    let recent = recent(connection, conversation, run, summarized)?;
    let before = recent.first().map_or(i64::MAX, |(id, _)| *id);
    let mut lists = Vec::new();
    if let Some(meaning) = meaning {
        lists.push(by_meaning(connection, conversation, run, before, meaning)?);
    }
    lists.push(by_words(connection, conversation, run, before, words)?);
    let mut one = connection.prepare_cached("SELECT id, role, text, said FROM remarks WHERE id = ?1")?;
    let recalled = fuse(&lists).into_iter().take(RECALLED).map(|(id, _)| Ok(one.query_row([id], remark)?.1));
    let recalled = recalled.collect::<Result<Vec<Remark>, StorageError>>()?;
    let told = |remark: Remark| Remark { text: beginning_of(&remark.text, TOLD), ..remark };
    let (recalled, recent) = (recalled.into_iter().map(told), recent.into_iter().map(|(_, one)| told(one)));
    Ok(Recollection { summary, recalled: recalled.collect(), recent: recent.collect() })
}

/// What was said last, as far as no summary has it, oldest first.
fn recent(
    connection: &Connection,
    conversation: i64,
    run: &str,
    summarized: i64,
) -> Result<Vec<(i64, Remark)>, StorageError> {
    let sql = "SELECT id, role, text, said FROM remarks WHERE conversation = ?1 AND run <> ?2 AND id > ?3 ORDER BY id DESC";
    let mut found = connection.prepare_cached(sql)?;
    let mut found = found.query(params![conversation, run, summarized])?;
    let (mut recent, mut bytes) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        let (id, one) = remark(row)?;
        bytes += one.text.len().min(TOLD);
        if bytes > RECENT_BYTES {
            break;
        }
        recent.push((id, one));
    }
    recent.reverse();
    Ok(recent)
}

fn by_words(
    connection: &Connection,
    conversation: i64,
    run: &str,
    before: i64,
    words: &str,
) -> Result<Vec<i64>, StorageError> {
    let sql = "SELECT r.id FROM remark_words AS w JOIN remarks AS r ON r.id = w.rowid
         WHERE remark_words MATCH ?1 AND r.conversation = ?2 AND r.run <> ?3 AND r.id < ?4 ORDER BY w.rank, r.id LIMIT ?5";
    let mut found = connection.prepare_cached(sql)?;
    let found = found
        .query_map(params![any_word(words), conversation, run, before, CANDIDATES as i64], |row| {
            row.get(0)
        })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn by_meaning(
    connection: &Connection,
    conversation: i64,
    run: &str,
    before: i64,
    meaning: &Meaning,
) -> Result<Vec<i64>, StorageError> {
    let sql =
        "SELECT id, packed FROM remarks WHERE conversation = ?1 AND run <> ?2 AND id < ?3 AND embedder = ?4";
    let mut found = connection.prepare_cached(sql)?;
    meaning.nearest(found.query(params![conversation, run, before, meaning.embedder])?)
}
