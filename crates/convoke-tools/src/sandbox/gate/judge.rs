//! The decision whether one file or link may come out.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, readlinkat, statat};

use super::super::made;
use super::super::system::PROGRAMS;
use super::Gate;
use crate::repository::{
    Config, RepositoryFile, is_harmless_pointer, is_harmless_progress, part_of, reduced,
};
use crate::workspace::{FileKind, Protection};

/// More than this is not read to be judged.
const LONGEST: u64 = 16 << 20;
const PROTECTED: &str = "it is protected: no tool may make or change it";
const EXECUTED: &str = "git executes or believes it: no tool may make or change it";

pub(super) enum GateVerdict {
    /// It comes out.
    Take,
    /// It comes out, though by its name it would be a secret: the command has made it.
    TakeMade,
    /// It comes out with another content; what is left out is told.
    Reduce {
        content: Vec<u8>,
        told: Option<String>,
    },
    /// It is what it was.
    Ignore,
    Refuse(String),
}

/// Something in the upper layer.
pub(super) struct Candidate<'j> {
    pub(super) folder: &'j OwnedFd,
    pub(super) name: &'j OsStr,
    pub(super) path: &'j Path,
    pub(super) kind: FileKind,
    /// Its path from the folder of git's that it is in.
    pub(super) git: Option<&'j Path>,
    /// The folder in the workspace, if there is something of that name in it.
    pub(super) before: Option<&'j OwnedFd>,
}

impl Candidate<'_> {
    /// Whether it is what it was, but for its mode and times.
    pub(super) fn is_same(&self) -> bool {
        let Some(before) = self.before else { return false };
        match self.kind {
            FileKind::Link => {
                let to = |folder: &OwnedFd| readlinkat(folder, self.name, Vec::new()).ok();
                to(before).is_some() && to(before) == to(self.folder)
            }
            FileKind::File => {
                let size = |folder: &OwnedFd| {
                    statat(folder, self.name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_size)
                };
                size(before) == size(self.folder)
                    && read(before, self.name).is_some_and(|was| read(self.folder, self.name) == Some(was))
            }
            _ => false,
        }
    }

    fn content(&self) -> Vec<u8> {
        read(self.folder, self.name).unwrap_or_default()
    }
}

