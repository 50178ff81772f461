//! Errors of file access.

use std::io;
use std::path::{Path, PathBuf};

use super::{Protection, shown};

/// Errors of reading or changing something in the workspace. Every message says what to do instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads out of the workspace.
    #[error("denied: `{path}` leads out of the workspace ({how}); use a path inside it, relative to its top")]
    Outside {
        /// The path as it was asked for.
        path: String,
        /// What leads out.
        how: String,
    },
    /// No tool may do this to this file.
    #[error("denied: `{}` is protected ({protection}); no tool may {action} it", shown(.path))]
    Protected {
        /// The file reached.
        path: PathBuf,
        /// What was to be done.
        action: &'static str,
        /// How far it is protected.
        protection: Protection,
    },
    /// There is something protected inside.
    #[error(
        "denied: `{}` has `{}` in it, which is protected; no tool may {action} it. Name the other files one by one",
        shown(.path), shown(.inside)
    )]
    ProtectedInside {
        /// The folder.
        path: PathBuf,
        /// What is inside.
        inside: PathBuf,
        /// What was to be done.
        action: &'static str,
    },
    /// The file has other names, and it is not known that all of them may be touched.
    #[error("denied: `{}` has {links} hard links, {why}; copy it (or have a person do so) and use the copy", shown(.path))]
    HardLinks {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
        /// Why that matters.
        why: &'static str,
    },
    /// There is nothing of that name.
    #[error("`{}` does not exist; list the folder to see what does", shown(.path))]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// There is something of that name already.
    #[error("`{}` exists already; choose another name, or say that it may be replaced", shown(.path))]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// It is something else than was asked for.
    #[error("`{}` is {is}, not {wanted}", shown(.path))]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it is.
        is: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// It is not text.
    #[error("`{}` is not text: {kind}, {bytes} bytes; it cannot be shown", shown(.path))]
    Binary {
        /// The path.
        path: PathBuf,
        /// What it seems to be.
        kind: &'static str,
        /// How long it is.
        bytes: u64,
    },
    /// It is too long.
    #[error("`{}` has {bytes} bytes, more than the {limit} that a tool may {action}", shown(.path))]
    TooLong {
        /// The path.
        path: PathBuf,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        limit: u64,
        /// What was to be done.
        action: &'static str,
    },
    /// It is more than a step is given, which is given all of what it asks for.
    #[error(
        "what is to be read of `{}`, which has {bytes} bytes, is more than the {limit} that a step is given: read fewer lines of it, or \
         have a command take what is needed from it",
        shown(.path)
    )]
    BeyondStep {
        /// The path.
        path: PathBuf,
        /// How long the file is.
        bytes: u64,
        /// How much a step is given.
        limit: u64,
    },
    /// It was changed under our hands, again and again.
    #[error("denied: `{path}` changes while it is being looked up; try again when nothing else works on it")]
    Unsteady {
        /// The path as it was asked for.
        path: String,
    },
    /// What was asked for makes no sense for what is there.
    #[error("{0}")]
    Unfit(String),
    /// Nobody waits for the result any more.
    #[error("given up: nobody waits for this any more")]
    GivenUp,
    /// The system refused.
    #[error("cannot {action} `{}`: {source}", shown(.path))]
    Io {
        /// What was to be done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FileError {
    pub(crate) fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { action, path: path.to_owned(), source: source.into() }
    }
}
