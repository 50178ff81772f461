//! Reads files that a configuration or a command line names.
//!
//! **What it must never do.** Wait for ever: what is named may be a device without an end, or a pipe that nobody writes into.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use convoke_text::read_bounded;

/// The text of a file of at most so many bytes.
///
/// # Errors
/// If it is a pipe, cannot be read, has more than that, or is not text.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<String> {
    // Opening a pipe would wait until somebody writes into it.
    if is_pipe(path)? {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe, not a file"));
    }
    read_bounded(File::open(path)?, most)
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::FileTypeExt;
    Ok(path.metadata()?.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> io::Result<bool> {
    Ok(false)
}
