//! Collections of documents: added, listed, searched, removed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::{BoxFuture, Digest, Embedder, EmbeddingPurpose, Error, Passage, Retriever, Timestamp};
use convoke_sqlite::{Database, PackedVector, StorageError};
use convoke_tools::embedding::LazyEmbedder;
use rusqlite::{Connection, Transaction};

use crate::KnowledgeError;
use crate::chunk::NewPassage;
use crate::document::{self, READING};
use crate::files::{self, FoundFiles, LeftOut, Unread};
use crate::pdf::PdfReader;
use crate::search::{FoundPassages, VectorCache, search};
use crate::store::{self, Collection, KnownDocument, LAYOUT, NewDocument, StoredDocument};

/// The most passages that are found at once.
const MOST_FOUND: usize = 50;

/// The longest query, in bytes: what is beyond is not looked for.
const LONGEST_QUERY: usize = 4_000;

/// The longest name, in letters.
const LONGEST_NAME: usize = 40;

/// The way something was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchedBy {
    /// By its words alone: there is nothing that compares meanings.
    Words,
    /// By its words and by what it means.
    WordsAndMeaning,
}

impl fmt::Display for SearchedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Words => "words alone",
            Self::WordsAndMeaning => "words and meaning",
        })
    }
}

/// What became of what was added.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Added {
    /// Documents that are new, or have changed.
    pub read: u64,
    /// Documents that are as they were.
    pub unchanged: u64,
    /// Documents that are gone, and were removed.
    pub removed: u64,
    /// Passages of what was read.
    pub passages: u64,
    /// What was left out, and why.
    pub left_out: Vec<LeftOut>,
}

/// Documents that agents can look things up in, under names, in one file.
///
/// Several processes may have the file open at once. Clones share its connection.
///
/// ```
/// use convoke_knowledge::Knowledge;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("cats.md"), "# Cats\nA cat sleeps for most of the day.")?;
/// let knowledge = Knowledge::at(folder.path().join("knowledge.db"));
/// knowledge.add("animals", &[folder.path().join("cats.md")], |_| {}).await?;
/// let found = knowledge.search("animals", "how long do cats sleep?", 5).await?;
/// assert_eq!(found.passages[0].source.heading.as_deref(), Some("Cats"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Knowledge {
    file: Arc<Path>,
    database: Database,
    pdf: PdfReader,
    embedder: LazyEmbedder,
    vectors: Arc<VectorCache>,
}

