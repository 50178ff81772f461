//! Checks whether a file exists, and counts it as existing in doubt.
//!
//! A file that says what is allowed must not count as missing because it cannot be looked at: then less would be forbidden
//! than somebody wrote. So only a name that nobody has given is none, and whatever else stands there is read, or is an error.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Returns whether something has this name, even if it is a link that leads nowhere, or cannot be looked at.
#[must_use]
pub fn may_exist(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) if is_absent(&error) => path.parent().is_some_and(is_out_of_sight),
        Err(_) => true,
    }
}

/// Whether a folder, or one above it, is a link that cannot be followed: nobody knows what is in it.
fn is_out_of_sight(folder: &Path) -> bool {
    match folder.symlink_metadata() {
        Ok(metadata) => metadata.is_symlink() && folder.metadata().is_err(),
        Err(error) if is_absent(&error) => folder.parent().is_some_and(is_out_of_sight),
        Err(_) => true,
    }
}

/// Whether there is no such name. Below a file there are none, as below `/dev/null`, which is the home of some users.
fn is_absent(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
