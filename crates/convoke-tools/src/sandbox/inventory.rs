//! The inventory of secrets: what must not be in a view, found without looking through everything each time.
//!
//! A folder is listed again only if it was changed since: the kernel sets the time of a folder's last change, and nobody can
//! set it back. What cannot be looked into is hidden as a whole: nobody knows what is in there.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::made;
use super::other_names::{LinkedFile, LinkedSecrets};
use crate::repository::is_repository;
use crate::workspace::{FileError, FileKind, Protected, Protection, listed};

/// A folder that was changed so shortly before it was listed may have been changed again within the same tick of the clock.
const TICK: Duration = Duration::from_millis(50);

/// Folders that are deeper than this are hidden as a whole: nobody looks through them.
pub(super) const DEEPEST: usize = 128;

/// A folder's secrets, as they were found last.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    folders: HashMap<PathBuf, Listed>,
}

#[derive(Debug, Clone)]
struct Listed {
    folder: Identity,
    changed: (i64, i64),
    is_settled: bool,
    folders: Vec<OsString>,
    hidden: Vec<(OsString, FileKind)>,
    is_tree: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct FoundSecrets {
    /// What is hidden: every name that a secret has, and what is no file; a folder with everything in it.
    pub(super) hidden: Vec<(PathBuf, FileKind)>,
    /// Folders that are working trees of git, or repositories without one.
    pub(super) trees: Vec<PathBuf>,
    /// Which folders were where, by device and number.
    pub(super) folders: HashMap<PathBuf, Identity>,
}

/// What a folder keeps when it gets another name: its device, and its number there.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

impl Inventory {
    /// What must be hidden of a folder, whose secrets have these names.
    pub(super) fn look(&mut self, top: &Path, protected: &Protected) -> Result<FoundSecrets, FileError> {
        let mut found = FoundSecrets::default();
        let mut known = std::mem::take(&mut self.folders);
        let device = stat(top).map_err(|errno| FileError::io("look at", Path::new(""), errno))?.st_dev;
        let mut ahead = vec![PathBuf::new()];
        while let Some(path) = ahead.pop() {
            let place = top.join(&path);
            let listed = match stat(&place) {
                _ if path.components().count() > DEEPEST => None,
                Ok(stat) if stat.st_dev != device || !is_folder(&stat) => None,
                Ok(stat) => match known.remove(&path).filter(|known| known.is_still(&stat)) {
                    Some(known) => Some(known),
                    None => Listed::of(&place, &path, &stat, protected),
                },
                Err(_) => None,
            };
            let Some(listed) = listed else {
                if path.as_os_str().is_empty() {
                    return Err(FileError::Unfit(
                        "denied: the workspace cannot be looked through".to_owned(),
                    ));
                }
                found.hidden.push((path, FileKind::Folder));
                continue;
            };
            if listed.is_tree {
                found.trees.push(path.clone());
            }
            found.hidden.extend(listed.hidden.iter().map(|(name, kind)| (path.join(name), *kind)));
            ahead.extend(listed.folders.iter().map(|name| path.join(name)));
            found.folders.insert(path.clone(), listed.folder);
            self.folders.insert(path, listed);
        }
        found
            .hidden
            .retain(|(path, kind)| *kind != FileKind::File || !made::is_by_a_command(&top.join(path), path));
        self.other_names(top, &mut found);
        Ok(found)
    }

    /// Hides secrets by the other names they have. That a file got one shows in the file only.
    fn other_names(&self, top: &Path, found: &mut FoundSecrets) {
        let secrets = LinkedSecrets::of(top, &found.hidden);
        if secrets.are_none() {
            return;
        }
        let mut seen = Vec::new();
        for path in self.folders.keys() {
            let Some(folder) = opened(&top.join(path)) else { continue };
            let files = listed(&folder, path).unwrap_or_default().into_iter();
            for (name, _) in files.filter(|(_, kind)| *kind == FileKind::File) {
                let file = LinkedFile::at(&folder, Path::new(&name));
                seen.extend(file.map(|file| (path.join(name), file)));
            }
        }
        let hidden: HashSet<PathBuf> = found.hidden.iter().map(|(path, _)| path.clone()).collect();
        seen.retain(|(path, _)| !hidden.contains(path));
        found.hidden.extend(secrets.among(seen).map(|path| (path, FileKind::File)));
        found.hidden.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
}

impl Listed {
    fn of(place: &Path, path: &Path, stat: &Stat, protected: &Protected) -> Option<Self> {
        let entries = listed(&opened(place)?, path).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let changed = changed_at(stat);
        let seconds = u64::try_from(changed.0).unwrap_or_default();
        let nanoseconds = u32::try_from(changed.1).unwrap_or_default();
        let is_settled = Duration::new(seconds, nanoseconds) + TICK < now;
        let folder = identity(stat);
        let (folders, hidden) = (Vec::new(), Vec::new());
        let is_tree = is_repository(&|name| entries.iter().any(|(entry, _)| entry == name));
        let mut listed = Self { folder, changed, is_settled, folders, hidden, is_tree };
        for (name, kind) in entries {
            let is_secret = protected.of(&path.join(&name)) == Some(Protection::Secret);
            match kind {
                // Sockets are other programs', and pipes somebody else's.
                _ if is_secret || matches!(kind, FileKind::Other(_)) => listed.hidden.push((name, kind)),
                _ if name == ".git" => {
                    listed.is_tree = true;
                    listed.folders.extend((kind == FileKind::Folder).then_some(name));
                }
                FileKind::Folder => listed.folders.push(name),
                _ => {}
            }
        }
        Some(listed)
    }

    fn is_still(&self, stat: &Stat) -> bool {
        self.is_settled && self.changed == changed_at(stat) && self.folder == identity(stat)
    }
}

/// When something was changed last, in a way that nobody can set back.
#[allow(clippy::unnecessary_cast, reason = "its types depend on the machine")]
pub(super) fn changed_at(stat: &Stat) -> (i64, i64) {
    (stat.st_ctime as i64, stat.st_ctime_nsec as i64)
}

/// When the content of something was written last, as far as nobody has set that back.
#[allow(clippy::unnecessary_cast, reason = "its types depend on the machine")]
pub(super) fn written_at(stat: &Stat) -> (i64, i64) {
    (stat.st_mtime as i64, stat.st_mtime_nsec as i64)
}

fn stat(place: &Path) -> Result<Stat, Errno> {
    statat(CWD, place, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

pub(super) fn opened(place: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, place, flags, Mode::empty()).ok()
}
