//! Removals by a command, carried out in the workspace: as a whole, or not at all.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, openat, statat, unlinkat};
use rustix::io::Errno;

use super::super::inventory::DEEPEST;
use super::super::notes::on_a_line;
use super::judge::is_pointer_inside;
use super::{CONFLICT, FOLDER, Folder, Gate, GateResult, kind_of, refuse};
use crate::workspace::{FileKind, empty, listed, opened_up};

impl Gate<'_> {
    /// Removes something with everything in it, if all of it may be. Says whether nothing is left of it.
    pub(super) fn remove(&self, folder: &Folder<'_>, name: &OsStr, out: &mut GateResult) -> bool {
        let path = folder.path.join(name);
        let is_there = || statat(folder.lower, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if folder.is_foreign && is_there() {
            refuse(out, &path, CONFLICT);
            return false;
        }
        let removed = self.why_kept(folder.lower, name, &path).map_or_else(
            || remove(folder.lower, name, &path).map_err(|errno| format!("it cannot be removed: {errno}")),
            Err,
        );
        match removed {
            Ok(changes) => {
                out.changes += changes;
                true
            }
            Err(why) => {
                refuse(out, &path, why);
                false
            }
        }
    }

    /// Why something is kept, if it is.
    fn why_kept(&self, folder: &OwnedFd, name: &OsStr, path: &Path) -> Option<String> {
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return None,
            Err(errno) => return Some(format!("it cannot be looked at: {errno}")),
        };
        let place = self.workspace.path().join(path);
        if self.is_kept(path) || self.controls.iter().any(|controls| controls.hold(&place)) {
            return Some("it is protected, and was kept".to_owned());
        }
        let kind = kind_of(&stat);
        if kind != FileKind::Folder {
            let is_pointer = name == ".git" && !is_pointer_inside(self, folder, path);
            return match (is_pointer, self.is_newer(&stat)) {
                (true, _) => Some("it says where a repository is, and was kept".to_owned()),
                (false, true) => Some(CONFLICT.to_owned()),
                (false, false) => None,
            };
        }
        if self.is_another(path, &stat) {
            return Some(CONFLICT.to_owned());
        }
        if path.components().count() > DEEPEST {
            return Some("it is too deep to be looked through, and was kept".to_owned());
        }
        let inner = openat(folder, name, FOLDER, Mode::empty());
        let entries = inner.as_ref().ok().and_then(|inner| listed(inner, path).ok());
        let (Ok(inner), Some(entries)) = (&inner, entries) else {
            return Some("it cannot be listed, and was kept".to_owned());
        };
        entries.iter().find_map(|(name, kind)| {
            let path = path.join(name);
            let why = self.why_kept(inner, name, &path)?;
            // The innermost is what it is about.
            Some(if *kind == FileKind::Folder {
                why
            } else {
                format!("`{}` is in it: {why}", on_a_line(&path))
            })
        })
    }
}

fn remove(folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<usize, Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => return Ok(1),
        Err(Errno::NOENT) => return Ok(0),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let inner = opened_up(folder, name)?;
    let removed = empty(&inner, path, opened_up).map_err(|_| Errno::IO)?;
    unlinkat(folder, name, AtFlags::REMOVEDIR)?;
    Ok(removed + 1)
}
