//! Creates files and folders, and replaces their content.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, RawMode, mkdirat};
use rustix::io::Errno;

use super::atomic_write::sync;
use super::links::{HardLinkCensus, names_of};
use super::{FileError, FileKind, Follow, Protection, ResolvedPath, Target, Workspace};

/// The longest file that a tool writes.
const LONGEST: usize = 16 << 20;

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// There was nothing of that name.
    Made,
    /// Another content was replaced.
    Replaced,
}

/// Whether something that exists may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Replace,
    Keep,
}

impl Workspace {
    /// Gives a file this content: all of it or nothing, under the permissions it had. Missing folders are made.
    pub(crate) fn write_file(
        &self,
        path: &str,
        content: &[u8],
        existing: Existing,
    ) -> Result<WriteOutcome, FileError> {
        let place = self.resolve(path, Follow::Links)?;
        self.write_place(place, content, existing, None)
    }

    pub(crate) fn write_place(
        &self,
        place: ResolvedPath,
        content: &[u8],
        existing: Existing,
        new_mode: Option<RawMode>,
    ) -> Result<WriteOutcome, FileError> {
        self.may_become(&place.path, FileKind::File)?;
        if content.len() > LONGEST {
            let (bytes, limit) = (content.len() as u64, LONGEST as u64);
            return Err(FileError::TooLong { path: place.path, bytes, limit, action: "write" });
        }
        let mode = self.replaceable(&place, existing)?;
        let (folder, name, path) = self.made_ready(place)?;
        self.put(&folder, &name, content, mode.or(new_mode))
            .map_err(|errno| FileError::io("write", &path, errno))?;
        Ok(if mode.is_some() { WriteOutcome::Replaced } else { WriteOutcome::Made })
    }

    /// The permissions of the file that will be replaced, if it may be.
    pub(super) fn replaceable(
        &self,
        place: &ResolvedPath,
        existing: Existing,
    ) -> Result<Option<RawMode>, FileError> {
        let path = || place.path.clone();
        match (&place.target, place.kind()) {
            (Target::There { stat, .. }, Some(FileKind::File)) => {
                if existing == Existing::Keep {
                    return Err(FileError::Exists { path: path() });
                }
                let links = names_of(stat);
                if links > 1 {
                    let why = "so that a change would be seen elsewhere or part them";
                    return Err(FileError::HardLinks { path: path(), links, why });
                }
                Ok(Some(stat.st_mode))
            }
            (_, Some(kind)) => Err(FileError::WrongKind { path: path(), is: kind.name(), wanted: "a file" }),
            (_, None) => Ok(None),
        }
    }

    /// Makes the folders a new file needs.
    pub(super) fn made_ready(
        &self,
        place: ResolvedPath,
    ) -> Result<(Arc<OwnedFd>, OsString, PathBuf), FileError> {
        let ResolvedPath { path, mut parent, target } = place;
        let mut names = match target {
            Target::Missing { names } => names,
            Target::There { name, .. } => vec![name],
            Target::Top => {
                return Err(FileError::WrongKind { path, is: FileKind::Folder.name(), wanted: "a file" });
            }
        };
        let Some(last) = names.pop() else { return Err(FileError::Missing { path }) };
        for name in names {
            parent = make_folder(&parent, &name)
                .map_err(|errno| FileError::io("make the folders of", &path, errno))?;
        }
        Ok((parent, last, path))
    }

    /// Makes a folder and those above it. Says whether it was not there.
    pub(crate) fn make_folders(&self, path: impl AsRef<Path>) -> Result<bool, FileError> {
        let place = self.resolve(path, Follow::Links)?;
        self.may_change(&place.path)?;
        match place.kind() {
            Some(FileKind::Folder) => Ok(false),
            Some(kind) => Err(FileError::WrongKind { path: place.path, is: kind.name(), wanted: "a folder" }),
            None => {
                let (parent, name, path) = self.made_ready(place)?;
                make_folder(&parent, &name).map_err(|errno| FileError::io("make", &path, errno))?;
                Ok(true)
            }
        }
    }

    /// Whether something of this kind may be put at this path.
    pub(super) fn may_become(&self, path: &Path, kind: FileKind) -> Result<(), FileError> {
        self.may_change(path)?;
        if kind == FileKind::Link {
            self.may_be_link(path)?;
        }
        no_pointer(path, kind, "make")
    }

    /// Copies a file, with its permissions.
    pub(crate) fn copy_file(
        &self,
        from: &ResolvedPath,
        to: ResolvedPath,
        existing: Existing,
        census: &mut HardLinkCensus,
    ) -> Result<(), FileError> {
        let mut opened = self.open_place(from, census)?;
        let content = opened.read_all()?;
        self.write_place(to, &content, existing, Some(opened.mode)).map(drop)
    }
}

pub(super) fn make_folder(parent: &Arc<OwnedFd>, name: &OsStr) -> Result<Arc<OwnedFd>, Errno> {
    match mkdirat(&**parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => sync(parent)?,
        // Somebody else was first; fine if it is a folder, and the next line finds out.
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    super::tree::open(parent.as_fd(), name).map(Arc::new)
}

/// A file in the place of a repository says where the repository is, and whose hooks are run.
pub(super) fn no_pointer(path: &Path, kind: FileKind, action: &'static str) -> Result<(), FileError> {
    if kind == FileKind::Folder || path.file_name().is_none_or(|name| name != ".git") {
        return Ok(());
    }
    Err(FileError::Protected { path: path.to_owned(), action, protection: Protection::ReadOnly })
}
