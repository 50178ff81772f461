//! Contents of protected files of the workspace, so that no copy of one comes out under another name.
//!
//! A secret that somebody puts there, or moves, while a command runs is not hidden from it. What it has read it can still write
//! in another form: this keeps plain copies from lying about, and no more.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::workspace::FileKind;

/// Files that are shorter are no secrets, and many are alike.
const SHORTEST: u64 = 8;
/// Longer ones are not compared.
const LONGEST: u64 = 1 << 20;
/// The most that are.
const MOST: usize = 4_096;

/// Protected files, by how long they are.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    files: HashMap<u64, BTreeSet<PathBuf>>,
}

impl Secrets {
    /// Those of a workspace, by their paths in it.
    pub(crate) fn of<'a>(top: &Path, hidden: impl Iterator<Item = &'a (PathBuf, FileKind)>) -> Self {
        let mut secrets = Self::default();
        for (path, _) in hidden.filter(|(_, kind)| *kind == FileKind::File).take(MOST) {
            let path = top.join(path);
            let length =
                path.symlink_metadata().ok().filter(|found| found.is_file()).map(|found| found.len());
            if let Some(length) = length.filter(|length| (SHORTEST..=LONGEST).contains(length)) {
                secrets.files.entry(length).or_default().insert(path);
            }
        }
        secrets
    }

    /// Whether one of them is as long as this, and has the content that is asked for then.
    pub(super) fn have(&self, length: u64, content: impl FnOnce() -> Vec<u8>) -> bool {
        let Some(files) = self.files.get(&length) else { return false };
        let content = content();
        files.iter().any(|file| std::fs::read(file).is_ok_and(|secret| secret == content))
    }
}
