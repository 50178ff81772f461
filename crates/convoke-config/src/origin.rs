//! The origin of a value: file, environment variable or flag.

use std::fmt;
use std::path::{Path, PathBuf};

/// The scope of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileScope {
    /// The user's own, or one that the user named.
    User,
    /// The folder's: it may have come with somebody else's project.
    Folder,
}

/// The origin of a value, in order of precedence: later variants override earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The file's scope.
        scope: FileScope,
    },
    /// An environment variable.
    Variable(String),
    /// The command line.
    Flag(String),
    /// Several of these, all of which count; the first takes precedence.
    Several(Vec<Self>),
}

impl Origin {
    /// The file in the working folder that says so, if one does.
    #[must_use]
    pub fn folder_file(&self) -> Option<&Path> {
        match self {
            Self::File { path, scope: FileScope::Folder, .. } => Some(path),
            _ => None,
        }
    }

    /// This one, then the other.
    pub(crate) fn and(self, other: Self) -> Self {
        let parts = |origin| match origin {
            Self::Several(all) => all,
            one => vec![one],
        };
        Self::Several(parts(self).into_iter().chain(parts(other)).collect())
    }

    /// Returns whether a file says so.
    #[must_use]
    pub fn is_file(&self) -> bool {
        match self {
            Self::File { .. } => true,
            Self::Several(all) => all.iter().any(Self::is_file),
            _ => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(formatter, "default"),
            Self::File { path, line, .. } => write!(formatter, "{}:{line}", path.display()),
            Self::Variable(name) => write!(formatter, "{name}"),
            Self::Flag(name) => write!(formatter, "{name}"),
            Self::Several(all) => {
                let all: Vec<_> = all.iter().map(ToString::to_string).collect();
                write!(formatter, "{}", all.join(", "))
            }
        }
    }
}
