//! Memories in the database.

use convoke_core::Timestamp;
use convoke_sqlite::{any_word, fuse};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::kind::{Kind, plain};
use super::meaning::{CANDIDATES, Meaning};
use crate::database::{RecordedCall, StorageError, once};

/// So many memories a workspace, or the user, may have.
const MOST: i64 = 10_000;
/// Calls are known by their keys for this long, in microseconds: 90 days. A run that was interrupted longer ago and
/// remembers something again finds it there all the same.
const KNOWN_FOR: i64 = 90 * 24 * 3_600 * 1_000_000;

/// A memory to be stored.
pub(super) struct NewMemory {
    pub(super) scope: String,
    pub(super) texts: Vec<(Kind, String)>,
    /// What each of them means.
    pub(super) meanings: Vec<Option<Meaning>>,
    pub(super) expires: Option<Timestamp>,
}

/// A stored memory.
pub(super) struct StoredMemory {
    pub(super) id: i64,
    pub(super) is_users: bool,
    pub(super) text: String,
    pub(super) run: String,
    pub(super) path: String,
    pub(super) said: Timestamp,
    pub(super) times: i64,
    pub(super) expires: Option<Timestamp>,
}

const COLUMNS: &str = "m.id, m.scope = '', m.text, m.run, m.path, m.said, m.times, m.expires";
/// What this workspace sees at a time: `?1` is the workspace, `?2` the time.
const VISIBLE: &str = "m.scope IN ('', ?1) AND (m.expires IS NULL OR m.expires > ?2)";

pub(super) fn remember(
    transaction: &Transaction<'_>,
    call: &RecordedCall,
    saying: &NewMemory,
) -> Result<String, StorageError> {
    let now = call.at.as_micros();
    transaction.execute("DELETE FROM memories WHERE expires <= ?1", [now])?;
    transaction.execute("DELETE FROM calls WHERE at < ?1", [now - KNOWN_FOR])?;
    once(transaction, call, || {
        let (mut stored, mut known) = (Vec::new(), Vec::new());
        for ((kind, text), meaning) in saying.texts.iter().zip(&saying.meanings) {
            let (id, is_new) = keep(transaction, call, saying, (*kind, text), meaning.as_ref())?;
            if is_new { stored.push(id) } else { known.push(id) }
        }
        let count = "SELECT count(*) FROM memories WHERE scope = ?1";
        let count: i64 = transaction.query_row(count, [&saying.scope], |row| row.get(0))?;
        if count > MOST && !stored.is_empty() {
            return Err(StorageError::Unfit(format!(
                "{MOST} things are remembered already: forget some of them first"
            )));
        }
        let mut told = format!("stored {}{}", stored.len(), ids(&stored));
        if !known.is_empty() {
            told.push_str(&format!("; known already: {}{}", known.len(), ids(&known)));
        }
        Ok(told)
    })
}

fn ids(ids: &[i64]) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("#{id}")).collect();
    if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) }
}

/// Keeps a text, or notes that it was said again. It then lasts as long as the longer of the two was to.
fn keep(
    transaction: &Transaction<'_>,
    call: &RecordedCall,
    saying: &NewMemory,
    (kind, text): (Kind, &str),
    meaning: Option<&Meaning>,
) -> Result<(i64, bool), StorageError> {
    let (now, plain) = (call.at.as_micros(), plain(text));
    let (embedder, packed) = meaning.map(|meaning| (&meaning.embedder, meaning.vector.as_bytes())).unzip();
    let expires = saying.expires.map(Timestamp::as_micros);
    let again = "UPDATE memories SET said = ?3, times = times + 1,
            expires = CASE WHEN expires IS NULL OR ?4 IS NULL THEN NULL ELSE max(expires, ?4) END,
            embedder = coalesce(?5, embedder), packed = coalesce(?6, packed)
         WHERE scope = ?1 AND plain = ?2 RETURNING id";
    let again: Option<i64> = transaction
        .query_row(again, params![saying.scope, plain, now, expires, embedder, packed], |row| row.get(0))
        .optional()?;
    if let Some(id) = again {
        return Ok((id, false));
    }
    transaction.execute(
        "INSERT INTO memories (scope, kind, text, plain, origin, run, path, made, said, times, expires, embedder, packed)
         VALUES (?1, ?2, ?3, ?4, 'agent', ?5, ?6, ?7, ?7, 1, ?8, ?9, ?10)",
        params![saying.scope, kind.name(), text, plain, call.run, call.path, now, expires, embedder, packed],
    )?;
    Ok((transaction.last_insert_rowid(), true))
}

