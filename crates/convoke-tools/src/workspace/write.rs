//! Changes: whole files at once, by rename within one folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Mode, OFlags, RawMode, RenameFlags, fchmod, fsync, mkdirat, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::links::{Census, names_of};
use super::{Entry, FileError, Follow, Kind, Place, Protection, Target, Visit, Workspace};

/// The longest file that a tool writes.
const LONGEST: usize = 16 << 20;

/// What a write has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
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
    ) -> Result<Written, FileError> {
        let place = self.resolve(path, Follow::Links)?;
        self.write_place(place, content, existing, None)
    }

    pub(crate) fn write_place(
        &self,
        place: Place,
        content: &[u8],
        existing: Existing,
        new_mode: Option<RawMode>,
    ) -> Result<Written, FileError> {
        self.may_become(&place.path, Kind::File)?;
        if content.len() > LONGEST {
            let (bytes, limit) = (content.len() as u64, LONGEST as u64);
            return Err(FileError::TooLong { path: place.path, bytes, limit, action: "write" });
        }
        let mode = self.replaceable(&place, existing)?;
        let (folder, name, path) = self.made_ready(place)?;
        put(&folder, &name, content, mode.or(new_mode))
            .map_err(|errno| FileError::io("write", &path, errno))?;
        Ok(if mode.is_some() { Written::Replaced } else { Written::Made })
    }

    /// The permissions of the file that will be replaced, if it may be.
    fn replaceable(&self, place: &Place, existing: Existing) -> Result<Option<RawMode>, FileError> {
        let path = || place.path.clone();
        match (&place.target, place.kind()) {
            (Target::There { stat, .. }, Some(Kind::File)) => {
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
    fn made_ready(&self, place: Place) -> Result<(Arc<OwnedFd>, OsString, PathBuf), FileError> {
        let Place { path, mut parent, target } = place;
        let mut names = match target {
            Target::Missing { names } => names,
            Target::There { name, .. } => vec![name],
            Target::Top => {
                return Err(FileError::WrongKind { path, is: Kind::Folder.name(), wanted: "a file" });
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
        self.protected().may_change(&place.path)?;
        match place.kind() {
            Some(Kind::Folder) => Ok(false),
            Some(kind) => Err(FileError::WrongKind { path: place.path, is: kind.name(), wanted: "a folder" }),
            None => {
                let (parent, name, path) = self.made_ready(place)?;
                make_folder(&parent, &name).map_err(|errno| FileError::io("make", &path, errno))?;
                Ok(true)
            }
        }
    }

    /// Moves a file, a link or a folder.
    pub(crate) fn rename(&self, from: &str, to: &str, existing: Existing) -> Result<PathBuf, FileError> {
        let source = self.resolve(from, Follow::Nothing)?;
        self.may_take_away(&source, "move")?;
        let mut target = self.resolve(to, Follow::Links)?;
        if target.kind() == Some(Kind::Folder) {
            let Some(name) = source.path.file_name() else {
                return Err(FileError::Unfit("the workspace itself cannot be moved".to_owned()));
            };
            target = self.resolve(target.path.join(name), Follow::Nothing)?;
        }
        self.may_become(&target.path, source.kind().unwrap_or(Kind::File))?;
        if source.kind() == Some(Kind::Folder) {
            self.may_move_into(&source, &target.path)?;
        }
        if target.path.starts_with(&source.path) {
            return Err(FileError::Unfit(format!("`{from}` cannot be moved into itself")));
        }
        match (target.kind(), existing) {
            (None, _) => {}
            (Some(Kind::File), Existing::Replace) => drop(self.replaceable(&target, existing)?),
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
        match moved {
            Ok(()) => Ok(path),
            Err(Errno::EXIST) => Err(FileError::Exists { path }),
            Err(errno) => Err(FileError::io("move", &source.path, errno)),
        }
    }

    /// Whether something of this kind may be put at this path.
    fn may_become(&self, path: &Path, kind: Kind) -> Result<(), FileError> {
        self.protected().may_change(path)?;
        // A file in the place of a repository says where the repository is, and whose hooks are run.
        if kind != Kind::Folder && path.file_name().is_some_and(|name| name == ".git") {
            let protection = Protection::ReadOnly;
            return Err(FileError::Protected { path: path.to_owned(), action: "make", protection });
        }
        Ok(())
    }

    /// Whether nothing in a folder would have a protected name elsewhere.
    fn may_move_into(&self, source: &Place, target: &Path) -> Result<(), FileError> {
        self.walk_place(source, &mut |entry: Entry<'_>| {
            let below = entry.path.strip_prefix(&source.path).unwrap_or(entry.path);
            self.may_become(&target.join(below), entry.kind)?;
            Ok(Visit::Enter)
        })
    }

    /// Copies a file, with its permissions.
    pub(crate) fn copy_file(
        &self,
        from: &Place,
        to: Place,
        existing: Existing,
        census: &mut Census,
    ) -> Result<(), FileError> {
        let mut opened = self.open_place(from, census)?;
        let content = opened.read_all()?;
        self.write_place(to, &content, existing, Some(opened.mode)).map(drop)
    }

    /// Removes a file or a link, or an empty folder; with everything in it if that is said.
    pub(crate) fn remove(&self, path: &str, with_content: bool) -> Result<usize, FileError> {
        let place = self.resolve(path, Follow::Nothing)?;
        self.may_take_away(&place, "remove")?;
        let Target::There { name, .. } = &place.target else {
            return Err(FileError::Missing { path: place.path });
        };
        let failed = |errno: Errno| FileError::io("remove", &place.path, errno);
        if place.kind() != Some(Kind::Folder) {
            unlinkat(&*place.parent, name, AtFlags::empty()).map_err(failed)?;
            return Ok(1);
        }
        match unlinkat(&*place.parent, name, AtFlags::REMOVEDIR) {
            Ok(()) => return Ok(1),
            Err(Errno::NOTEMPTY | Errno::EXIST) if with_content => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                return Err(FileError::Unfit(format!(
                    "`{path}` is a folder with something in it; say `recursive` to remove all of it"
                )));
            }
            Err(errno) => return Err(failed(errno)),
        }
        let folder = self.open_folder(&place)?;
        let removed = empty(&folder, &place.path)?;
        unlinkat(&*place.parent, name, AtFlags::REMOVEDIR).map_err(failed)?;
        Ok(removed + 1)
    }

    /// Whether this, and everything in it, may vanish from its place.
    pub(crate) fn may_take_away(&self, place: &Place, action: &'static str) -> Result<(), FileError> {
        self.protected().may_change(&place.path)?;
        if matches!(place.target, Target::Top) {
            return Err(FileError::Unfit(format!("the workspace itself is not for tools to {action}")));
        }
        if place.kind() == Some(Kind::Folder) {
            self.nothing_protected_in(place, action, |_| true)?;
        }
        Ok(())
    }

    /// Whether there is nothing in a folder that is protected in a way that counts.
    pub(crate) fn nothing_protected_in(
        &self,
        place: &Place,
        action: &'static str,
        counts: fn(Protection) -> bool,
    ) -> Result<(), FileError> {
        let mut found = None;
        self.walk_place(place, &mut |entry: Entry<'_>| {
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

pub(super) fn make_folder(parent: &Arc<OwnedFd>, name: &OsStr) -> Result<Arc<OwnedFd>, Errno> {
    match mkdirat(&**parent, name, Mode::from_raw_mode(0o777)) {
        // Somebody else was first; fine if it is a folder, and the next line finds out.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(&**parent, name, flags, Mode::empty()).map(Arc::new)
}

/// Writes a file beside its place, and then puts it there.
pub(super) fn put(
    folder: &OwnedFd,
    name: &OsStr,
    content: &[u8],
    mode: Option<RawMode>,
) -> Result<(), Errno> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
    let temporary = format!(".convoke-{:016x}.tmp", u64::from_ne_bytes(random));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(folder, &temporary, flags, Mode::from_raw_mode(0o666))?;
    let written = || -> Result<(), Errno> {
        let mut file = File::from(made);
        file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if let Some(mode) = mode {
            // Never a set-user-id bit on content that a model wrote.
            fchmod(&file, Mode::from_raw_mode(mode & 0o777))?;
        }
        fsync(&file)?;
        renameat(folder, &temporary, folder, name)
    };
    let result = written();
    if result.is_err() {
        // Nothing more can be done if this fails as well.
        let _ = unlinkat(folder, &temporary, AtFlags::empty());
    }
    result
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

pub(super) fn empty(folder: &OwnedFd, path: &Path) -> Result<usize, FileError> {
    let mut removed = 0;
    for (name, kind) in super::tree::list(folder, path)? {
        let child = path.join(&name);
        let failed = |errno: Errno| FileError::io("remove", &child, errno);
        if kind == Kind::Folder {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = openat(folder, &name, flags, Mode::empty()).map_err(failed)?;
            removed += empty(&inner, &child)?;
            unlinkat(folder, &name, AtFlags::REMOVEDIR).map_err(failed)?;
        } else {
            unlinkat(folder, &name, AtFlags::empty()).map_err(failed)?;
        }
        removed += 1;
    }
    Ok(removed)
}
