//! Loaders of what `FROM` names: files, skills, other Agentfiles.
//!
//! A [`Loader`] only says what is at a path. What may be where, and what it means, is decided by
//! [`check`](super::check()), so that all loaders behave alike.

mod beside;
mod files;
mod memory;
mod skill;

pub use beside::{BesideLoader, NestingError};
pub use files::FileLoader;
pub use memory::{MemoryLoader, NoFiles};
pub use skill::{Skill, SkillError};

use thiserror::Error;

/// A loader of the files that an Agentfile names.
///
/// Paths are those of the Agentfile: relative to its folder, with `/` between their parts. Only those that
/// [`skill`](Loader::skill) gives are the loader's own.
pub trait Loader {
    /// What is at a path.
    ///
    /// # Errors
    /// If something is there that cannot or may not be read.
    fn find(&self, path: &str) -> Result<PathContent, LoadError>;

    /// The names of the files in a folder, in alphabetical order. None if there is no such folder.
    ///
    /// # Errors
    /// If the folder cannot or may not be read.
    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError>;

    /// The names of the folders in a folder, in alphabetical order. None if there is no such folder.
    ///
    /// # Errors
    /// If the folder cannot or may not be read.
    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let _ = folder;
        Ok(Vec::new())
    }

    /// The folder of a skill that is known by its name, wherever skills are kept.
    fn skill(&self, name: &str) -> Option<String>;

    /// The names of the skills that are known so, for whoever has misspelt one.
    fn skill_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The files that name the one it loads for, outermost first, that one included. Empty for the file that everything begins
    /// with.
    fn chain(&self) -> &[String] {
        &[]
    }
}

/// The content at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathContent {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file of text.
    Text(String),
    /// A file of anything else.
    Binary,
}

/// Errors of loaders.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It lies outside of the folder of the file, perhaps through a link.
    #[error("`{path}` is not in the folder of the file")]
    Outside {
        /// The path.
        path: String,
    },
    /// It is too large to be a text for a model.
    #[error("`{path}` is larger than {limit} bytes")]
    TooLarge {
        /// The path.
        path: String,
        /// How large it may be.
        limit: u64,
    },
    /// The system refuses.
    #[error("`{path}` cannot be read: {reason}")]
    Failed {
        /// The path.
        path: String,
        /// What the system says.
        reason: String,
    },
}

/// A path without `.` and `..`, as far as that can be said without looking: `a/./b/../c` is `a/c`.
pub(crate) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// A path as seen from a folder.
pub(crate) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") }
}

/// The folder a path is in.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
