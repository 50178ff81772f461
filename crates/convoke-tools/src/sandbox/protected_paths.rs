//! The protected files that exist in a workspace, for whoever confines a command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, statat};

use crate::workspace::{FileError, FileKind, Protection, TreeEntry, Visit, Workspace};

/// The paths that are protected in a workspace now.
#[derive(Debug, Default)]
pub(super) struct ProtectedPaths {
    /// Neither read nor changed: every name that a secret has in the workspace; a folder with everything in it.
    pub(super) secret: Vec<(PathBuf, FileKind)>,
    /// Read, but not changed.
    pub(super) read_only: Vec<(PathBuf, FileKind)>,
    /// Every folder above a secret.
    around: BTreeSet<PathBuf>,
}

impl ProtectedPaths {
    /// Those of the workspace.
    pub(super) fn of(workspace: &Workspace) -> Result<Self, FileError> {
        Self::found(workspace, |entry| entry.protection)
    }

    /// Those of a folder outside of the workspace, where sockets are holes too: they are other programs'.
    pub(super) fn beyond(folder: &Workspace) -> Result<Self, FileError> {
        Self::found(folder, |entry| match entry.kind {
            FileKind::Other(_) => Some(Protection::Secret),
            _ => entry.protection,
        })
    }

    fn found(
        workspace: &Workspace,
        protection: impl Fn(&TreeEntry<'_>) -> Option<Protection>,
    ) -> Result<Self, FileError> {
        let mut holes = Self::default();
        let mut with_other_names = BTreeSet::new();
        workspace.walk(".", &mut |entry: TreeEntry<'_>| {
            // A file in the place of a repository says where the repository is.
            let is_pointer = entry.name == ".git" && entry.kind != FileKind::Folder;
            match protection(&entry).or(is_pointer.then_some(Protection::ReadOnly)) {
                None => return Ok(Visit::Enter),
                Some(Protection::Secret) => {
                    with_other_names.extend(file_with_other_names(&entry));
                    holes.hide(entry.path, entry.kind);
                }
                Some(Protection::ReadOnly) => holes.read_only.push((entry.path.to_owned(), entry.kind)),
            }
            Ok(Visit::Pass)
        })?;
        if !with_other_names.is_empty() {
            workspace.walk(".", &mut |entry: TreeEntry<'_>| {
                let file = file_with_other_names(&entry);
                if entry.protection.is_none() && file.is_some_and(|file| with_other_names.contains(&file)) {
                    holes.hide(entry.path, entry.kind);
                }
                Ok(if entry.protection.is_some() { Visit::Pass } else { Visit::Enter })
            })?;
        }
        Ok(holes)
    }

    fn hide(&mut self, path: &Path, kind: FileKind) {
        self.around.extend(path.ancestors().skip(1).map(Path::to_owned));
        self.secret.push((path.to_owned(), kind));
    }

    /// Whether there is a secret somewhere beneath this folder.
    pub(super) fn are_beneath(&self, folder: &Path) -> bool {
        self.around.contains(folder)
    }

    /// Every folder above a secret.
    pub(super) fn around(&self) -> Vec<PathBuf> {
        self.around.iter().cloned().collect()
    }

    pub(super) fn is_secret(&self, path: &Path) -> bool {
        self.secret.iter().any(|(secret, _)| secret == path)
    }
}

/// A file's device and number, if it is one with several names: each is a way to it.
fn file_with_other_names(entry: &TreeEntry<'_>) -> Option<(u64, u64)> {
    if entry.kind != FileKind::File {
        return None;
    }
    let stat = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (stat.st_nlink > 1).then_some((stat.st_dev, stat.st_ino))
}
