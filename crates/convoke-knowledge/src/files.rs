//! The files below what was added, and why some of them are left out.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use convoke_tools::workspace::{Protected, Protection};
use ignore::WalkBuilder;
use serde::Serialize;

use crate::KnowledgeError;
use crate::document::LARGEST;

/// The most files that are looked at in one go.
const MOST_FILES: usize = 50_000;

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// The files below what was added.
#[derive(Default)]
pub(crate) struct FoundFiles {
    /// Regular files, in order.
    pub(crate) files: Vec<PathBuf>,
    /// What is left out, and why. What git ignores and what is hidden is not even mentioned.
    pub(crate) left_out: Vec<LeftOut>,
    /// Where nobody could look: what is there now is not known.
    pub(crate) unseen: Vec<PathBuf>,
}

/// Looks for files at and below these paths.
pub(crate) fn found(roots: &[PathBuf]) -> Result<FoundFiles, KnowledgeError> {
    let FoundFiles { mut files, mut left_out, mut unseen } = FoundFiles::default();
    let protected = Protected::defaults();
    for root in roots {
        let walk = WalkBuilder::new(root).require_git(false).sort_by_file_path(Ord::cmp).build();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let place = place_of(&error).unwrap_or(root);
                    // The error itself repeats the path, twice.
                    let reason = match error.io_error().map(io::Error::kind) {
                        Some(io::ErrorKind::NotFound) => "it is not there any more".to_owned(),
                        Some(kind) => format!("it cannot be read: {kind}"),
                        None => error.to_string(),
                    };
                    if error.io_error().is_none_or(|error| error.kind() != io::ErrorKind::NotFound) {
                        unseen.push(place.to_owned());
                    }
                    left_out.push(LeftOut::new(place, reason));
                    continue;
                }
            };
            // Links are not followed: they may lead anywhere.
            let kind = entry.file_type();
            if !kind.is_some_and(|kind| kind.is_file()) {
                if entry.depth() == 0 && !kind.is_some_and(|kind| kind.is_dir()) {
                    left_out.push(LeftOut::new(root, IRREGULAR));
                }
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
    // What was named may be within something else that was.
    left_out.sort_by(|one, other| one.path.cmp(&other.path));
    left_out.dedup();
    Ok(FoundFiles { files, left_out, unseen })
}

const IRREGULAR: &str = "it is neither a file nor a folder";

/// Where looking failed.
fn place_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place_of(err),
        _ => None,
    }
}

/// Why there is nothing of a file.
pub(crate) enum Unread {
    /// It is not there any more.
    Gone,
    /// It cannot be read at the moment.
    Unreadable(String),
    /// It is nothing that is read here.
    Unfit(String),
}

/// What is in a file, or why it is not read.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, Unread> {
    let file = opened(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Unread::Unfit(IRREGULAR.to_owned()));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= LARGEST {
        // It may grow while it is read.
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    }
    match metadata.len().max(bytes.len() as u64) > LARGEST {
        true => Err(Unread::Unfit(format!("it is larger than {} MiB: part it", LARGEST >> 20))),
        false => Ok(bytes),
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Gone,
            _ => Self::Unreadable(format!("it cannot be read: {error}")),
        }
    }
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
