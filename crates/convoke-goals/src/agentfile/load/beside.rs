//! The files beside a file that another one names.

use thiserror::Error;

use super::{LoadError, Loader, PathContent, folder_of, join, normal};

/// Files of different kinds in each other: not deeper than this.
const DEEPEST: usize = 8;

/// Why a file cannot be part of those that led to it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NestingError {
    /// Files lead back to each other.
    #[error("these files would run each other without end: {}", .files.join(" → "))]
    Circle {
        /// Which, as the outermost would name them: the first is the last too.
        files: Vec<String>,
    },
    /// Too many stand in each other.
    #[error("`{path}` is one file too many in others: {DEEPEST} are the most")]
    TooDeep {
        /// The first that is too much.
        path: String,
    },
}

/// The loader of a file that another one names: paths are relative to its own folder.
pub struct BesideLoader<'l> {
    loader: &'l dyn Loader,
    folder: String,
    chain: Vec<String>,
    /// Whether it is in a package, and may see nothing else.
    is_packed: bool,
}

impl<'l> BesideLoader<'l> {
    /// For the file at a path that `loader` knows.
    ///
    /// # Errors
    /// If files name each other in a circle, or too many stand in each other.
    pub fn new(loader: &'l dyn Loader, path: &str) -> Result<Self, NestingError> {
        let folder = folder_of(path).to_owned();
        let mut chain = loader.chain().to_vec();
        // As the outermost file would name it, so that the same file is known again.
        let path = normal(&join(chain.last().map_or("", |outer| folder_of(outer)), path));
        if let Some(begins) = chain.iter().position(|before| *before == path) {
            chain.push(path);
            return Err(NestingError::Circle { files: chain.split_off(begins) });
        }
        if chain.len() >= DEEPEST {
            return Err(NestingError::TooDeep { path });
        }
        chain.push(path);
        Ok(Self { loader, folder, chain, is_packed: false })
    }

    /// The same, for a file of a package: it sees nothing else.
    pub(crate) fn packed(self, is_packed: bool) -> Self {
        Self { is_packed, ..self }
    }

    fn path(&self, path: &str) -> Result<String, LoadError> {
        if self.is_packed && path.starts_with('/') {
            return Err(LoadError::Outside { path: path.to_owned() });
        }
        Ok(join(&self.folder, path))
    }
}

impl Loader for BesideLoader<'_> {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        self.loader.find(&self.path(path)?)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        self.loader.names(&self.path(folder)?)
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        self.loader.folders(&self.path(folder)?)
    }

    fn skill(&self, name: &str) -> Option<String> {
        if self.is_packed { None } else { self.loader.skill(name) }
    }

    fn skill_names(&self) -> Vec<String> {
        if self.is_packed { Vec::new() } else { self.loader.skill_names() }
    }

    fn chain(&self) -> &[String] {
        &self.chain
    }
}