impl Knowledge {
    /// Knowledge in this file, which is opened when it is first needed, and made when something is first added.
    #[must_use]
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self {
            file: path.as_ref().into(),
            database: Database::at(path.as_ref(), &LAYOUT),
            pdf: PdfReader::default(),
            embedder: LazyEmbedder::default(),
            vectors: Arc::default(),
        }
    }

    /// Compares meanings too.
    #[must_use]
    pub fn embedder(mut self, embedder: LazyEmbedder) -> Self {
        self.embedder = embedder;
        self
    }

    /// Reads PDFs with this.
    #[must_use]
    pub fn pdf(mut self, reader: PdfReader) -> Self {
        self.pdf = reader;
        self
    }

    /// Adds files, and folders with everything in them; without any, looks again at those that were added before. What has changed is
    /// read again, and what is gone is removed. Each document is told before it is read.
    ///
    /// # Errors
    /// If something that was named is not there, or too much, or the database fails. Documents that were read until then are kept.
    pub async fn add(
        &self,
        name: &str,
        paths: &[PathBuf],
        mut reading: impl FnMut(&Path) + Send,
    ) -> Result<Added, KnowledgeError> {
        check_name(name)?;
        let named = paths.iter().map(|path| real(path)).collect::<Result<Vec<_>, _>>()?;
        let before = self.read(known_of(name.to_owned())).await?;
        let (known, earlier) = before.unwrap_or_default();
        let roots = if named.is_empty() { earlier } else { named };
        if roots.is_empty() {
            return Err(KnowledgeError::Nothing { name: name.to_owned() });
        }
        let walked = roots.clone();
        let found = tokio::task::spawn_blocking(move || files::found(&walked)).await??;
        let FoundFiles { files, left_out, unseen } = found;
        let texts: Vec<String> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let owned = name.to_owned();
        let collection = self.write(move |transaction| store::begin(transaction, &owned, &texts)).await?;
        let mut known: BTreeMap<String, KnownDocument> =
            known.into_iter().map(|document| (document.path.clone(), document)).collect();
        let is_below =
            |folders: &[PathBuf], path: &str| folders.iter().any(|one| Path::new(path).starts_with(one));
        known.retain(|path, _| is_below(&roots, path) && !is_below(&unseen, path));
        let embedder = self.embedder.get().await?;
        let mut added = Added { left_out, ..Added::default() };
        for path in files {
            let Some(text) = path.to_str().map(str::to_owned) else {
                added.left_out.push(LeftOut::new(&path, "its name is no text in UTF-8"));
                continue;
            };
            let before = known.get(&text).map(|known| (known.digest.clone(), known.embedder.clone()));
            let wanted = embedder.as_ref().map(|embedder| embedder.name().to_owned());
            reading(&path);
            let (file, pdf) = (path.clone(), self.pdf.clone());
            let looked = move || look(&file, before.as_ref(), wanted.as_deref(), &pdf);
            match tokio::task::spawn_blocking(looked).await? {
                Looked::Unchanged => {
                    known.remove(&text);
                    added.unchanged += 1;
                }
                Looked::Unread(Unread::Gone) => {}
                // Nobody knows what is in it now: what was read of it before stays.
                Looked::Unread(Unread::Unreadable(reason)) => {
                    known.remove(&text);
                    added.left_out.push(LeftOut::new(&path, reason));
                }
                // What was known of it is out of date.
                Looked::Unread(Unread::Unfit(reason)) => added.left_out.push(LeftOut::new(&path, reason)),
                Looked::Changed { digest, bytes, passages } => {
                    let vectors = match &embedder {
                        Some(embedder) => Some(vectors(&**embedder, &passages).await?),
                        None => None,
                    };
                    known.remove(&text);
                    added.read += 1;
                    added.passages += passages.len() as u64;
                    let document = NewDocument { path: text, digest, bytes, passages, vectors };
                    let keep = move |transaction: &Transaction<'_>| {
                        store::keep(transaction, collection, &document, Timestamp::now())
                    };
                    self.write(keep).await?;
                }
            }
        }
        added.removed = known.len() as u64;
        let gone = move |transaction: &Transaction<'_>| {
            known.keys().try_for_each(|path| store::remove(transaction, collection, path))
        };
        self.write(gone).await?;
        Ok(added)
    }

    /// Lists all collections, by their names.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn collections(&self) -> Result<Vec<Collection>, KnowledgeError> {
        self.read(store::collections).await
    }

    /// Lists the documents of a collection, by their paths.
    ///
    /// # Errors
    /// If there is no such collection, or the database fails.
    pub async fn documents(&self, name: &str) -> Result<Vec<StoredDocument>, KnowledgeError> {
        let collection = self.id(name).await?;
        self.read(move |connection| store::documents(connection, collection)).await
    }

    /// Finds the passages of a collection that fit a question best.
    ///
    /// # Errors
    /// If there is no such collection, or the database or the embedder fails.
    pub async fn search(
        &self,
        name: &str,
        query: &str,
        limit: usize,
    ) -> Result<FoundPassages, KnowledgeError> {
        let collection = self.id(name).await?;
        let query = query[..query.floor_char_boundary(LONGEST_QUERY)].to_owned();
        let embedder = self.embedder.get().await?.filter(|_| !query.trim().is_empty());
        let vector = match &embedder {
            Some(embedder) => {
                let embedded = embedder.embed(vec![query.clone()], EmbeddingPurpose::Query).await?;
                let vector = embedded.vectors.first().map(|vector| PackedVector::of(vector));
                vector.map(|vector| (embedder.name().to_owned(), vector))
            }
            None => None,
        };
        let by = if vector.is_some() { SearchedBy::WordsAndMeaning } else { SearchedBy::Words };
        let vectors = Arc::clone(&self.vectors);
        let look = move |connection: &Connection| {
            let vector = vector.as_ref().map(|(embedder, vector)| (&**embedder, vector, &*vectors));
            search(connection, collection, &query, vector, limit.min(MOST_FOUND))
        };
        Ok(FoundPassages { passages: self.read(look).await?, by })
    }

    /// Removes a collection, or what was added of it at and below a path; gives how many documents that were.
    ///
    /// # Errors
    /// If there is no such thing, or the database fails.
    pub async fn remove(&self, name: &str, path: Option<&Path>) -> Result<usize, KnowledgeError> {
        let collection = self.id(name).await?;
        let Some(path) = path else {
            let count = self.documents(name).await?.len();
            self.write(move |transaction| store::remove_all(transaction, collection)).await?;
            return Ok(count);
        };
        // What is gone has no real path any more.
        let whole = real(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
        let below = whole.clone();
        let removed =
            self.write(move |transaction| store::remove_below(transaction, collection, &below)).await?;
        match removed {
            0 => Err(KnowledgeError::NoDocument { name: name.to_owned(), path: whole }),
            removed => Ok(removed),
        }
    }

    /// What finds passages in this one collection.
    #[must_use]
    pub fn retriever(&self, name: impl Into<String>) -> CollectionRetriever {
        CollectionRetriever { knowledge: self.clone(), name: name.into() }
    }

    async fn id(&self, name: &str) -> Result<i64, KnowledgeError> {
        let name = name.to_owned();
        let wanted = name.clone();
        let found = self
            .read(move |connection| Ok((store::collection(connection, &wanted)?, store::names(connection)?)))
            .await?;
        found.0.ok_or(KnowledgeError::Missing { name, others: found.1 })
    }

    /// Looks something up. Where there is no file, there is nothing, and none is made.
    async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let (file, database) = (Arc::clone(&self.file), self.database.clone());
        let look = move || match file.try_exists() {
            Ok(false) => Ok(T::default()),
            _ => database.read(work),
        };
        Ok(tokio::task::spawn_blocking(look).await??)
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let database = self.database.clone();
        Ok(tokio::task::spawn_blocking(move || database.write(work)).await??)
    }
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Knowledge").field("database", &self.database).finish_non_exhaustive()
    }
}

