//! Finding passages by words and by meaning, and putting both together.

use std::sync::{Mutex, PoisonError};

use convoke_core::{Passage, PassageSource};
use convoke_sqlite::{PackedVector, StorageError, any_word, fuse};
use rusqlite::{Connection, OptionalExtension, params};

use crate::knowledge::SearchedBy;

/// So many of either way are put together.
const CANDIDATES: usize = 50;

/// Vectors that have less than this in common have nothing to do with each other.
const LEAST_SIMILAR: f32 = 0.2;

/// A word that more than one in so many passages has, and no fewer than so many passages in all, says nothing about one of them.
const COMMON_SHARE: i64 = 20;
const COMMON_LEAST: i64 = 20;

/// So many words of a query are looked at.
const MOST_WORDS: usize = 30;

/// Passages that were found, and how.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FoundPassages {
    /// The passages, best first.
    pub passages: Vec<Passage>,
    /// How they were looked for.
    pub by: SearchedBy,
}

/// The passages of a collection that fit best; `vector` is the query's, with the name of its embedder.
pub(crate) fn search(
    connection: &Connection,
    collection: i64,
    query: &str,
    vector: Option<(&str, &PackedVector, &VectorCache)>,
    limit: usize,
) -> Result<Vec<Passage>, StorageError> {
    // What counts the same stays in this order: a question is seldom put in the words of its answer.
    let mut lists = Vec::new();
    if let Some((embedder, vector, cache)) = vector {
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors = current(&mut cache, connection, collection, embedder)?;
        lists.push(by_meaning(connection, vectors, vector)?);
    }
    lists.push(by_words(connection, collection, &telling(connection, query)?)?);
    if lists.iter().all(Vec::is_empty) {
        lists.push(by_words(connection, collection, query)?);
    }
    let best = fuse(&lists).into_iter().take(limit);
    let found = best.map(|(id, score)| passage(connection, id, score));
    found.filter_map(Result::transpose).collect()
}

/// The ids of passages with any of the words, best first.
fn by_words(connection: &Connection, collection: i64, query: &str) -> Result<Vec<i64>, StorageError> {
    let sql = "SELECT w.rowid FROM passage_words AS w JOIN passages AS p ON p.id = w.rowid
         WHERE passage_words MATCH ?1 AND p.collection = ?2 ORDER BY bm25(passage_words, 2.0, 1.0), w.rowid LIMIT ?3";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_map(params![any_word(query), collection, CANDIDATES as i64], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The words of a query that few passages have: to rank all passages by a word that nearly all of them have takes long, and tells
/// nothing. If there are only such words, they are the query.
fn telling(connection: &Connection, query: &str) -> Result<String, StorageError> {
    let passages: Option<i64> =
        connection.prepare_cached("SELECT max(id) FROM passages")?.query_row([], |row| row.get(0))?;
    let common = (passages.unwrap_or(0) / COMMON_SHARE).max(COMMON_LEAST);
    let sql = "SELECT count(*) FROM (SELECT 1 FROM passage_words WHERE passage_words MATCH ?1 LIMIT ?2)";
    let mut count = connection.prepare_cached(sql)?;
    let mut kept = Vec::new();
    let words = query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.take(MOST_WORDS) {
        let found: i64 = count.query_row(params![any_word(word), common], |row| row.get(0))?;
        if found < common {
            kept.push(word);
        }
    }
    Ok(if kept.is_empty() { query.to_owned() } else { kept.join(" ") })
}

/// The vectors of a collection, as they were read last.
pub(crate) type VectorCache = Mutex<Option<KnownVectors>>;

/// The vectors of a collection: reading them again takes longer than comparing them.
pub(crate) struct KnownVectors {
    /// The collection, who made them, and how often the file was changed by others and by this connection.
    stamp: (i64, String, i64, u64),
    /// The vectors of all passages of a document, for each document.
    packed: Vec<(i64, Vec<u8>)>,
}

/// The vectors as they are now.
fn current<'a>(
    cache: &'a mut Option<KnownVectors>,
    connection: &Connection,
    collection: i64,
    embedder: &str,
) -> Result<&'a KnownVectors, StorageError> {
    let by_others: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
    let stamp = (collection, embedder.to_owned(), by_others, connection.total_changes());
    let known = match cache.take() {
        Some(known) if known.stamp == stamp => known,
        _ => {
            let sql = "SELECT v.document, v.packed FROM documents AS d JOIN vectors AS v ON v.document = d.id
                 WHERE d.collection = ?1 AND v.embedder = ?2";
            let mut rows = connection.prepare_cached(sql)?;
            let packed =
                rows.query_map(params![collection, embedder], |row| Ok((row.get(0)?, row.get(1)?)))?;
            KnownVectors { stamp, packed: packed.collect::<Result<_, _>>()? }
        }
    };
    Ok(cache.insert(known))
}

/// The ids of passages whose vectors are nearest, best first. All are compared: that is exact, and quick enough for what a file holds.
fn by_meaning(
    connection: &Connection,
    known: &KnownVectors,
    vector: &PackedVector,
) -> Result<Vec<i64>, StorageError> {
    let mut near: Vec<(f32, i64, i64)> = Vec::new();
    for (document, packed) in &known.packed {
        for (ordinal, packed) in (0_i64..).zip(packed.chunks_exact(vector.as_bytes().len())) {
            match vector.similarity(packed) {
                Some(similarity) if similarity >= LEAST_SIMILAR => {
                    near.push((similarity, *document, ordinal))
                }
                _ => {}
            }
        }
    }
    let nearer = |one: &(f32, i64, i64), other: &(f32, i64, i64)| {
        other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2)))
    };
    // Only the best are put in order.
    if near.len() > CANDIDATES {
        near.select_nth_unstable_by(CANDIDATES, nearer);
        near.truncate(CANDIDATES);
    }
    near.sort_unstable_by(nearer);
    let mut id = connection.prepare_cached("SELECT id FROM passages WHERE document = ?1 AND ordinal = ?2")?;
    let ids = near.into_iter().map(|(_, document, ordinal)| {
        Ok(id.query_row(params![document, ordinal], |row| row.get(0)).optional()?)
    });
    ids.filter_map(Result::transpose).collect()
}

fn passage(connection: &Connection, id: i64, score: f32) -> Result<Option<Passage>, StorageError> {
    let sql = "SELECT d.path, p.heading, p.page, p.first_line, p.last_line, p.text
         FROM passages AS p JOIN documents AS d ON d.id = p.document WHERE p.id = ?1";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_row([id], |row| {
        let lines: (Option<u32>, Option<u32>) = (row.get(3)?, row.get(4)?);
        let source = PassageSource {
            document: row.get(0)?,
            heading: row.get(1)?,
            page: row.get(2)?,
            lines: lines.0.zip(lines.1),
        };
        Ok(Passage { text: row.get(5)?, source, score })
    });
    Ok(found.optional()?)
}
