//! Checks a GGUF file before the engine sees it.
//!
//! The engine says little about a file it does not like. What can be known beforehand is found out here.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use llama_cpp_2::gguf::GgufContext;

use crate::LocalError;

/// Checks that this is a GGUF file with a sound beginning.
pub(super) fn check(path: &Path) -> Result<(), LocalError> {
    let unreadable = |source| LocalError::Unreadable { path: path.to_owned(), source };
    let mut magic = [0; 4];
    let mut file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    match file.read_exact(&mut magic) {
        Ok(()) if &magic == b"GGUF" => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(unreadable(error)),
        _ => return Err(LocalError::NotGguf { path: path.to_owned() }),
    }
    match GgufContext::from_file(path) {
        Some(header) if header.n_tensors() > 0 => Ok(()),
        Some(_) => Err(refused(path, "it has no weights")),
        None => Err(refused(path, "its description of itself is damaged")),
    }
}

pub(super) fn refused(path: &Path, reason: impl Into<String>) -> LocalError {
    LocalError::Refused { path: path.to_owned(), reason: reason.into() }
}

/// What a model is called by default: the file's name, in small letters and without its ending.
pub(super) fn name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    stem.replace(char::is_whitespace, "-")
}
