//! The changes in the upper layer of a view, path by path, as the gate will judge them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, openat, statat};

use super::super::super::inventory::DEEPEST;
use super::super::judge::{Candidate, GateVerdict};
use super::super::{FOLDER, Gate, Refusal, Refused, is_opaque, is_whiteout, kind_of};
use super::Changes;
use super::one::{Change, Changed};
use crate::workspace::{FileKind, listed, opened_up};

/// A folder that is gone through: in the upper layer, and in the workspace if it was there.
pub(super) struct Place<'p> {
    pub(super) upper: &'p OwnedFd,
    pub(super) lower: Option<&'p OwnedFd>,
    path: &'p Path,
    /// The way to it from the folder of git's that it is in.
    git: Option<&'p Path>,
    is_new_repository: bool,
}

impl<'p> Place<'p> {
    pub(super) fn top(upper: &'p OwnedFd, lower: &'p OwnedFd) -> Self {
        Self { upper, lower: Some(lower), path: Path::new(""), git: None, is_new_repository: false }
    }
}

impl Changes {
    pub(super) fn folder(&mut self, gate: &Gate<'_>, place: &Place<'_>) {
        let Ok(mut entries) = listed(place.upper, place.path) else {
            return self.refuse(place.path, "it cannot be listed");
        };
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        if is_opaque(place.upper) {
            let kept: HashSet<&OsStr> = entries.iter().map(|(name, _)| name.as_os_str()).collect();
            let before = place.lower.and_then(|lower| listed(lower, place.path).ok()).unwrap_or_default();
            for (name, _) in before.iter().filter(|(name, _)| !kept.contains(name.as_os_str())) {
                self.removed(place, name);
            }
        }
        for (name, kind) in &entries {
            match kind {
                FileKind::Folder => self.enter(gate, place, name),
                FileKind::Other(_) if is_whiteout(place.upper, name) => self.removed(place, name),
                kind => self.one(gate, place, name, *kind),
            }
        }
    }

    fn enter(&mut self, gate: &Gate<'_>, place: &Place<'_>, name: &OsStr) {
        let path = place.path.join(name);
        if let Some(why) = gate.refused_folder(&path) {
            return self.refuse(&path, why);
        }
        if path.components().count() > DEEPEST {
            return self.refuse(&path, format!("it is in more than {DEEPEST} folders"));
        }
        let after = statat(place.upper, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let before = place.lower.and_then(|lower| statat(lower, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        let Ok(upper) = opened_up(place.upper, name) else {
            return self.refuse(&path, "it cannot be opened");
        };
        let lower = place.lower.and_then(|lower| openat(lower, name, FOLDER, Mode::empty()).ok());
        let git = gate.git_below(place.git, place.is_new_repository, name, &upper, lower.as_ref());
        let (git, is_new_repository) = git.map_or((None, false), |(git, is_new)| (Some(git), is_new));
        if git.is_none() || before.is_some() {
            self.folder_itself(&path, before.as_ref(), after.as_ref());
        } else {
            self.data("folders");
        }
        let (lower, git) = (lower.as_ref(), git.as_deref());
        self.folder(gate, &Place { upper: &upper, lower, path: &path, git, is_new_repository });
    }

    fn folder_itself(
        &mut self,
        path: &Path,
        before: Option<&rustix::fs::Stat>,
        after: Option<&rustix::fs::Stat>,
    ) {
        match before {
            None => self.add(Changed::new(path, Change::Made)),
            Some(before) if kind_of(before) != FileKind::Folder => {
                let was = format!("was {}, is a folder", kind_of(before).name());
                self.add(Changed::new(path, Change::Changed).saying(was));
            }
            Some(before) => {
                let mode = after.map(|after| (before.st_mode & 0o777, after.st_mode & 0o777));
                // One that its owner could not look into stays as it is.
                if let Some((was, is)) = mode.filter(|(was, is)| was != is && is & 0o700 == 0o700) {
                    self.add(Changed::new(path, Change::Changed).saying(format!("mode {was:o} → {is:o}")));
                }
            }
        }
    }

    fn removed(&mut self, place: &Place<'_>, name: &OsStr) {
        let path = place.path.join(name);
        let before = place.lower.and_then(|lower| statat(lower, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        let (Some(before), Some(lower)) = (before, place.lower) else { return };
        let git = place.git.map(|git| git.join(name));
        let removed = Changed::new(&path, Change::Removed);
        let removed = match kind_of(&before) {
            FileKind::Folder => {
                let inner = openat(lower, name, FOLDER, Mode::empty());
                removed.saying(format!("with the {} files and folders in it", inner.map_or(0, count)))
            }
            _ => removed,
        };
        match git {
            Some(git) if !super::git::is_told(&git) => self.data_of(&git),
            _ => self.add(removed),
        }
    }

    fn one(&mut self, gate: &Gate<'_>, place: &Place<'_>, name: &OsStr, kind: FileKind) {
        let path = place.path.join(name);
        let before = place.lower.and_then(|lower| statat(lower, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        let own = place.lower.filter(|_| before.is_some());
        let git = place.git.map(|git| git.join(name));
        let judged =
            Candidate { folder: place.upper, name, path: &path, kind, git: git.as_deref(), before: own };
        match (gate.verdict(&judged, place.is_new_repository), &git) {
            (GateVerdict::Ignore, _) => {}
            (GateVerdict::Refuse(why), _) => self.refused.push(Refusal::of(&judged, why)),
            (GateVerdict::Reduce { content, told }, _) => {
                self.settings(&judged, &content, place.is_new_repository);
                if let Some(why) = told {
                    self.refused.push(Refusal { path, why, what: Refused::Nothing });
                }
            }
            (GateVerdict::Take | GateVerdict::TakeMade, Some(git)) if !super::git::is_told(git) => {
                self.data_of(git)
            }
            (GateVerdict::Take | GateVerdict::TakeMade, Some(_)) => self.reference(&judged),
            (GateVerdict::Take | GateVerdict::TakeMade, None) => self.add(Changed::of(&judged)),
        }
    }

    pub(super) fn refuse(&mut self, path: &Path, why: impl Into<String>) {
        self.refused.push(Refusal { path: path.to_owned(), why: why.into(), what: Refused::Content });
    }

    fn data_of(&mut self, git: &Path) {
        let part = git.iter().next().unwrap_or_default().to_string_lossy().into_owned();
        self.hash.update(git.as_os_str().as_encoded_bytes());
        self.data(&part);
    }

    fn data(&mut self, part: &str) {
        *self.data.entry(part.to_owned()).or_default() += 1;
    }
}

/// How much is in a folder.
fn count(folder: OwnedFd) -> usize {
    let mut counted = 0;
    let mut ahead = vec![(folder, PathBuf::new())];
    while let Some((folder, path)) = ahead.pop() {
        for (name, kind) in listed(&folder, &path).unwrap_or_default() {
            counted += 1;
            if kind == FileKind::Folder && path.components().count() < DEEPEST {
                let inner = openat(&folder, &name, FOLDER, Mode::empty());
                ahead.extend(inner.map(|inner| (inner, path.join(&name))));
            }
        }
    }
    counted
}
