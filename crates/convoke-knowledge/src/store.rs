//! Collections, documents and passages in the database.

use std::path::{Path, PathBuf};

use convoke_core::Timestamp;
use convoke_sqlite::{FileSchema, PackedVector, StorageError, Triggers};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::chunk::NewPassage;

pub(crate) const LAYOUT: FileSchema = FileSchema {
    application: 0x436e_766b,
    steps: &[include_str!("1.sql")],
    // They keep the index of words.
    triggers: Triggers::Ours,
};

/// The most passages that a file of knowledge holds.
const MOST_PASSAGES: i64 = 1_000_000;

/// Documents under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Collection {
    /// Its name.
    pub name: String,
    /// How many documents it has.
    pub documents: u64,
    /// How many passages they have.
    pub passages: u64,
    /// How many documents can be found by meaning too, and not by words only.
    #[serde(rename = "by_meaning")]
    pub embedded: u64,
    /// The files and folders that were added.
    #[serde(rename = "paths")]
    pub roots: Vec<PathBuf>,
}

/// A document of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoredDocument {
    /// Its file.
    pub path: PathBuf,
    /// How large the file was, in bytes.
    pub bytes: u64,
    /// How many passages it has.
    pub passages: u64,
    /// When it was read.
    pub read_at: Timestamp,
}

/// A document to be kept.
pub(crate) struct NewDocument {
    pub(crate) path: String,
    pub(crate) digest: String,
    pub(crate) bytes: u64,
    pub(crate) passages: Vec<NewPassage>,
    /// Who made the vectors, and the vectors of all passages.
    pub(crate) vectors: Option<(String, Vec<PackedVector>)>,
}

/// A document as it is known.
pub(crate) struct KnownDocument {
    pub(crate) path: String,
    pub(crate) digest: String,
    /// Who made its vectors.
    pub(crate) embedder: Option<String>,
}

pub(crate) fn collection(connection: &Connection, name: &str) -> Result<Option<i64>, StorageError> {
    let id = "SELECT id FROM collections WHERE name = ?1";
    Ok(connection.prepare_cached(id)?.query_row([name], |row| row.get(0)).optional()?)
}

pub(crate) fn names(connection: &Connection) -> Result<Vec<String>, StorageError> {
    let mut names = connection.prepare_cached("SELECT name FROM collections ORDER BY name")?;
    Ok(names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

pub(crate) fn collections(connection: &Connection) -> Result<Vec<Collection>, StorageError> {
    let sql = "SELECT c.id, c.name, count(d.id), coalesce(sum(d.passages), 0), count(v.document) FROM collections AS c
         LEFT JOIN documents AS d ON d.collection = c.id LEFT JOIN vectors AS v ON v.document = d.id
         GROUP BY c.id ORDER BY c.name";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_map([], |row| {
        let counts: [i64; 3] = [row.get(2)?, row.get(3)?, row.get(4)?];
        Ok((row.get(0)?, row.get(1)?, counts))
    })?;
    let found: Vec<(i64, String, [i64; 3])> = found.collect::<Result<_, _>>()?;
    let collections = found.into_iter().map(|(id, name, counts)| {
        let [documents, passages, embedded] = counts.map(i64::unsigned_abs);
        Ok(Collection { name, documents, passages, embedded, roots: roots(connection, id)? })
    });
    collections.collect()
}

pub(crate) fn roots(connection: &Connection, collection: i64) -> Result<Vec<PathBuf>, StorageError> {
    let mut roots =
        connection.prepare_cached("SELECT path FROM roots WHERE collection = ?1 ORDER BY path")?;
    let roots = roots.query_map([collection], |row| row.get::<_, String>(0))?;
    Ok(roots.map(|root| root.map(PathBuf::from)).collect::<Result<_, _>>()?)
}

/// Makes a collection if it is not there, and notes what was added to it.
pub(crate) fn begin(
    transaction: &Transaction<'_>,
    name: &str,
    roots: &[String],
) -> Result<i64, StorageError> {
    transaction.execute("INSERT OR IGNORE INTO collections (name) VALUES (?1)", [name])?;
    let id = transaction.query_row("SELECT id FROM collections WHERE name = ?1", [name], |row| row.get(0))?;
    for root in roots {
        transaction
            .execute("INSERT OR IGNORE INTO roots (collection, path) VALUES (?1, ?2)", params![id, root])?;
    }
    Ok(id)
}

