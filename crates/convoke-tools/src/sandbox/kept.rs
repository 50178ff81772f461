//! Files that a command may read but not change, where nothing can keep it from changing them.
//!
//! Landlock cannot take a single file out of a folder that may be written, and nothing can keep a file from being made
//! whose name is protected. What is read-only is remembered before the command and put back after it, when none of its
//! processes lives any more. It can do no harm in between: what executes these files (git) would have to be run by
//! somebody else in that moment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::holes::Holes;
use crate::workspace::{Entry, FileError, Follow, Kind, Protection, Visit, Workspace};

/// The most that is remembered, in bytes.
const MOST: usize = 8 << 20;

/// What read-only files were like.
#[derive(Debug, Default)]
pub(super) struct Kept {
    files: BTreeMap<PathBuf, Was>,
}

#[derive(Debug, PartialEq, Eq)]
enum Was {
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
    Folder,
}

impl Kept {
    /// Remembers what is read-only now.
    pub(super) fn of(workspace: &Workspace, holes: &Holes) -> Result<Self, FileError> {
        let mut kept = Self::default();
        for (path, _) in &holes.read_only {
            kept.files.extend(now(workspace, path)?);
        }
        let bytes: usize = kept
            .files
            .values()
            .map(|was| if let Was::File { content, .. } = was { content.len() } else { 0 })
            .sum();
        if bytes > MOST {
            return Err(FileError::Unfit(format!(
                "denied: there are {bytes} bytes of read-only files in the workspace, more than the {MOST} that can be \
                 looked after without bubblewrap; install it"
            )));
        }
        Ok(kept)
    }

    /// Puts back what was changed, and says what that was.
    pub(super) fn put_back(&self, workspace: &Workspace) -> Result<Vec<PathBuf>, FileError> {
        let holes = Holes::of(workspace)?;
        let mut after = BTreeMap::new();
        for (path, _) in &holes.read_only {
            after.extend(now(workspace, path)?);
        }
        let mut changed = Vec::new();
        // What is new goes first, the deepest before the folders it is in.
        for path in after.keys().rev().filter(|path| !self.files.contains_key(*path)) {
            // A repository that the command has made is its own; git cannot do without its configuration.
            if self.is_in_a_new_repository(path) {
                continue;
            }
            workspace.put_back(path, None)?;
            changed.push(path.clone());
        }
        for (path, was) in self.files.iter().filter(|(path, was)| after.get(*path) != Some(was)) {
            match was {
                Was::File { content, mode } => workspace.put_back(path, Some((content, *mode)))?,
                Was::Folder => drop(workspace.put_back_folder(path)?),
                // Where a link led is not worth following; that it is gone is said.
                Was::Link(_) => {}
            }
            changed.push(path.clone());
        }
        changed.sort();
        Ok(changed)
    }

    fn is_in_a_new_repository(&self, path: &Path) -> bool {
        let repository =
            |path: &Path| path.ancestors().find(|above| above.ends_with(".git")).map(Path::to_owned);
        let Some(mine) = repository(path) else { return false };
        !self.files.keys().any(|known| repository(known).as_ref() == Some(&mine))
    }
}

fn now(workspace: &Workspace, path: &Path) -> Result<BTreeMap<PathBuf, Was>, FileError> {
    let mut found = BTreeMap::new();
    let mut all = vec![(path.to_owned(), None)];
    let place = workspace.resolve(path, Follow::Nothing)?;
    all[0].1 = place.kind();
    if place.kind() == Some(Kind::Folder) {
        workspace.walk_place(&place, &mut |entry: Entry<'_>| {
            if entry.protection != Some(Protection::Secret) {
                all.push((entry.path.to_owned(), Some(entry.kind)));
            }
            Ok(Visit::Enter)
        })?;
    }
    for (path, kind) in all {
        let was = match kind {
            Some(Kind::File) => {
                let (content, mode) = workspace.look(&path)?;
                Was::File { content, mode }
            }
            Some(Kind::Link) => Was::Link(workspace.link_at(&path)?),
            Some(Kind::Folder) => Was::Folder,
            Some(Kind::Other(_)) | None => continue,
        };
        found.insert(path, was);
    }
    Ok(found)
}