impl Gate<'_> {
    pub(super) fn protection(&self, path: &Path) -> Option<Protection> {
        let is_hidden = path.ancestors().any(|above| self.hidden.contains(above));
        if is_hidden { Some(Protection::Secret) } else { self.workspace.protected().of(path) }
    }

    /// Whether something is kept though the command has removed it.
    pub(super) fn is_kept(&self, path: &Path) -> bool {
        match self.protection(path) {
            None => false,
            Some(Protection::Secret) => true,
            // Data of git's that only file tools are kept from: git itself may remove it.
            Some(_) => {
                let names: Vec<_> = path.iter().collect();
                let git = names.iter().rposition(|name| name.eq_ignore_ascii_case(".git"));
                let below = git.map(|git| names[git + 1..].iter().collect::<PathBuf>());
                // A working tree that is removed takes its folder with it.
                let is_tree = |below: &Path| below.starts_with("worktrees");
                !below.is_some_and(|below| {
                    is_tree(&below)
                        || matches!(
                            part_of(&below),
                            RepositoryFile::Data | RepositoryFile::Progress | RepositoryFile::Sample
                        )
                })
            }
        }
    }

    /// Why a folder of this name may not be made or changed inside.
    pub(super) fn refused_folder(&self, path: &Path) -> Option<&'static str> {
        (self.protection(path) == Some(Protection::Secret)).then_some(PROTECTED)
    }

    pub(super) fn verdict(&self, judged: &Candidate<'_>, is_new_repository: bool) -> GateVerdict {
        let refuse = |why: &str| {
            if judged.is_same() { GateVerdict::Ignore } else { GateVerdict::Refuse(why.to_owned()) }
        };
        let place = self.workspace.path().join(judged.path);
        let is_link = match judged.kind {
            FileKind::File => false,
            FileKind::Link => true,
            // What stands in the place of a secret, touched.
            FileKind::Other(_) if self.protection(judged.path) == Some(Protection::Secret) => {
                return GateVerdict::Refuse(PROTECTED.to_owned());
            }
            FileKind::Folder | FileKind::Other(_) => {
                return GateVerdict::Refuse(format!(
                    "it is {}: only files, folders and links come out",
                    judged.kind.name()
                ));
            }
        };
        let length = |stat: rustix::fs::Stat| u64::try_from(stat.st_size).unwrap_or_default();
        let length = statat(judged.folder, judged.name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, length);
        if !is_link && self.secrets.have(length, || judged.content()) {
            return refuse("it is a copy of a protected file");
        }
        // A link on the way to something that git executes would lead to something else.
        if self
            .controls
            .iter()
            .any(|controls| controls.hold(&place) || is_link && controls.are_beneath(&place))
        {
            return refuse(EXECUTED);
        }
        if judged.name.eq_ignore_ascii_case(".git") {
            let folder = place.parent().unwrap_or(&place);
            let is_harmless = !is_link
                && judged.name == ".git"
                && is_harmless_pointer(".git", &judged.content(), folder, self.workspace.path());
            return if is_harmless && judged.before.is_none() { GateVerdict::Take } else { refuse(EXECUTED) };
        }
        let protection = self.protection(judged.path);
        if protection == Some(Protection::Secret) {
            let is_made = !is_link && judged.before.is_none() && made::may_be(judged.path);
            return if is_made { GateVerdict::TakeMade } else { GateVerdict::Refuse(PROTECTED.to_owned()) };
        }
        match judged.git.map(|git| (git, part_of(git))) {
            Some((_, RepositoryFile::Data | RepositoryFile::Sample)) | None if is_link => {
                self.verdict_on_link(judged)
            }
            Some((_, RepositoryFile::Data)) => GateVerdict::Take,
            Some((_, RepositoryFile::Sample)) if judged.before.is_none() => GateVerdict::Take,
            Some((_, RepositoryFile::Config)) if !is_link => {
                self.verdict_on_config(judged, &place, is_new_repository)
            }
            Some((git, RepositoryFile::Progress)) if !is_link && is_harmless(git, judged) => {
                GateVerdict::Take
            }
            Some((git, RepositoryFile::Pointer)) if !is_link && git.ends_with("commondir") => {
                let folder = place.parent().unwrap_or(&place);
                let content = judged.content();
                let is_harmless = is_harmless_pointer("commondir", &content, folder, self.workspace.path());
                if is_harmless && judged.before.is_none() { GateVerdict::Take } else { refuse(EXECUTED) }
            }
            Some(_) => refuse(EXECUTED),
            None if protection == Some(Protection::ReadOnly) => refuse(PROTECTED),
            None => GateVerdict::Take,
        }
    }

    /// Settings of a repository: what is harmless comes out.
    fn verdict_on_config(
        &self,
        judged: &Candidate<'_>,
        place: &Path,
        is_new_repository: bool,
    ) -> GateVerdict {
        let Some(after) = Config::read(&judged.content()) else {
            return GateVerdict::Refuse("it cannot be read as git's configuration".to_owned());
        };
        let before = judged.before.filter(|_| !is_new_repository);
        let before = match before.map(|folder| read(folder, judged.name).unwrap_or_default()) {
            None => Config::default(),
            Some(content) => match Config::read(&content) {
                Some(before) => before,
                None => return GateVerdict::Refuse(EXECUTED.to_owned()),
            },
        };
        let folder = place.parent().unwrap_or(place);
        let is_inside = |to: &str| {
            let mut real = folder.to_owned();
            for part in Path::new(to).components() {
                match part {
                    Component::ParentDir => drop(real.pop()),
                    Component::CurDir => {}
                    part => real.push(part),
                }
            }
            real.starts_with(self.workspace.path())
        };
        let reduced = reduced(&before, &after, &is_inside);
        let told = (!reduced.refused.is_empty()).then(|| {
            format!(
                "git would execute or believe these settings, so they stay as they were: {}",
                reduced.refused_names()
            )
        });
        if judged.before.is_some() && reduced.config == before {
            return told.map_or(GateVerdict::Ignore, GateVerdict::Refuse);
        }
        GateVerdict::Reduce { content: reduced.config.to_string().into_bytes(), told }
    }

    /// Links lead to something in the workspace, or to programs of the machine.
    fn verdict_on_link(&self, judged: &Candidate<'_>) -> GateVerdict {
        let Ok(target) = readlinkat(judged.folder, judged.name, Vec::new()) else {
            return GateVerdict::Refuse("it cannot be read".to_owned());
        };
        let target = PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()));
        if self.protection(judged.path).is_some() {
            return GateVerdict::Refuse(PROTECTED.to_owned());
        }
        let leads_out = || GateVerdict::Refuse("it is a link that leads out of the workspace".to_owned());
        // After a name, `..` goes up from wherever that name leads.
        let mut depth = judged.path.components().count().saturating_sub(1);
        let mut is_beginning = true;
        let inside = target.strip_prefix(self.workspace.path()).ok();
        if target.is_absolute() && inside.is_none() {
            let is_ours = self.covered.iter().any(|place| target.starts_with(place));
            let is_system = !is_ours && PROGRAMS.iter().any(|place| target.starts_with(place));
            let is_program = self.readable.iter().any(|folder| target.starts_with(folder))
                && std::fs::metadata(&target)
                    .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
            let is_straight = !target.components().any(|part| part == Component::ParentDir);
            return if is_straight && (is_system || is_program) { GateVerdict::Take } else { leads_out() };
        }
        if inside.is_some() {
            depth = 0;
        }
        for part in inside.unwrap_or(&target).components() {
            match part {
                Component::ParentDir if is_beginning && depth > 0 => depth -= 1,
                Component::ParentDir => return leads_out(),
                Component::Normal(_) => is_beginning = false,
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return leads_out(),
            }
        }
        GateVerdict::Take
    }
}

