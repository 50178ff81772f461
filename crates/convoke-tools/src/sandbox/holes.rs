//! The protected files that exist in a workspace, for whoever confines a command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::workspace::{Entry, FileError, Kind, Protection, Visit, Workspace};

/// What is protected in a workspace now.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// Neither read nor changed; a folder with everything in it.
    pub(super) secret: Vec<(PathBuf, Kind)>,
    /// Read, but not changed.
    pub(super) read_only: Vec<(PathBuf, Kind)>,
    /// Every folder above a secret.
    around: BTreeSet<PathBuf>,
}

impl Holes {
    pub(super) fn of(workspace: &Workspace) -> Result<Self, FileError> {
        let mut holes = Self::default();
        workspace.walk(".", &mut |entry: Entry<'_>| {
            // A file in the place of a repository says where the repository is.
            let is_pointer = entry.name == ".git" && entry.kind != Kind::Folder;
            match entry.protection.or(is_pointer.then_some(Protection::ReadOnly)) {
                None => return Ok(Visit::Enter),
                Some(Protection::Secret) => {
                    holes.around.extend(entry.path.ancestors().skip(1).map(Path::to_owned));
                    holes.secret.push((entry.path.to_owned(), entry.kind));
                }
                Some(Protection::ReadOnly) => holes.read_only.push((entry.path.to_owned(), entry.kind)),
            }
            Ok(Visit::Pass)
        })?;
        Ok(holes)
    }

    /// Every folder above anything that is protected, but for the top, the outermost first.
    pub(super) fn folders(&self) -> BTreeSet<&Path> {
        let protected = self.secret.iter().chain(&self.read_only);
        protected
            .flat_map(|(path, _)| path.ancestors().skip(1))
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect()
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
