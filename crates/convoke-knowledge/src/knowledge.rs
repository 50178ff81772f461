//! Collections of documents: listed, searched, removed. Adding to them is in `adding`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::{BoxFuture, EmbeddingPurpose, Error, Passage, Retriever};
use convoke_sqlite::{Database, PackedVector, StorageError};
use convoke_tools::embedding::LazyEmbedder;
use rusqlite::{Connection, Transaction};

use crate::KnowledgeError;
use crate::adding::real;
use crate::pdf::PdfReader;
use crate::search::{FoundPassages, VectorCache, search};
use crate::store::{self, Collection, LAYOUT, StoredDocument};
use crate::tool::only;

/// The most passages that are found at once.
const MOST_FOUND: usize = 50;

/// The longest query, in bytes: what is beyond is not looked for.
const LONGEST_QUERY: usize = 4_000;

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
    pub(crate) pdf: PdfReader,
    pub(crate) embedder: LazyEmbedder,
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
        let whole = whole(path);
        let below = whole.clone();
        let removed =
            self.write(move |transaction| store::remove_below(transaction, collection, &below)).await?;
        match removed {
            0 => Err(KnowledgeError::NoDocument { name: name.to_owned(), path: whole }),
            removed => Ok(removed),
        }
    }

    /// Returns whether a path is in a folder that was added: what is removed of it is taken in again by whoever looks again.
    ///
    /// # Errors
    /// If there is no such collection, or the database fails.
    pub async fn is_within_added(&self, name: &str, path: &Path) -> Result<bool, KnowledgeError> {
        let (collection, whole) = (self.id(name).await?, whole(path));
        let roots = self.read(move |connection| store::roots(connection, collection)).await?;
        Ok(roots.iter().any(|root| whole.starts_with(root)))
    }

    /// Checks that there is a collection, or, without a name, that there is one and no other. Blocks for a moment.
    ///
    /// # Errors
    /// If there is none or several, or the database fails.
    pub fn check(&self, name: Option<&str>) -> Result<(), KnowledgeError> {
        let others = match self.file.try_exists() {
            Ok(false) => Vec::new(),
            _ => self.database.read(store::names)?,
        };
        let is_there = name.map_or(!others.is_empty(), |name| others.iter().any(|other| other == name));
        match is_there {
            true if name.is_none() && others.len() > 1 => Err(KnowledgeError::Several { names: others }),
            true => Ok(()),
            false => Err(KnowledgeError::Missing { name: name.unwrap_or_default().to_owned(), others }),
        }
    }

    /// Returns what finds passages in this one collection, or in the only one there is.
    #[must_use]
    pub fn retriever(&self, name: Option<&str>) -> CollectionRetriever {
        CollectionRetriever { knowledge: self.clone(), name: name.map(str::to_owned) }
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
    pub(crate) async fn read<T: Default + Send + 'static>(
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

    pub(crate) async fn write<T: Send + 'static>(
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
    name: Option<String>,
}

impl Retriever for CollectionRetriever {
    fn retrieve<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Passage>, Error>> {
        Box::pin(async move {
            let name = match &self.name {
                Some(name) => name.clone(),
                None => only(&self.knowledge).await?,
            };
            let found = self.knowledge.search(&name, query, limit).await;
            Ok(found.map_err(Error::failed)?.passages)
        })
    }
}

/// The whole path. What is gone has no real one any more.
fn whole(path: &Path) -> PathBuf {
    real(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}