/// The memories of a kind that fit the words, or what they mean, best.
pub(super) fn recall(
    connection: &Connection,
    (workspace, now): (&str, Timestamp),
    kind: Kind,
    (query, meaning): (&str, Option<&Meaning>),
    limit: usize,
) -> Result<Vec<StoredMemory>, StorageError> {
    let (now, kind) = (now.as_micros(), kind.name());
    let mut lists = Vec::new();
    if let Some(meaning) = meaning {
        let sql = format!(
            "SELECT m.id, m.packed FROM memories AS m WHERE {VISIBLE} AND m.kind = ?3 AND m.embedder = ?4"
        );
        let mut found = connection.prepare_cached(&sql)?;
        lists.push(meaning.nearest(found.query(params![workspace, now, kind, meaning.embedder])?)?);
    }
    lists.push(by_words(connection, (workspace, now), kind, query)?);
    let mut one =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memories AS m WHERE m.id = ?1"))?;
    let best = fuse(&lists).into_iter().take(limit);
    best.map(|(id, _)| Ok(one.query_row([id], remembered)?)).collect()
}

fn by_words(
    connection: &Connection,
    (workspace, now): (&str, i64),
    kind: &str,
    query: &str,
) -> Result<Vec<i64>, StorageError> {
    let whole = format!(
        "SELECT m.id FROM memory_words AS w JOIN memories AS m ON m.id = w.rowid
         WHERE memory_words MATCH ?5 AND {VISIBLE} AND m.kind = ?3 ORDER BY w.rank, m.said DESC, m.id LIMIT ?4"
    );
    // Parts of words, and languages that do not write blanks between them.
    let parts = format!(
        "SELECT m.id FROM memories AS m
         WHERE instr(m.plain, ?5) > 0 AND {VISIBLE} AND m.kind = ?3 ORDER BY m.said DESC, m.id LIMIT ?4"
    );
    for (sql, words) in [(whole, any_word(query)), (parts, plain(query))] {
        let mut found = connection.prepare_cached(&sql)?;
        let found =
            found.query_map(params![workspace, now, kind, CANDIDATES as i64, words], |row| row.get(0))?;
        let found: Vec<i64> = found.collect::<Result<_, _>>()?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Memories of a kind or of all, newest first, and how many there are in all.
pub(super) fn list(
    connection: &Connection,
    workspace: &str,
    now: Timestamp,
    kind: Option<Kind>,
    skip: usize,
    limit: usize,
) -> Result<(Vec<(String, StoredMemory)>, usize), StorageError> {
    let (kind, now) = (kind.map(Kind::name), now.as_micros());
    let sql = format!("SELECT count(*) FROM memories AS m WHERE {VISIBLE} AND (?3 IS NULL OR m.kind = ?3)");
    let count: i64 = connection.query_row(&sql, params![workspace, now, kind], |row| row.get(0))?;
    let sql = format!(
        "SELECT {COLUMNS}, m.kind FROM memories AS m WHERE {VISIBLE} AND (?3 IS NULL OR m.kind = ?3)
         ORDER BY m.id DESC LIMIT ?4 OFFSET ?5"
    );
    let mut found = connection.prepare_cached(&sql)?;
    let found = found.query_map(params![workspace, now, kind, limit as i64, skip as i64], |row| {
        Ok((row.get(8)?, remembered(row)?))
    })?;
    Ok((found.collect::<Result<_, _>>()?, usize::try_from(count).unwrap_or(0)))
}

pub(super) fn forget(
    transaction: &Transaction<'_>,
    call: &RecordedCall,
    workspace: &str,
    id: i64,
) -> Result<String, StorageError> {
    once(transaction, call, || {
        let gone = "DELETE FROM memories WHERE id = ?1 AND scope IN ('', ?2)";
        if transaction.execute(gone, params![id, workspace])? == 0 {
            return Err(StorageError::Unfit(format!(
                "there is no memory #{id}; memory_list shows which there are"
            )));
        }
        // The text is not in it: results are kept, and what is forgotten is gone.
        Ok(format!("forgot #{id}"))
    })
}

fn remembered(row: &Row<'_>) -> rusqlite::Result<StoredMemory> {
    Ok(StoredMemory {
        id: row.get(0)?,
        is_users: row.get(1)?,
        text: row.get(2)?,
        run: row.get(3)?,
        path: row.get(4)?,
        said: Timestamp::from_micros(row.get(5)?),
        times: row.get(6)?,
        expires: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
    })
}
