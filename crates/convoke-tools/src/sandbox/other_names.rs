//! The other names that secrets have: each name of a file is a way to it, whatever it says.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::inventory::{Identity, identity, opened};
use crate::workspace::{FileKind, listed};

/// So much is looked through of what is in folders that are hidden as a whole.
const MOST: usize = 1 << 16;

/// A file with several names.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkedFile {
    identity: Identity,
    names: u64,
}

impl LinkedFile {
    /// The one of this name in a folder, if it is one.
    pub(super) fn at(folder: impl AsFd, name: &Path) -> Option<Self> {
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        #[allow(clippy::useless_conversion, reason = "its type depends on the machine")]
        let names = u64::from(stat.st_nlink);
        (is_file && names > 1).then(|| Self { identity: identity(&stat), names })
    }
}

/// The secrets of a folder that have several names.
#[derive(Debug)]
pub(super) struct LinkedSecrets {
    files: HashSet<Identity>,
    /// Whether there may be more: nobody has looked through all that is hidden.
    are_more: bool,
}

impl LinkedSecrets {
    /// Those among what is hidden in a folder: files, and folders with everything in them.
    pub(super) fn of(top: &Path, hidden: &[(PathBuf, FileKind)]) -> Self {
        let mut secrets = Self { files: HashSet::new(), are_more: false };
        let device = |path: &Path| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_dev);
        let own = device(top);
        let mut ahead = Vec::new();
        let mut looked = 0;
        let look = |secrets: &mut Self, ahead: &mut Vec<PathBuf>, place: PathBuf, kind: FileKind| match kind {
            FileKind::File => secrets.files.extend(LinkedFile::at(CWD, &place).map(|file| file.identity)),
            // No file has names on two file systems.
            FileKind::Folder if device(&place) == own => ahead.push(place),
            _ => {}
        };
        for (path, kind) in hidden {
            look(&mut secrets, &mut ahead, top.join(path), *kind);
        }
        while let Some(place) = ahead.pop() {
            let entries = opened(&place).and_then(|folder| listed(&folder, &place).ok());
            for (name, kind) in entries.into_iter().flatten() {
                looked += 1;
                if looked > MOST {
                    secrets.are_more = true;
                    return secrets;
                }
                look(&mut secrets, &mut ahead, place.join(name), kind);
            }
        }
        secrets
    }

    /// Whether no other file can be one of them.
    pub(super) fn are_none(&self) -> bool {
        self.files.is_empty() && !self.are_more
    }

    /// The names of secrets among the names of files that are not hidden. If there may be more secrets, a file that has a name which is not
    /// among them is taken for one.
    pub(super) fn among(&self, seen: Vec<(PathBuf, LinkedFile)>) -> impl Iterator<Item = PathBuf> {
        let mut counted = HashMap::<Identity, u64>::new();
        for (_, file) in &seen {
            *counted.entry(file.identity).or_default() += 1;
        }
        seen.into_iter().filter_map(move |(path, file)| {
            let has_unseen = || counted.get(&file.identity).is_none_or(|seen| *seen < file.names);
            (self.files.contains(&file.identity) || self.are_more && has_unseen()).then_some(path)
        })
    }
}
