//! The protected files that exist in a workspace, for whoever confines a command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::other_names::{LinkedFile, LinkedSecrets};
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
        workspace.walk(".", &mut |entry: TreeEntry<'_>| {
            // A file in the place of a repository says where the repository is.
            let is_pointer = entry.name == ".git" && entry.kind != FileKind::Folder;
            match protection(&entry).or(is_pointer.then_some(Protection::ReadOnly)) {
                None => return Ok(Visit::Enter),
                Some(Protection::Secret) => holes.hide(entry.path, entry.kind),
                Some(Protection::ReadOnly) => holes.read_only.push((entry.path.to_owned(), entry.kind)),
            }
            Ok(Visit::Pass)
        })?;
        let secrets = LinkedSecrets::of(workspace.path(), &holes.secret);
        if !secrets.are_none() {
            let mut seen = Vec::new();
            workspace.walk(".", &mut |entry: TreeEntry<'_>| {
                if entry.protection.is_some() {
                    return Ok(Visit::Pass);
                }
                if entry.kind == FileKind::File {
                    let file = LinkedFile::at(entry.folder, Path::new(entry.name));
                    seen.extend(file.map(|file| (entry.path.to_owned(), file)));
                }
                Ok(Visit::Enter)
            })?;
            secrets.among(seen).for_each(|path| holes.hide(&path, FileKind::File));
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
