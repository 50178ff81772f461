//! Errors of cassette files.

use std::io;
use std::path::PathBuf;

/// Errors of cassettes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("cannot read cassette `{}`: {source}. Record it first with `Cassette::record`, or check the path", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write cassette `{}`: {source}. Check that its folder can be written to", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not a cassette.
    #[error("`{}` is not a cassette: {message}. Correct it, or delete it and record anew", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the line or the exchange.
        message: String,
    },
    /// The file was written by a newer version.
    #[error(
        "cassette `{}` has version {found}, and this program reads up to {known}. Update it, or delete the file and record \
         anew", file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u64,
        /// The newest version that can be read.
        known: u64,
    },
}
