//! Reads files from disks and pipes.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_goals::agentfile::load::{FileLoader, Loader, NoFiles};
use convoke_package::{PackageLoader, TrustStore};

/// Larger files are not read: nobody wrote them.
pub const LARGEST_FILE: u64 = 32 * 1024 * 1024;

/// An error in reading a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not there.
    #[error("there is no file {name}")]
    Missing {
        /// What it is called.
        name: String,
        /// Where it would be.
        path: PathBuf,
    },
    /// It is a folder.
    #[error("{name} is a folder")]
    Folder {
        /// What it is called.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// It is a pipe, which may wait for ever.
    #[error("{name} is a pipe, not a file")]
    Pipe {
        /// What it is called.
        name: String,
    },
    /// It is too large.
    #[error("{name} is larger than {} MiB", LARGEST_FILE >> 20)]
    TooLarge {
        /// What it is called.
        name: String,
    },
    /// It cannot be read.
    #[error("{name} cannot be read: {source}")]
    Unreadable {
        /// What it is called.
        name: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Checks whether a path means standard input.
#[must_use]
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file, or standard input if it is called `-`: what to call it, and its bytes.
///
/// # Errors
/// If it cannot be read, or is no file.
pub fn bytes_of(path: &Path) -> Result<(String, Vec<u8>), FileError> {
    let name = if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() };
    if is_named_pipe(path) {
        return Err(FileError::Pipe { name });
    }
    let mut bytes = Vec::new();
    let reading = if is_standard_input(path) {
        std::io::stdin().take(LARGEST_FILE + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
    };
    match reading {
        Err(error) => Err(match error.kind() {
            ErrorKind::NotFound => FileError::Missing { name, path: path.to_owned() },
            ErrorKind::IsADirectory => FileError::Folder { name, path: path.to_owned() },
            _ => FileError::Unreadable { name, source: error },
        }),
        Ok(_) if bytes.len() as u64 > LARGEST_FILE => Err(FileError::TooLarge { name }),
        Ok(_) => Ok((name, bytes)),
    }
}

/// The text of a file; with what is wrong with it, if it is none.
#[must_use]
pub fn read_source(name: String, bytes: Vec<u8>) -> (Source, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let source = Source::from_bytes(name, bytes).unwrap_or_else(|error| {
        let (source, diagnostic) = *error;
        diagnostics.error(|| diagnostic);
        source
    });
    (source, diagnostics)
}

/// Whether this is a pipe that has a name. Opening it would wait until somebody writes into it, perhaps for ever. Those that a
/// shell gives this process, as for `<(…)`, are written to already.
#[cfg(unix)]
fn is_named_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    let is_the_shells = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
    !is_the_shells && path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_named_pipe(_: &Path) -> bool {
    false
}

/// The files beside a file, packages among them. A text from a pipe has this folder beside it, if there is one.
pub(crate) fn beside(path: &Path, skills: &[PathBuf], trust: TrustStore) -> Box<dyn Loader> {
    let files = if is_standard_input(path) { FileLoader::new(".") } else { FileLoader::beside(path) };
    let Ok(files) = files else { return Box::new(NoFiles) };
    let files = skills.iter().fold(files, |files, folder| files.with_skills(folder));
    Box::new(PackageLoader::new(files, trust))
}