pub(crate) fn known(connection: &Connection, collection: i64) -> Result<Vec<KnownDocument>, StorageError> {
    let sql =
        "SELECT d.path, d.digest, v.embedder FROM documents AS d LEFT JOIN vectors AS v ON v.document = d.id
         WHERE d.collection = ?1";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_map([collection], |row| {
        Ok(KnownDocument { path: row.get(0)?, digest: row.get(1)?, embedder: row.get(2)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(crate) fn documents(
    connection: &Connection,
    collection: i64,
) -> Result<Vec<StoredDocument>, StorageError> {
    let sql = "SELECT path, bytes, passages, read_at FROM documents WHERE collection = ?1 ORDER BY path";
    let mut found = connection.prepare_cached(sql)?;
    let found = found.query_map([collection], |row| {
        Ok(StoredDocument {
            path: PathBuf::from(row.get::<_, String>(0)?),
            bytes: row.get::<_, i64>(1)?.unsigned_abs(),
            passages: row.get::<_, i64>(2)?.unsigned_abs(),
            read_at: Timestamp::from_micros(row.get(3)?),
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Keeps a document in the place of what was there of it.
pub(crate) fn keep(
    transaction: &Transaction<'_>,
    collection: i64,
    document: &NewDocument,
    now: Timestamp,
) -> Result<(), StorageError> {
    let is_there = "SELECT 1 FROM collections WHERE id = ?1";
    if !transaction.prepare_cached(is_there)?.exists([collection])? {
        return Err(StorageError::Unfit("it was removed while documents were added to it".to_owned()));
    }
    remove(transaction, collection, &document.path)?;
    transaction.execute(
        "INSERT INTO documents (collection, path, digest, bytes, passages, read_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            collection,
            document.path,
            document.digest,
            document.bytes.cast_signed(),
            document.passages.len() as i64,
            now.as_micros()
        ],
    )?;
    let id = transaction.last_insert_rowid();
    let mut insert = transaction.prepare_cached(
        "INSERT INTO passages (collection, document, ordinal, heading, page, first_line, last_line, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (ordinal, passage) in document.passages.iter().enumerate() {
        let (first, last) = passage.lines.unzip();
        insert.execute(params![
            collection,
            id,
            ordinal as i64,
            passage.heading,
            passage.page,
            first,
            last,
            passage.text
        ])?;
    }
    if let Some((embedder, vectors)) = &document.vectors {
        let packed: Vec<u8> = vectors.iter().flat_map(|vector| vector.as_bytes()).copied().collect();
        transaction.execute(
            "INSERT INTO vectors (document, embedder, packed) VALUES (?1, ?2, ?3)",
            params![id, embedder, packed],
        )?;
    }
    let all: i64 =
        transaction.query_row("SELECT coalesce(sum(passages), 0) FROM documents", [], |row| row.get(0))?;
    match all > MOST_PASSAGES {
        true => Err(StorageError::Unfit(format!(
            "there are {MOST_PASSAGES} passages already, which is the most: remove some knowledge first"
        ))),
        false => Ok(()),
    }
}

/// Removes a document.
pub(crate) fn remove(transaction: &Transaction<'_>, collection: i64, path: &str) -> Result<(), StorageError> {
    let document = "DELETE FROM documents WHERE collection = ?1 AND path = ?2";
    transaction.prepare_cached(document)?.execute(params![collection, path])?;
    Ok(())
}

/// Removes what was added at and below a path; says how many documents that were.
pub(crate) fn remove_below(
    transaction: &Transaction<'_>,
    collection: i64,
    path: &Path,
) -> Result<usize, StorageError> {
    let mut removed = 0;
    for document in known(transaction, collection)? {
        if Path::new(&document.path).starts_with(path) {
            remove(transaction, collection, &document.path)?;
            removed += 1;
        }
    }
    for root in roots(transaction, collection)? {
        if root.starts_with(path) {
            let root = root.to_string_lossy();
            transaction.execute(
                "DELETE FROM roots WHERE collection = ?1 AND path = ?2",
                params![collection, root],
            )?;
        }
    }
    Ok(removed)
}

/// Removes a whole collection.
pub(crate) fn remove_all(transaction: &Transaction<'_>, collection: i64) -> Result<(), StorageError> {
    transaction.execute("DELETE FROM collections WHERE id = ?1", [collection])?;
    Ok(())
}
