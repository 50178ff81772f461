//! Taking documents in: what is new or has changed is read, what is gone is removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use convoke_core::{Digest, Embedder, EmbeddingPurpose, Timestamp};
use convoke_sqlite::{PackedVector, StorageError};
use rusqlite::{Connection, Transaction};
use serde::Serialize;

use crate::chunk::NewPassage;
use crate::document::{self, READING};
use crate::files::{self, FoundFiles, LeftOut, Unread};
use crate::pdf::PdfReader;
use crate::store::{self, KnownDocument, NewDocument};
use crate::{Knowledge, KnowledgeError};

/// The longest name, in letters.
const LONGEST_NAME: usize = 40;

/// The results of adding files.
#[derive(Debug, Default, Serialize)]
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

impl Knowledge {
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
        let roots = if named.is_empty() { earlier } else { with_those_below(named, earlier) };
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
                added.left_out.push(LeftOut::new(&path, "its name is not text in UTF-8"));
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
}

/// What was named, and what was added by its own path below that: it is looked at too as long as it is there, whatever leaves it out of
/// its folder.
fn with_those_below(named: Vec<PathBuf>, earlier: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_gone = |path: &Path| {
        path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let is_below = |path: &Path| named.iter().any(|one| path != one && path.starts_with(one));
    let below: Vec<_> = earlier.into_iter().filter(|path| is_below(path) && !is_gone(path)).collect();
    named.into_iter().chain(below).collect()
}

fn check_name(name: &str) -> Result<(), KnowledgeError> {
    // It becomes part of a tool's name.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(KnowledgeError::Name { name: name.to_owned() }),
    }
}

pub(crate) fn real(path: &Path) -> Result<PathBuf, KnowledgeError> {
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
