//! Removes files and folders, or moves them away.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, RenameFlags, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::atomic_write::sync;
use super::write::no_pointer;
use super::{
    Existing, FileError, FileKind, Follow, Protection, ResolvedPath, Target, TreeEntry, Visit, Workspace,
};

impl Workspace {
    /// Moves a file, a link or a folder.
    pub(crate) fn rename(&self, from: &str, to: &str, existing: Existing) -> Result<PathBuf, FileError> {
        let source = self.resolve(from, Follow::Nothing)?;
        self.may_take_away(&source, "move")?;
        let mut target = self.resolve(to, Follow::Links)?;
        if target.kind() == Some(FileKind::Folder) {
            let Some(name) = source.path.file_name() else {
                return Err(FileError::Unfit("the workspace itself cannot be moved".to_owned()));
            };
            target = self.resolve(target.path.join(name), Follow::Nothing)?;
        }
        self.may_become(&target.path, source.kind().unwrap_or(FileKind::File))?;
        if source.kind() == Some(FileKind::Folder) {
            self.may_move_into(&source, &target.path)?;
        }
        if target.path.starts_with(&source.path) {
            return Err(FileError::Unfit(format!("`{from}` cannot be moved into itself")));
        }
        match (target.kind(), existing) {
            (None, _) => {}
            (Some(FileKind::File), Existing::Replace) => drop(self.replaceable(&target, existing)?),
            (Some(_), _) => return Err(FileError::Exists { path: target.path }),
        }
        let Target::There { name, .. } = &source.target else {
            return Err(FileError::Missing { path: source.path });
        };
        let (folder, new_name, path) = self.made_ready(target)?;
        let moved = match existing {
            Existing::Replace => renameat(&*source.parent, name, &*folder, &new_name),
            Existing::Keep => rename_new(&source.parent, name, &folder, &new_name),
        };
        // What is moved is first in its new place: it may be in both after a loss of power, and never in none.
        let moved = moved.and_then(|()| sync(&folder)).and_then(|()| sync(&source.parent));
        match moved {
            Ok(()) => Ok(path),
            Err(Errno::EXIST) => Err(FileError::Exists { path }),
            Err(errno) => Err(FileError::io("move", &source.path, errno)),
        }
    }

    /// Whether nothing in a folder would have a protected name elsewhere.
    fn may_move_into(&self, source: &ResolvedPath, target: &Path) -> Result<(), FileError> {
        self.walk_place(source, &mut |entry: TreeEntry<'_>| {
            let below = entry.path.strip_prefix(&source.path).unwrap_or(entry.path);
            self.may_become(&target.join(below), entry.kind)?;
            Ok(Visit::Enter)
        })
    }

    /// Removes a file or a link, or an empty folder; with everything in it if that is said.
    pub(crate) fn remove(&self, path: &str, with_content: bool) -> Result<usize, FileError> {
        let place = self.resolve(path, Follow::Nothing)?;
        self.may_take_away(&place, "remove")?;
        let Target::There { name, .. } = &place.target else {
            return Err(FileError::Missing { path: place.path });
        };
        let failed = |errno: Errno| FileError::io("remove", &place.path, errno);
        if place.kind() != Some(FileKind::Folder) {
            unlinkat(&*place.parent, name, AtFlags::empty())
                .and_then(|()| sync(&place.parent))
                .map_err(failed)?;
            return Ok(1);
        }
        match unlinkat(&*place.parent, name, AtFlags::REMOVEDIR) {
            Ok(()) => return sync(&place.parent).map(|()| 1).map_err(failed),
            Err(Errno::NOTEMPTY | Errno::EXIST) if with_content => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                return Err(FileError::Unfit(format!(
                    "`{path}` is a folder with something in it; say `recursive` to remove all of it"
                )));
            }
            Err(errno) => return Err(failed(errno)),
        }
        let folder = self.open_folder(&place)?;
        let removed = empty(&folder, &place.path, as_it_is)?;
        unlinkat(&*place.parent, name, AtFlags::REMOVEDIR)
            .and_then(|()| sync(&place.parent))
            .map_err(failed)?;
        Ok(removed + 1)
    }

    /// Whether this, and everything in it, may vanish from its place.
    pub(crate) fn may_take_away(&self, place: &ResolvedPath, action: &'static str) -> Result<(), FileError> {
        self.may_change(&place.path)?;
        if matches!(place.target, Target::Top) {
            return Err(FileError::Unfit(format!("the workspace itself is not for tools to {action}")));
        }
        match place.kind() {
            Some(FileKind::Folder) => self.nothing_protected_in(place, action, |_| true),
            Some(kind) => no_pointer(&place.path, kind, action),
            None => Ok(()),
        }
    }

    /// Whether there is nothing in a folder that is protected in a way that counts.
    pub(crate) fn nothing_protected_in(
        &self,
        place: &ResolvedPath,
        action: &'static str,
        counts: fn(Protection) -> bool,
    ) -> Result<(), FileError> {
        let mut found = None;
        self.walk_place(place, &mut |entry: TreeEntry<'_>| {
            if entry.protection.is_some_and(counts) {
                found = Some(entry.path.to_owned());
                return Ok(Visit::Stop);
            }
            Ok(Visit::Enter)
        })?;
        match found {
            Some(inside) => Err(FileError::ProtectedInside { path: place.path.clone(), inside, action }),
            None => Ok(()),
        }
    }
}