/// Whether a file of an interrupted rebase executes nothing when that is continued.
fn is_harmless(git: &Path, judged: &Candidate<'_>) -> bool {
    // What a rebase of merges has rewritten is in a folder of its own, a file for each commit.
    let folder = git.parent().and_then(Path::file_name);
    let is_rewritten = folder.is_some_and(|folder| folder == "rewritten");
    is_rewritten || judged.name.to_str().is_some_and(|name| is_harmless_progress(name, &judged.content()))
}

/// What is in a file, if it is not too long to be judged.
pub(super) fn read(folder: &OwnedFd, name: &OsStr) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(openat(folder, name, flags, Mode::empty()).ok()?);
    let mut content = Vec::new();
    let is_whole = file.take(LONGEST + 1).read_to_end(&mut content).ok()? as u64 <= LONGEST;
    is_whole.then_some(content)
}

/// Whether a file `.git` leads to a repository of the workspace: then it says nothing that anybody would miss.
pub(super) fn is_pointer_inside(gate: &Gate<'_>, folder: &OwnedFd, path: &Path) -> bool {
    let place = gate.workspace.path().join(path);
    let content = read(folder, OsStr::new(".git")).unwrap_or_default();
    is_harmless_pointer(".git", &content, place.parent().unwrap_or(&place), gate.workspace.path())
}

/// Whether a repository with these settings executes nothing.
pub(super) fn is_harmless_config(folder: &OwnedFd, name: &OsStr) -> bool {
    let config = read(folder, name).and_then(|content| Config::read(&content));
    config.is_some_and(|config| reduced(&Config::default(), &config, &|_| false).refused.is_empty())
}
