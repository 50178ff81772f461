//! The files below what was added, and why some of them are left out.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use convoke_tools::workspace::{Protected, Protection};
use ignore::WalkBuilder;

use crate::KnowledgeError;
use crate::document::LARGEST;

/// The most files that are looked at in one go.
const MOST_FILES: usize = 50_000;

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl LeftOut {
    pub(crate) fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

/// The regular files at and below these paths, in order, and what is left out there: what git ignores and what is hidden is not even
/// mentioned.
pub(crate) fn found(roots: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<LeftOut>), KnowledgeError> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    let protected = Protected::defaults();
    for root in roots {
        let walk = WalkBuilder::new(root).require_git(false).sort_by_file_path(Ord::cmp).build();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    left_out.push(LeftOut::new(root, error.to_string()));
                    continue;
                }
            };
            // Links are not followed: they may lead anywhere.
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let path = entry.into_path();
            let inside = path.strip_prefix("/").unwrap_or(&path);
            match protected.of(inside) {
                Some(Protection::Secret) => {
                    left_out.push(LeftOut::new(&path, "it looks like configuration, credentials or a key"));
                }
                _ => files.push(path),
            }
            if files.len() > MOST_FILES {
                return Err(KnowledgeError::TooMuch(format!(
                    "there are more than {MOST_FILES} files: name folders with fewer"
                )));
            }
        }
    }
    files.sort();
    files.dedup();
    Ok((files, left_out))
}

/// What is in a file, or why it is not read.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, String> {
    let read = || -> io::Result<Result<Vec<u8>, String>> {
        let file = opened(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Err("it is no regular file".to_owned()));
        }
        let too_large = || Ok(Err(format!("it is larger than {} MiB", LARGEST >> 20)));
        if metadata.len() > LARGEST {
            return too_large();
        }
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST { too_large() } else { Ok(Ok(bytes)) }
    };
    read().unwrap_or_else(|error| Err(format!("it cannot be read: {error}")))
}

/// Opens a file for reading, without waiting for anybody to write to it.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NO_LINK_NO_WAIT);
    options.open(path)
}

#[cfg(unix)]
const NO_LINK_NO_WAIT: i32 =
    (rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits()).cast_signed();
