//! Walks folders, by handles and in order of names.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::{FileError, FileKind, Follow, Protection, ResolvedPath, Target, Workspace};

/// Folders deeper than this are not entered.
const DEEPEST: usize = 200;

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct TreeEntry<'a> {
    /// The folder it is in.
    pub(crate) folder: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// From the top of the workspace.
    pub(crate) path: &'a Path,
    pub(crate) kind: FileKind,
    pub(crate) protection: Option<Protection>,
    /// 1 for what is in the folder where the walk began.
    pub(crate) depth: usize,
}

/// What to do after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    /// Go on, and into it if it is a folder.
    Enter,
    /// Go on, but not into it.
    Pass,
    /// End here.
    Stop,
}

type Visitor<'a> = dyn FnMut(TreeEntry<'_>) -> Result<Visit, FileError> + 'a;

impl Workspace {
    /// Visits everything beneath a folder, in order of names. Links are visited, not followed.
    pub(crate) fn walk(&self, path: &str, visitor: &mut Visitor<'_>) -> Result<(), FileError> {
        self.walk_place(&self.resolve(path, Follow::Links)?, visitor)
    }

    /// Visits everything beneath the folder at a place.
    pub(crate) fn walk_place(
        &self,
        place: &ResolvedPath,
        visitor: &mut Visitor<'_>,
    ) -> Result<(), FileError> {
        self.protected().may_read(&place.path)?;
        let folder = self.open_folder(place)?;
        self.visit(folder, &place.path, 1, visitor).map(drop)
    }

    /// Opens the folder at a place.
    pub(crate) fn open_folder(&self, place: &ResolvedPath) -> Result<OwnedFd, FileError> {
        let name = match &place.target {
            Target::Top => OsStr::new("."),
            Target::There { name, .. } => name,
            Target::Missing { .. } => return Err(FileError::Missing { path: place.path.clone() }),
        };
        if let Some(kind) = place.kind().filter(|kind| *kind != FileKind::Folder) {
            let path = place.path.clone();
            return Err(FileError::WrongKind { path, is: kind.name(), wanted: "a folder" });
        }
        open(place.parent.as_fd(), name).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR | Errno::NOENT => {
                FileError::Unsteady { path: place.path.display().to_string() }
            }
            errno => FileError::io("list", &place.path, errno),
        })
    }

    fn visit(
        &self,
        folder: OwnedFd,
        path: &Path,
        depth: usize,
        visitor: &mut Visitor<'_>,
    ) -> Result<Visit, FileError> {
        for (name, kind) in list(&folder, path)? {
            let child = path.join(&name);
            let protection = self.protected().of(&child);
            let entry =
                TreeEntry { folder: folder.as_fd(), name: &name, path: &child, kind, protection, depth };
            match visitor(entry)? {
                Visit::Stop => return Ok(Visit::Stop),
                Visit::Enter if kind == FileKind::Folder && depth < DEEPEST => {
                    // What cannot be entered, or is no folder any more, is passed by.
                    if let Ok(inner) = open(folder.as_fd(), &name)
                        && self.visit(inner, &child, depth + 1, visitor)? == Visit::Stop
                    {
                        return Ok(Visit::Stop);
                    }
                }
                Visit::Enter | Visit::Pass => {}
            }
        }
        Ok(Visit::Enter)
    }
}

/// Opens a folder to be listed.
pub(super) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder in a folder, to be listed.
pub(super) fn open(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, FOLDER, Mode::empty())
}

/// What is in a folder, sorted.
pub(crate) fn list(folder: &OwnedFd, path: &Path) -> Result<Vec<(OsString, FileKind)>, FileError> {
    let failed = |errno: Errno| FileError::io("list", path, errno);
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileKind::of(FileType::from_raw_mode(stat.st_mode)),
                Err(_) => continue,
            },
            known => FileKind::of(known),
        };
        entries.push((name, kind));
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}
