//! Snapshots of what a server that nothing confines may load from a workspace.
//!
//! Interpreters load what lies beside a script and below its folder: modules, packages, what was compiled of them. So everything
//! there counts, by its content where it is beside the script and by the times that nobody can set back below. It must never
//! take for unchanged what it could not look at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More than this is not looked at: such a server is not started again.
const MOST: usize = 20_000;
/// Larger files beside a script count by their times.
const LONGEST: u64 = 8 << 20;

/// Files and folders of a workspace at one moment, by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Footprint {
    entries: BTreeMap<PathBuf, Entry>,
    /// Whether there was more than can be looked at.
    is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder,
    Content(blake3::Hash),
    Link(PathBuf),
    Stamp { file: (u64, u64), changed: (i64, i64), size: u64 },
}

impl Footprint {
    /// What is in these files and folders of a workspace now, but for files that are data of the server's.
    pub(crate) fn of(places: &BTreeSet<PathBuf>, workspace: &Path, data: &BTreeSet<PathBuf>) -> Self {
        let mut footprint = Self::default();
        let mut ahead: Vec<PathBuf> = places.iter().cloned().collect();
        while let Some(path) = ahead.pop() {
            if footprint.entries.contains_key(&path) || data.contains(&path) {
                continue;
            }
            if footprint.entries.len() >= MOST {
                footprint.is_cut = true;
                break;
            }
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_dir() {
                let entries = path.read_dir().into_iter().flatten().flatten();
                // What git keeps changes all the time, and nothing is loaded from there.
                ahead.extend(entries.map(|entry| entry.path()).filter(|path| !path.ends_with(".git")));
            }
            if found.is_symlink()
                && let Ok(real) = path.canonicalize()
                && real.starts_with(workspace)
            {
                ahead.push(real);
            }
            let is_beside =
                path.parent().is_some_and(|folder| places.contains(folder)) || places.contains(&path);
            footprint.entries.insert(path.clone(), Entry::of(&path, &found, is_beside));
        }
        footprint
    }

    /// What is not as it was, if something is not.
    pub(crate) fn changes_since(&self, first: &Self) -> Vec<PathBuf> {
        let names: BTreeSet<&PathBuf> = first.entries.keys().chain(self.entries.keys()).collect();
        let changed = names.into_iter().filter(|name| first.entries.get(*name) != self.entries.get(*name));
        let mut changed: Vec<PathBuf> = changed.cloned().collect();
        if changed.is_empty() && (self.is_cut || first.is_cut) {
            changed.extend(self.entries.keys().next().cloned());
        }
        changed
    }
}

impl Entry {
    fn of(path: &Path, found: &Metadata, is_beside: bool) -> Self {
        if found.is_dir() {
            return Self::Folder;
        }
        if found.is_symlink() {
            return Self::Link(path.read_link().unwrap_or_default());
        }
        let digest = || {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(File::open(path).ok()?).ok()?;
            Some(hasher.finalize())
        };
        let content = (is_beside && found.is_file() && found.len() <= LONGEST).then(digest).flatten();
        content.map_or_else(|| Self::stamp(found), Self::Content)
    }

    fn stamp(found: &Metadata) -> Self {
        let changed = (found.ctime(), found.ctime_nsec());
        Self::Stamp { file: (found.dev(), found.ino()), changed, size: found.len() }
    }
}