/// Moves without replacing, in one step where the system can.
fn rename_new(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new_name: &OsStr) -> Result<(), Errno> {
    match renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match statat(to, new_name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EXIST),
            Err(_) => renameat(from, name, to, new_name),
        },
        done => done,
    }
}

/// Opens a folder in another one, to be emptied.
pub(crate) type Open = fn(&OwnedFd, &OsStr) -> Result<OwnedFd, Errno>;

/// With the rights that it gives.
fn as_it_is(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    super::tree::open(folder.as_fd(), name)
}

/// Whatever its mode forbids: a command that wanted it to stay may have set it.
#[cfg(target_os = "linux")]
pub(crate) fn opened_up(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags, chmod, fstat, openat};

    let handle = openat(folder, name, super::tree::FOLDER.union(OFlags::PATH), Mode::empty())?;
    let mode = fstat(&handle)?.st_mode & 0o7777;
    if mode & 0o700 != 0o700 {
        // By its handle, which no link can have come in the way of.
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
        chmod(path, Mode::from_raw_mode(mode | 0o700))?;
    }
    as_it_is(&handle, OsStr::new("."))
}

/// Removes everything in a folder; gives how many entries that were. What is in the folders inside is brought up here first,
/// level by level: however deep it is, that takes one handle and no stack.
pub(crate) fn empty(folder: &OwnedFd, path: &Path, open: Open) -> Result<usize, FileError> {
    let mut removed = 0;
    loop {
        let entries = super::tree::list(folder, path)?;
        if entries.is_empty() {
            return Ok(removed);
        }
        for (name, kind) in entries {
            let child = path.join(&name);
            let failed = |errno: Errno| FileError::io("remove", &child, errno);
            if kind != FileKind::Folder {
                unlinkat(folder, &name, AtFlags::empty()).map_err(failed)?;
                removed += 1;
                continue;
            }
            let inner = open(folder, &name).map_err(failed)?;
            for (inside, kind) in super::tree::list(&inner, &child)? {
                if kind == FileKind::Folder {
                    // A folder is moved only by whoever may write in it.
                    open(&inner, &inside).map_err(failed)?;
                    let mut random = [0_u8; 8];
                    getrandom::fill(&mut random).map_err(|_| failed(Errno::IO))?;
                    let above = format!(".convoke-{:016x}.old", u64::from_ne_bytes(random));
                    renameat(&inner, &inside, folder, above).map_err(failed)?;
                } else {
                    unlinkat(&inner, &inside, AtFlags::empty()).map_err(failed)?;
                    removed += 1;
                }
            }
            unlinkat(folder, &name, AtFlags::REMOVEDIR).map_err(failed)?;
            removed += 1;
        }
    }
}
