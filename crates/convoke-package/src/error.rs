//! Errors of packages and keys.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::trust::Verification;

/// Errors of making, reading and installing packages.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The bytes are not a package.
    #[error("this is not a package: {reason}")]
    NotAPackage {
        /// What is wrong.
        reason: String,
    },
    /// A part is missing.
    #[error("the package has no {part}")]
    Missing {
        /// Which.
        part: &'static str,
    },
    /// What the package says about itself makes no sense.
    #[error("the package's manifest.json is not valid: {reason}")]
    Manifest {
        /// What is wrong.
        reason: String,
    },
    /// The version it is to have cannot be one.
    #[error("the version {version:?} cannot be used: {reason}")]
    Version {
        /// The version.
        version: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Its files cannot be unpacked.
    #[error("the package's content is damaged: {reason}")]
    Content {
        /// What is wrong.
        reason: String,
    },
    /// It has a file where a package may have none.
    #[error("invalid path in the package: `{path}`: {reason}")]
    Path {
        /// The path.
        path: String,
        /// Why not there.
        reason: &'static str,
    },
    /// It is too large.
    #[error("the package is too large: {what}")]
    TooLarge {
        /// What there is too much of, and how much there may be.
        what: String,
    },
    /// The folder cannot be packed.
    #[error("{} cannot be packed: {reason}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder's Agentfile has errors, or needs what is not in the folder.
    #[error("the Agentfile cannot be packed: {}", problems.join("; "))]
    Agentfile {
        /// Each with its line.
        problems: Vec<String>,
    },
    /// It may not be installed.
    #[error("{}", refusal(verification))]
    Refused {
        /// Why.
        verification: Verification,
    },
    /// This version is there already.
    #[error("{} is there already", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// It would be installed through a link.
    #[error("{} is a link, and packages are not installed through links: name the folder that is meant", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{} cannot be {doing}: {source}", path.display())]
    Files {
        /// What was attempted: "read", "written".
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl PackageError {
    pub(crate) fn files(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Files { doing, path, source }
    }
}

pub(crate) fn refusal(verification: &Verification) -> String {
    match verification {
        Verification::Unsigned => "the package is not signed".to_owned(),
        Verification::UnknownKey { fingerprint: Some(fingerprint) } => {
            format!("the package says it is signed with the key {fingerprint}, which is not trusted here")
        }
        Verification::UnknownKey { fingerprint: None } => {
            "the package is signed with a key that is not trusted here".to_owned()
        }
        Verification::Invalid { reason } => format!("signature verification failed: {reason}"),
        Verification::Verified { .. } => "the package is verified".to_owned(),
    }
}

/// Errors of keys. They never show what is in one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file is not a key of this kind.
    #[error("{} is not {expected}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Others may read a private key.
    #[error("others may read the private key {}: its mode is {mode:o}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A file is there already; keys are never overwritten.
    #[error("{} is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system has no randomness.
    #[error("the system has no random numbers: {0}")]
    Random(String),
    /// A name that cannot be the name of a file.
    #[error("a key cannot be called `{name}`: use letters, digits, `-`, `_` and `.`")]
    Name {
        /// The name.
        name: String,
    },
    /// The system refuses.
    #[error("{} cannot be {doing}: {source}", path.display())]
    Files {
        /// What was attempted.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
