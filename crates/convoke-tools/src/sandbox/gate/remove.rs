//! Removals by a command, carried out in the workspace when everything else is: as a whole, or not at all.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::super::inventory::{DEEPEST, Identity, identity};
use super::super::notes::on_a_line;
use super::judge::is_pointer_inside;
use super::{
    CONFLICT, FOLDER, Folder, Gate, GateResult, Refusal, Refused, kind_of, refuse, why_nothing_is_removed,
};
use crate::workspace::{FileKind, empty, listed, opened_up};

/// What a command removed from one folder, until it is known what has come out.
#[derive(Debug)]
pub(super) struct Removals {
    folder: PathBuf,
    identity: Option<Identity>,
    is_foreign: bool,
    names: Vec<OsString>,
    /// What it is called now, if something of another kind is to take its place.
    aside: Option<OsString>,
}

impl Removals {
    pub(super) fn of(folder: &Folder<'_>, names: Vec<OsString>) -> Option<Self> {
        let (identity, is_foreign) = (identified(folder.lower), folder.is_foreign);
        let is_empty = names.is_empty();
        let removals = Self { folder: folder.path.to_owned(), identity, is_foreign, names, aside: None };
        (!is_empty).then_some(removals)
    }

    /// The folder, if it is still the same.
    fn opened(&self, top: &OwnedFd) -> Option<OwnedFd> {
        let open = |folder: OwnedFd, name| openat(&folder, name, FOLDER, Mode::empty()).ok();
        let folder = self.folder.iter().try_fold(top.try_clone().ok()?, open)?;
        (identified(&folder) == self.identity).then_some(folder)
    }
}

impl Gate<'_> {
    /// Gives something another name, beside it, until it is known whether it is removed: something of another kind takes its
    /// place. Says whether that was done.
    pub(super) fn set_aside(&self, folder: &Folder<'_>, name: &OsStr, out: &mut GateResult) -> bool {
        let path = folder.path.join(name);
        let conflict = folder.is_foreign.then(|| CONFLICT.to_owned());
        let put = || {
            let mut random = [0_u8; 4];
            getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
            let mut aside = name.to_owned();
            aside.push(format!(".kept-{:08x}", u32::from_ne_bytes(random)));
            renameat(folder.lower, name, folder.lower, &aside).map(|()| aside)
        };
        let put = match conflict.or_else(|| self.why_kept(folder.lower, name, &path, &mut out.unlinked)) {
            None => put().map_err(|errno| format!("what is there cannot be moved: {errno}")),
            Some(why) => Err(why),
        };
        match put {
            Ok(aside) => {
                let removals = Removals::of(folder, vec![name.to_owned()]);
                out.removals.extend(removals.map(|removals| Removals { aside: Some(aside), ..removals }));
                true
            }
            Err(why) => {
                refuse(out, &path, why);
                false
            }
        }
    }

    /// Removes what the command has removed, each with everything in it or not at all.
    pub(super) fn carry_out_removals(&self, top: &OwnedFd, out: &mut GateResult) {
        let kept = why_nothing_is_removed(&out.refused);
        for removals in std::mem::take(&mut out.removals) {
            let lower = removals.opened(top);
            for name in &removals.names {
                let path = removals.folder.join(name);
                let removed = match (&lower, &removals.aside) {
                    (None, _) => Err((CONFLICT.to_owned(), Refused::Nothing)),
                    (Some(lower), None) => {
                        let (is_foreign, kept) = (removals.is_foreign, kept.as_deref());
                        self.remove(lower, name, &path, is_foreign, kept, &mut out.unlinked)
                    }
                    (Some(lower), Some(aside)) => finish(lower, name, aside, &path, kept.as_deref()),
                };
                match removed {
                    Ok(changes) => out.changes += changes,
                    Err((why, what)) => out.refused.push(Refusal { path, why, what }),
                }
            }
        }
    }

    fn remove(
        &self,
        lower: &OwnedFd,
        name: &OsStr,
        path: &Path,
        is_foreign: bool,
        kept: Option<&str>,
        unlinked: &mut HashSet<Identity>,
    ) -> Result<usize, (String, Refused)> {
        if statat(lower, name, AtFlags::SYMLINK_NOFOLLOW).is_err() {
            return Ok(0);
        }
        let conflict = is_foreign.then(|| CONFLICT.to_owned());
        if let Some(why) = conflict.or_else(|| self.why_kept(lower, name, path, unlinked)) {
            return Err((why, Refused::Nothing));
        }
        match kept {
            Some(why) => Err((why.to_owned(), Refused::Kept)),
            None => remove(lower, name, path)
                .map_err(|errno| (format!("it cannot be removed: {errno}"), Refused::Nothing)),
        }
    }

    /// Why something is kept, if it is. If not, files in it lose a name that have several.
    fn why_kept(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        path: &Path,
        unlinked: &mut HashSet<Identity>,
    ) -> Option<String> {
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
            let why = match (is_pointer, self.is_newer(&stat, unlinked)) {
                (true, _) => Some("it says where a repository is, and was kept".to_owned()),
                (false, true) => Some(CONFLICT.to_owned()),
                (false, false) => None,
            };
            unlinked.extend((why.is_none() && stat.st_nlink > 1).then(|| identity(&stat)));
            return why;
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
            let why = self.why_kept(inner, name, &path, unlinked)?;
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

/// Removes what was set aside; if it is kept, it gets its name back, or keeps the other one where that is taken.
fn finish(
    lower: &OwnedFd,
    name: &OsStr,
    aside: &OsStr,
    path: &Path,
    kept: Option<&str>,
) -> Result<usize, (String, Refused)> {
    let now = on_a_line(&path.with_file_name(aside));
    let Some(why) = kept else {
        let failed = |errno| format!("what was there cannot be removed, and is `{now}` now: {errno}");
        return remove(lower, aside, path).map_err(|errno| (failed(errno), Refused::Nothing));
    };
    let is_free = statat(lower, name, AtFlags::SYMLINK_NOFOLLOW).is_err();
    Err(match is_free && renameat(lower, aside, lower, name).is_ok() {
        true => (why.to_owned(), Refused::Kept),
        false => (format!("what was there is `{now}` now: {why}"), Refused::Kept),
    })
}

fn identified(folder: &OwnedFd) -> Option<Identity> {
    fstat(folder).ok().map(|stat| identity(&stat))
}
