//! One change, with what is to be known of it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, readlinkat, statat};

use super::super::judge::Candidate;
use super::super::kind_of;
use super::words::plain;
use crate::workspace::FileKind;

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// A path, with what happened to it.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) path: PathBuf,
    pub(super) change: Change,
    /// What is to be known of it, in a few words each.
    pub(super) details: Vec<String>,
    /// Changes beneath it, in lines of their own.
    pub(super) lines: Vec<String>,
    /// What is in it, if it is a file, and what was.
    pub(super) content: Option<Content>,
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Made,
    Changed,
    Removed,
}

/// What is in a file, and what was in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) before: Option<(u64, [u8; 32])>,
    pub(super) after: (u64, [u8; 32]),
}

impl Changed {
    pub(super) fn new(path: &Path, change: Change) -> Self {
        let path = path.to_owned();
        Self { path, change, details: Vec::new(), lines: Vec::new(), content: None }
    }

    /// A file or a link that comes out.
    pub(super) fn of(judged: &Candidate<'_>) -> Self {
        let stat = |folder: &OwnedFd| statat(folder, judged.name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let (before, after) = (judged.before.and_then(stat), stat(judged.folder));
        let change = if before.is_some() { Change::Changed } else { Change::Made };
        let mut changed = Self::new(judged.path, change);
        let was = before.as_ref().map(kind_of);
        if let Some(was) = was.filter(|was| *was != judged.kind) {
            changed.details.push(format!("was {}, is {}", was.name(), judged.kind.name()));
        }
        if judged.kind == FileKind::Link {
            let to = |folder: &OwnedFd| {
                let to = readlinkat(folder, judged.name, Vec::new()).ok()?;
                Some(plain(&to.to_string_lossy()))
            };
            let was = judged.before.and_then(to).map(|was| format!("→ {was}, now ")).unwrap_or_default();
            changed.details.push(format!("{was}→ {}", to(judged.folder).unwrap_or_default()));
            return changed;
        }
        let mode = |stat: &rustix::fs::Stat| stat.st_mode & 0o777;
        let was_file = was == Some(FileKind::File);
        match (before.as_ref().filter(|_| was_file).map(mode), after.as_ref().map(mode)) {
            (Some(was), Some(is)) if was != is => changed.details.push(format!("mode {was:o} → {is:o}")),
            (None, Some(is)) if is & 0o111 != 0 => changed.details.push(format!("mode {is:o}")),
            _ => {}
        }
        let before = judged.before.filter(|_| was_file).and_then(|folder| sum(folder, judged));
        changed.content = sum(judged.folder, judged).map(|after| Content { before, after });
        if changed.content.is_none() {
            changed.details.push("it cannot be read".to_owned());
        }
        if changed.content.is_some_and(|content| content.before == Some(content.after)) {
            changed.details.push("the same content".to_owned());
        }
        changed
    }

    pub(super) fn saying(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    pub(super) fn depth_and_path(&self) -> (usize, &Path) {
        (self.path.components().count(), &self.path)
    }
}

/// The size of a file, and what its content is known by.
fn sum(folder: &OwnedFd, judged: &Candidate<'_>) -> Option<(u64, [u8; 32])> {
    let mut file = File::from(openat(folder, judged.name, FILE, Mode::empty()).ok()?);
    let mut hash = blake3::Hasher::new();
    let size = std::io::copy(&mut file, &mut hash).ok()?;
    Some((size, *hash.finalize().as_bytes()))
}
