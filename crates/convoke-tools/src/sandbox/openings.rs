//! Decides which paths outside of the workspace may be opened to commands, for reading.
//!
//! What is asked for is looked at where it really is, behind all links. It must never open the files that the program itself
//! goes by, a home as a whole, or a place where credentials are.

use std::path::{Path, PathBuf};

use super::protected_paths::ProtectedPaths;
use crate::workspace::{Protected, Protection, Workspace, with_real};

/// What the kernel and other programs show of themselves there is not files.
const NO_FILES: &[&str] = &["/proc", "/sys", "/dev", "/run"];

/// Decides what may be opened beside a workspace.
#[derive(Debug, Clone)]
pub struct Openings {
    workspace: Workspace,
    /// What is protected, by paths from the root.
    protected: Protected,
    home: Option<PathBuf>,
    own: Vec<PathBuf>,
}

/// Errors of opening a path to commands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpeningError {
    /// There is nothing there.
    #[error("it is not there")]
    Missing,
    /// It is open already.
    #[error("it is in the workspace, where commands can read already")]
    InWorkspace,
    /// What is in it cannot be found out, and so not whether there are secrets.
    #[error("it cannot be looked through: {why}")]
    Unknown {
        /// What stood in the way.
        why: String,
    },
    /// There is too much in it.
    #[error("that would open {what}; name the folders that commands need")]
    TooMuch {
        /// What that is.
        what: &'static str,
    },
    /// There are no files there.
    #[error("processes, devices and sockets are there, which no command may get at")]
    NoFiles,
    /// It is the program's own.
    #[error("{} is there, which Convoke itself uses; commands must not get at that", .file.display())]
    Own {
        /// The file or folder.
        file: PathBuf,
    },
    /// Credentials are there.
    #[error("by its name it is protected: {}", Protection::Secret)]
    Secret,
}

impl Openings {
    /// Beside this workspace, for a user with this home. `own` are files and folders that the program itself uses.
    ///
    /// # Errors
    /// If the machine's top folder cannot be opened.
    pub fn new(
        workspace: &Workspace,
        home: Option<&Path>,
        own: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self, crate::workspace::FileError> {
        let machine = Workspace::open_with("/", workspace.protected().clone())?;
        Ok(Self {
            workspace: workspace.clone(),
            protected: machine.protected().clone(),
            // Whoever has the whole machine for a home, as services do, has none.
            home: home.filter(|home| home.is_absolute()).map(real).filter(|home| home.parent().is_some()),
            own: own.into_iter().flat_map(with_real).map(|path| real(&path)).collect(),
        })
    }

    /// Where the home really is.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the real path of a folder, if commands may read what is in it but for secrets.
    ///
    /// # Errors
    /// If it must not be opened, or nobody can say what is in it.
    pub fn folder(&self, path: &Path) -> Result<PathBuf, OpeningError> {
        let real = self.place(path)?;
        if real.is_dir() {
            let looked = Workspace::open_with(&real, self.workspace.protected().clone());
            let looked = looked.and_then(|folder| ProtectedPaths::beyond(&folder));
            looked.map_err(|error| OpeningError::Unknown { why: error.to_string() })?;
        }
        Ok(real)
    }

    /// Where something really is, if it may be opened as far as its place says.
    pub(super) fn place(&self, path: &Path) -> Result<PathBuf, OpeningError> {
        let real = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => OpeningError::Missing,
            _ => OpeningError::Unknown { why: error.to_string() },
        })?;
        let top = self.workspace.path();
        if real.starts_with(top) {
            return Err(OpeningError::InWorkspace);
        }
        if NO_FILES.iter().any(|place| real.starts_with(place)) {
            return Err(OpeningError::NoFiles);
        }
        let temporary = self::real(&std::env::temp_dir());
        let within = [
            (self.home.as_deref(), "the whole home"),
            (Some(top), "everything around the workspace"),
            (Some(&*temporary), "everybody's temporary files"),
        ];
        for (place, what) in within {
            if place.is_some_and(|place| place.starts_with(&real)) {
                return Err(OpeningError::TooMuch { what });
            }
        }
        // What the program uses inside of its own folders is its own too.
        let is_own = |own: &&PathBuf| own.starts_with(&real) || real.starts_with(own);
        if let Some(file) = self.own.iter().find(is_own) {
            return Err(OpeningError::Own { file: file.clone() });
        }
        let from_root = real.strip_prefix("/").unwrap_or(&real);
        match self.protected.of(from_root) {
            Some(Protection::Secret) => Err(OpeningError::Secret),
            _ => Ok(real),
        }
    }
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => path.strip_prefix(above).map(|rest| real.join(rest)).unwrap_or(path),
        None => path,
    }
}
