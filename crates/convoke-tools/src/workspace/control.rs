//! Decides whether a file may be changed: by its name, by what a repository says of it, and by its effect on its folder.

use std::path::Path;

use super::{FileError, Protection, Workspace};
use crate::repository::{Controls, RepositoryFile, is_repository, part_of};

/// What makes a folder one of git's.
const MARKERS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

impl Workspace {
    /// Whether a tool may make, change or take away what is at this path, named from the top of the workspace.
    pub(crate) fn may_change(&self, path: &Path) -> Result<(), FileError> {
        self.protected().may_change(path)?;
        if self.is_executed_by_git(path) || self.would_be_believed_by_git(path) {
            let protection = Protection::ReadOnly;
            return Err(FileError::Protected { path: path.to_owned(), action: "change", protection });
        }
        Ok(())
    }

    /// Whether a repository, of this path or above the workspace, names it as something to execute or to include.
    fn is_executed_by_git(&self, path: &Path) -> bool {
        let place = self.path().join(path);
        controls_of(&place).any(|controls| controls.hold(&place))
    }

    /// Whether a link may be put at this path: none on the way to something that git executes.
    pub(super) fn may_be_link(&self, path: &Path) -> Result<(), FileError> {
        let place = self.path().join(path);
        if controls_of(&place).any(|controls| controls.are_beneath(&place)) {
            let protection = Protection::ReadOnly;
            return Err(FileError::Protected { path: path.to_owned(), action: "make", protection });
        }
        Ok(())
    }

    /// Whether it is what git believes in a folder that git takes, or would take then, for one of its own.
    fn would_be_believed_by_git(&self, path: &Path) -> bool {
        let place = self.path().join(path);
        let mut folders = place.ancestors().skip(1).take_while(|above| above.starts_with(self.path()));
        folders.any(|folder| {
            let Ok(below) = place.strip_prefix(folder) else { return false };
            let Some(name) = below.iter().next().and_then(|name| name.to_str()) else { return false };
            let is_there = |known: &str| folder.join(known).symlink_metadata().is_ok();
            match is_repository(&is_there) {
                true => part_of(below) != RepositoryFile::Data,
                // The last of what makes it one.
                false => {
                    MARKERS.iter().any(|known| known.eq_ignore_ascii_case(name))
                        && is_repository(&|known| known.eq_ignore_ascii_case(name) || is_there(known))
                }
            }
        })
    }
}

/// What is executed in the working trees that a path is in, and in every repository.
fn controls_of(place: &Path) -> impl Iterator<Item = Controls> {
    let is_there = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
    let trees = place
        .ancestors()
        .skip(1)
        .filter(move |above| is_there(above, ".git") || is_repository(&|name| is_there(above, name)));
    trees.map(Controls::of).chain([Controls::of_every_repository()])
}
