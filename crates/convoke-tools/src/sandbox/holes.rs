//! The protected files that exist in a workspace, for whoever confines a command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Stat, statat};

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
        let mut shared = BTreeSet::new();
        workspace.walk(".", &mut |entry: Entry<'_>| {
            // A file in the place of a repository says where the repository is.
            let is_pointer = entry.name == ".git" && entry.kind != Kind::Folder;
            match entry.protection.or(is_pointer.then_some(Protection::ReadOnly)) {
                None => return Ok(Visit::Enter),
                Some(Protection::Secret) => {
                    shared.extend(with_other_names(&entry).map(|stat| (stat.st_dev, stat.st_ino)));
                    holes.add_secret(entry.path, entry.kind);
                }
                Some(Protection::ReadOnly) => holes.read_only.push((entry.path.to_owned(), entry.kind)),
            }
            Ok(Visit::Pass)
        })?;
        if !shared.is_empty() {
            holes.add_other_names(workspace, &shared)?;
        }
        Ok(holes)
    }

    fn add_secret(&mut self, path: &Path, kind: Kind) {
        self.around.extend(path.ancestors().skip(1).map(Path::to_owned));
        self.secret.push((path.to_owned(), kind));
    }

    /// A secret is one under its other names too: rules and mounts go by names.
    fn add_other_names(
        &mut self,
        workspace: &Workspace,
        shared: &BTreeSet<(u64, u64)>,
    ) -> Result<(), FileError> {
        workspace.walk(".", &mut |entry: Entry<'_>| {
            if entry.protection.is_some() {
                return Ok(Visit::Pass);
            }
            let stat = with_other_names(&entry);
            if stat.is_some_and(|stat| shared.contains(&(stat.st_dev, stat.st_ino))) {
                self.add_secret(entry.path, entry.kind);
            }
            Ok(Visit::Enter)
        })
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

/// What is known of a file that has several names.
fn with_other_names(entry: &Entry<'_>) -> Option<Stat> {
    let stat =
        (entry.kind == Kind::File).then(|| statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW));
    stat.and_then(Result::ok).filter(|stat| stat.st_nlink > 1)
}