/// Finds passages in one collection.
#[derive(Debug, Clone)]
pub struct CollectionRetriever {
    knowledge: Knowledge,
    name: String,
}

impl Retriever for CollectionRetriever {
    fn retrieve<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Passage>, Error>> {
        Box::pin(async move {
            let found = self.knowledge.search(&self.name, query, limit).await;
            Ok(found.map_err(Error::failed)?.passages)
        })
    }
}

fn check_name(name: &str) -> Result<(), KnowledgeError> {
    // It becomes part of a tool's name.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(KnowledgeError::Name { name: name.to_owned() }),
    }
}

fn real(path: &Path) -> Result<PathBuf, KnowledgeError> {
    path.canonicalize().map_err(|source| KnowledgeError::Unreadable { path: path.to_owned(), source })
}

type KnownCollection = (Vec<KnownDocument>, Vec<PathBuf>);

/// What is known of a collection: its documents and what was added.
fn known_of(name: String) -> impl FnOnce(&Connection) -> Result<Option<KnownCollection>, StorageError> {
    move |connection| match store::collection(connection, &name)? {
        Some(id) => Ok(Some((store::known(connection, id)?, store::roots(connection, id)?))),
        None => Ok(None),
    }
}

enum Looked {
    Unchanged,
    Changed { digest: String, bytes: u64, passages: Vec<NewPassage> },
    Unread(Unread),
}

/// Reads a file, unless it is as it was: `before` is its digest and who made its vectors, `embedder` who would.
fn look(
    path: &Path,
    before: Option<&(String, Option<String>)>,
    embedder: Option<&str>,
    pdf: &PdfReader,
) -> Looked {
    let bytes = match files::content(path) {
        Ok(bytes) => bytes,
        Err(unread) => return Looked::Unread(unread),
    };
    let digest = Digest::of_parts(&[READING, &bytes]).to_string();
    // Without an embedder, vectors that are there stay.
    let is_known = |(known, by): &(String, Option<String>)| {
        *known == digest && (embedder.is_none() || by.as_deref() == embedder)
    };
    if before.is_some_and(is_known) {
        return Looked::Unchanged;
    }
    match document::read(path, &bytes, pdf) {
        Ok(passages) => Looked::Changed { digest, bytes: bytes.len() as u64, passages },
        Err(reason) => Looked::Unread(Unread::Unfit(reason)),
    }
}

async fn vectors(
    embedder: &dyn Embedder,
    passages: &[NewPassage],
) -> Result<(String, Vec<PackedVector>), KnowledgeError> {
    let text = |passage: &NewPassage| match &passage.heading {
        Some(heading) => format!("{heading}\n{}", passage.text),
        None => passage.text.clone(),
    };
    let embedded = embedder.embed(passages.iter().map(text).collect(), EmbeddingPurpose::Document).await?;
    let packed = embedded.vectors.iter().map(|vector| PackedVector::of(vector)).collect();
    Ok((embedder.name().to_owned(), packed))
}
