//! Restores read-only files after a command, where nothing can keep it from changing or making them.
//!
//! Landlock cannot take a single file out of a folder that may be written, and nothing can keep a file from being made
//! whose name is protected. What is read-only is remembered before the command and put back after it, when none of its
//! processes lives any more; and what Convoke itself goes by, made by a command, goes again. It can do no harm in between:
//! what follows these files (git, another Convoke) would have to be run by somebody else in that moment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, chmodat, fchmod, fstat, symlinkat};

use super::protected_paths::ProtectedPaths;
use crate::workspace::{
    FileError, FileKind, Follow, Protected, Protection, Target, TreeEntry, Visit, Workspace,
};

/// The most that is remembered, in bytes.
const MOST: usize = 8 << 20;

/// A snapshot of read-only files.
#[derive(Debug, Default)]
pub(super) struct ReadOnlySnapshot {
    files: BTreeMap<PathBuf, ReadOnlyState>,
    /// What Convoke itself goes by, and was there.
    followed: BTreeSet<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
enum ReadOnlyState {
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Folder,
}

impl ReadOnlySnapshot {
    /// Remembers what is read-only now.
    pub(super) fn of(workspace: &Workspace, holes: &ProtectedPaths) -> Result<Self, FileError> {
        let mut kept = Self { files: BTreeMap::new(), followed: followed(holes).cloned().collect() };
        for (path, _) in &holes.read_only {
            for (path, was) in now(workspace, path)? {
                kept.files.insert(path, was?);
            }
        }
        let bytes: usize = kept
            .files
            .values()
            .map(|was| if let ReadOnlyState::File { content, .. } = was { content.len() } else { 0 })
            .sum();
        if bytes > MOST {
            return Err(FileError::Unfit(format!(
                "denied: there are {bytes} bytes of read-only files in the workspace, more than the {MOST} that can be \
                 looked after without bubblewrap; install it"
            )));
        }
        Ok(kept)
    }

    /// Puts back what was changed, and says what that was. What cannot be put back keeps nothing else from being it.
    pub(super) fn put_back(&self, workspace: &Workspace) -> Result<Vec<PathBuf>, FileError> {
        self.open_up(workspace);
        let holes = ProtectedPaths::of(workspace)?;
        let mut after = BTreeMap::new();
        let mut failed = None;
        for (path, _) in &holes.read_only {
            match now(workspace, path) {
                // What cannot be read is not what it was.
                Ok(found) => after.extend(found.into_iter().map(|(path, was)| (path, was.ok()))),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let mut changed = Vec::new();
        let mut put = |path: &Path, done: Result<(), FileError>| {
            changed.push(path.to_owned());
            if let Err(error) = done {
                failed.get_or_insert(error);
            }
        };
        // What is new goes first, the deepest before the folders it is in.
        for path in after.keys().rev().filter(|path| !self.files.contains_key(*path)) {
            // A repository that the command has made is its own; git cannot do without its configuration.
            if !self.is_in_a_new_repository(path) {
                put(path, workspace.put_back(path, None));
            }
        }
        for path in followed(&holes).filter(|path| !self.followed.contains(*path)) {
            put(path, workspace.put_back(path, None));
        }
        let is_same =
            |path: &PathBuf, was: &ReadOnlyState| after.get(path).is_some_and(|is| is.as_ref() == Some(was));
        for (path, was) in self.files.iter().filter(|(path, was)| !is_same(path, was)) {
            put(
                path,
                match was {
                    ReadOnlyState::File { content, mode } => workspace.put_back(path, Some((content, *mode))),
                    ReadOnlyState::Folder => workspace.put_back_folder(path).map(drop),
                    ReadOnlyState::Link(to) => put_back_link(workspace, path, to),
                },
            );
        }
        changed.sort();
        failed.map_or(Ok(changed), Err)
    }

    /// Makes sure that we can look into the folders we look after: their mode is not what Landlock rules over.
    fn open_up(&self, workspace: &Workspace) {
        let whole = |mode: u32| (mode & 0o700 != 0o700).then(|| Mode::from_raw_mode((mode & 0o7777) | 0o700));
        // What fails here is noticed when it is looked into.
        if let Some(mode) = fstat(&**workspace.root()).ok().and_then(|stat| whole(stat.st_mode)) {
            let _ = fchmod(&**workspace.root(), mode);
        }
        let folders: BTreeSet<&Path> = self.files.keys().flat_map(|path| path.ancestors()).collect();
        for folder in folders {
            let Ok(place) = workspace.resolve(folder, Follow::Nothing) else { continue };
            if let (Some(FileKind::Folder), Target::There { name, stat }) = (place.kind(), &place.target)
                && let Some(mode) = whole(stat.st_mode)
            {
                let _ = chmodat(&*place.parent, name, mode, AtFlags::empty());
            }
        }
    }

    fn is_in_a_new_repository(&self, path: &Path) -> bool {
        let Some(mine) = repository(path) else { return false };
        !self.files.keys().any(|known| repository(known) == Some(mine))
    }
}

/// The folder of git's that something is in. A working tree has one of its own in its repository's.
fn repository(path: &Path) -> Option<&Path> {
    path.ancestors().find(|above| {
        above.ends_with(".git") || above.parent().is_some_and(|above| above.ends_with(".git/worktrees"))
    })
}

/// What Convoke itself goes by.
fn followed(holes: &ProtectedPaths) -> impl Iterator<Item = &PathBuf> {
    holes.secret.iter().map(|(path, _)| path).filter(|path| Protected::is_followed(path))
}

fn put_back_link(workspace: &Workspace, path: &Path, to: &Path) -> Result<(), FileError> {
    workspace.put_back(path, None)?;
    let Some(name) = path.file_name() else { return Ok(()) };
    let folder = workspace.put_back_folder(path.parent().unwrap_or(Path::new("")))?;
    symlinkat(to, &*folder, name).map_err(|errno| FileError::io("put back", path, errno))
}

/// What there is at a read-only path and beneath it; of what cannot be read, why.
fn now(
    workspace: &Workspace,
    path: &Path,
) -> Result<BTreeMap<PathBuf, Result<ReadOnlyState, FileError>>, FileError> {
    let mut found = BTreeMap::new();
    let mut all = vec![(path.to_owned(), None)];
    let place = workspace.resolve(path, Follow::Nothing)?;
    all[0].1 = place.kind();
    if place.kind() == Some(FileKind::Folder) {
        workspace.walk_place(&place, &mut |entry: TreeEntry<'_>| {
            if entry.protection != Some(Protection::Secret) {
                all.push((entry.path.to_owned(), Some(entry.kind)));
            }
            Ok(Visit::Enter)
        })?;
    }
    for (path, kind) in all {
        let was = match kind {
            Some(FileKind::File) => {
                workspace.look(&path).map(|(content, mode)| ReadOnlyState::File { content, mode })
            }
            Some(FileKind::Link) => workspace.link_at(&path).map(ReadOnlyState::Link),
            Some(FileKind::Folder) => Ok(ReadOnlyState::Folder),
            Some(FileKind::Other(_)) | None => continue,
        };
        found.insert(path, was);
    }
    Ok(found)
}
