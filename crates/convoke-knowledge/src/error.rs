//! Errors of taking documents in and finding them again.

use std::path::PathBuf;

use convoke_sqlite::StorageError;

/// An error of taking documents in or finding them again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnowledgeError {
    /// The name is no name.
    #[error("{name:?} is not a name for knowledge: use up to 40 letters from a to z, digits, `-` and `_`")]
    Name {
        /// The name.
        name: String,
    },
    /// There is no such collection.
    #[error("there is no knowledge named `{name}`{}", among(others))]
    Missing {
        /// The name.
        name: String,
        /// The names there are.
        others: Vec<String>,
    },
    /// None was named, and there are several.
    #[error("say which knowledge: there is {}", names.join(", "))]
    Several {
        /// The names there are.
        names: Vec<String>,
    },
    /// There is no such document in the collection.
    #[error("there is nothing of {} in `{name}`", path.display())]
    NoDocument {
        /// The collection.
        name: String,
        /// The file or folder.
        path: PathBuf,
    },
    /// Nothing was added yet that could be read again.
    #[error("there is no knowledge named `{name}` yet: name the files and folders that it is to have")]
    Nothing {
        /// The collection.
        name: String,
    },
    /// A file or folder that was named cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There are too many files, or too much in them.
    #[error("{0}")]
    TooMuch(String),
    /// Texts could not be turned into vectors.
    #[error("the texts could not be embedded: {0}")]
    Embedding(#[from] convoke_core::ModelError),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// What compares meanings could not be opened.
    #[error(transparent)]
    Embedder(#[from] convoke_core::Error),
    /// The work was given up, because the program ends.
    #[error("the work was not finished: {0}")]
    Unfinished(#[from] tokio::task::JoinError),
}

fn among(others: &[String]) -> String {
    match others {
        [] => ": there is none yet".to_owned(),
        others => format!("; there is {}", others.join(", ")),
    }
}
