//! The one gate through which what a command changed comes out of its view.
//!
//! The upper layer of the view is gone through, path by path, and what may be is moved into the workspace: by the same rules
//! as for file tools, and by those on what git executes. What was changed in the workspace meanwhile, by a person or another
//! command, is never overwritten. Whatever is refused is told, with the reason, and goes with the view.
//!
//! Removals come last, and not at all if something that has content did not come out: what was removed may be what that was, under
//! its old name, and would be lost with the view.
//!
//! Nothing of the command lives any more when this begins. Folders are opened by handles, and links never followed: the
//! upper layer is what the command made of it.

mod changes;
mod judge;
mod remove;
mod secrets;
mod take;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

pub(crate) use self::changes::Changes;
use self::judge::{Candidate, GateVerdict};
use self::remove::Removals;
pub(crate) use self::secrets::Secrets;
use super::inventory::{DEEPEST, Identity, changed_at, identity, written_at};
use super::layers::{Layers, UPPER};
use super::notes::on_a_line;
use super::{LostChanges, SandboxError};
use crate::repository::{Controls, RepositoryFile, is_repository, part_of};
use crate::workspace::{FileError, FileKind, Workspace, listed, opened_up};

/// What a command changed, and may not have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) path: PathBuf,
    pub(super) why: String,
    pub(super) what: Refused,
}

/// What it is that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// A file, a folder or a link: it goes with the view.
    Content,
    /// A pipe, a setting, a removal: nothing is lost with it.
    Nothing,
    /// A removal that could have been, were it not for the content that was refused.
    Kept,
}

/// What has come out.
#[derive(Debug, Default)]
pub(super) struct GateResult {
    /// Files, folders and links that were made, changed or removed.
    pub(super) changes: usize,
    pub(super) refused: Vec<Refusal>,
    /// What is still to be removed.
    removals: Vec<Removals>,
    /// Files with several names that have lost one here: for that they are changed by nobody else.
    unlinked: HashSet<Identity>,
}

impl GateResult {
    /// What was lost with all that was refused.
    pub(super) fn lost(&self) -> LostChanges {
        let is_overtaken = |refusal: &Refusal| refusal.why == CONFLICT || refusal.what == Refused::Kept;
        match self.refused.as_slice() {
            [] => LostChanges::None,
            refused if refused.iter().all(is_overtaken) => LostChanges::Overtaken,
            _ => LostChanges::Refused,
        }
    }
}

/// What is known of a command's view when its changes come out.
#[derive(Debug)]
pub(super) struct Gate<'a> {
    pub(super) workspace: &'a Workspace,
    /// When the view was made, as file systems tell the time. What was changed in the workspace since is somebody else's.
    pub(super) since: (i64, i64),
    /// Which folders were where when the view was made. A folder that gets another name keeps the times of what is in it.
    pub(super) folders: &'a HashMap<PathBuf, Identity>,
    /// What was hidden in the view: by its name, or because it is another name of a secret.
    pub(super) hidden: HashSet<&'a Path>,
    /// What is in protected files, of which no copy comes out.
    pub(super) secrets: Secrets,
    /// What git executes in the working trees of the workspace, and above it.
    pub(super) controls: Vec<Controls>,
    /// Folders outside that commands may read, whose programs links may lead to.
    pub(super) readable: Vec<PathBuf>,
    /// What views do not show though it lies among the system's programs: no link leads there.
    pub(super) covered: &'a [PathBuf],
    /// The most that may come out, in bytes.
    pub(super) most: u64,
}

/// A folder that is gone through: in the upper layer, and in the workspace.
struct Folder<'f> {
    upper: &'f OwnedFd,
    lower: &'f OwnedFd,
    path: &'f Path,
    /// The way to it from the folder of git's that it is in.
    git: Option<&'f Path>,
    /// Whether it has become a folder of git's only now: what is there as settings was nobody's decision.
    is_new_repository: bool,
    /// Whether it is not the folder that was there when the view was made: nothing in it is overwritten or removed.
    is_foreign: bool,
}

/// Opens a folder to be listed and changed.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Gate<'_> {
    /// Brings out what may be.
    pub(super) fn bring_out(&self, layers: &Layers) -> Result<GateResult, SandboxError> {
        let failed = |errno: Errno| FileError::io("take over the changes in", Path::new(""), errno);
        let mut out = GateResult::default();
        let parent = openat(CWD, layers.path(), FOLDER, Mode::empty()).map_err(failed)?;
        let upper = opened_up(&parent, OsStr::new(UPPER)).map_err(failed)?;
        if let Some(why) = self.too_much(&upper) {
            refuse(&mut out, Path::new(""), why);
            return Ok(out);
        }
        // One change at a time: file tools of this process wait.
        let _changing = self.workspace.changing();
        let lower = openat(&**self.workspace.root(), ".", FOLDER, Mode::empty()).map_err(failed)?;
        // After everything that takes time: from here on nobody knows any more that nothing has come out.
        layers.come_out()?;
        let top = Folder {
            upper: &upper,
            lower: &lower,
            path: Path::new(""),
            git: None,
            is_new_repository: false,
            is_foreign: false,
        };
        self.folder(&top, &mut out);
        self.carry_out_removals(&lower, &mut out);
        layers.are_out();
        Ok(out)
    }

    /// Why nothing comes out, if it is more than may.
    fn too_much(&self, upper: &OwnedFd) -> Option<String> {
        const MOST_ENTRIES: u64 = 2_000_000;
        let (mut bytes, mut entries) = (0_u64, 0_u64);
        let mut ahead = vec![upper.try_clone().ok()?];
        let mut counted = HashSet::new();
        while let Some(folder) = ahead.pop() {
            for (name, kind) in listed(&folder, Path::new("")).unwrap_or_default() {
                entries += 1;
                if kind == FileKind::Folder {
                    ahead.extend(opened_up(&folder, &name));
                } else if let Ok(stat) = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)
                    && (stat.st_nlink == 1 || counted.insert(stat.st_ino))
                {
                    bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * 512;
                }
                if ahead.len() > 500 {
                    // Handles are few. A tree as wide as this is gone through in the end all the same.
                    break;
                }
            }
            if bytes > self.most || entries > MOST_ENTRIES {
                return Some(format!(
                    "nothing was taken over: the command wrote more than the {} MiB or {MOST_ENTRIES} files that may come out \
                     (`file_mb` and `written_mb` in `[limits]` of the policy)",
                    self.most >> 20
                ));
            }
        }
        None
    }

    fn folder(&self, folder: &Folder<'_>, out: &mut GateResult) {
        let Ok(entries) = listed(folder.upper, folder.path) else {
            return refuse(out, folder.path, "it cannot be listed");
        };
        let mut gone = Vec::new();
        if is_opaque(folder.upper) {
            let kept: HashSet<&OsStr> = entries.iter().map(|(name, _)| name.as_os_str()).collect();
            let before = listed(folder.lower, folder.path).unwrap_or_default();
            let before = before.into_iter().map(|(name, _)| name);
            gone.extend(before.filter(|name| !kept.contains(name.as_os_str())));
        }
        let blocked = self.would_believe_planted(folder);
        for (name, kind) in &entries {
            let path = folder.path.join(name);
            if blocked && is_marker(name) {
                refuse(
                    out,
                    &path,
                    "git would take its folder for a repository, with settings or hooks that execute",
                );
                continue;
            }
            match kind {
                FileKind::Folder => self.enter(folder, name, &path, out),
                FileKind::Other(_) if is_whiteout(folder.upper, name) => gone.push(name.clone()),
                kind => self.one(folder, name, &path, *kind, out),
            }
        }
        out.removals.extend(Removals::of(folder, gone));
    }

    /// A folder that was made, or changed inside.
    fn enter(&self, folder: &Folder<'_>, name: &OsStr, path: &Path, out: &mut GateResult) {
        if let Some(why) = self.refused_folder(path) {
            return refuse(out, path, why);
        }
        if path.components().count() > DEEPEST {
            return refuse(out, path, format!("it is in more than {DEEPEST} folders"));
        }
        let Ok(upper) = opened_up(folder.upper, name) else {
            return refuse(out, path, "it cannot be opened");
        };
        let before = statat(folder.lower, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_folder = before.as_ref().is_ok_and(|stat| kind_of(stat) == FileKind::Folder);
        let mut is_foreign = folder.is_foreign;
        if is_folder && let Ok(stat) = &before {
            is_foreign |= self.is_another(path, stat);
        }
        if !is_folder {
            if before.is_err() && self.folders.contains_key(path) && !is_opaque(&upper) {
                // What was changed in it is not all that it was.
                return refuse(out, path, CONFLICT);
            }
            if before.is_ok() && !self.set_aside(folder, name, out) {
                return;
            }
            // A new folder with nothing in it that has to be looked after is moved as a whole.
            if self.git_below(folder.git, folder.is_new_repository, name, &upper, None).is_none()
                && self.is_plain(&upper, path)
            {
                take::clean(&upper);
                match renameat_with(folder.upper, name, folder.lower, name, RenameFlags::NOREPLACE) {
                    Ok(()) => {
                        out.changes += 1;
                        return;
                    }
                    // Somebody else has made it just now: what is in both comes together.
                    Err(Errno::EXIST | Errno::NOTEMPTY) => is_foreign = true,
                    Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS) => {}
                    Err(errno) => return refuse(out, path, format!("it cannot be moved there: {errno}")),
                }
            }
            match rustix::fs::mkdirat(folder.lower, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => out.changes += 1,
                Err(Errno::EXIST) => is_foreign = true,
                Err(errno) => return refuse(out, path, format!("it cannot be made: {errno}")),
            }
        }
        let Ok(lower) = openat(folder.lower, name, FOLDER, Mode::empty()) else {
            return refuse(out, path, "it cannot be opened in the workspace");
        };
        let git = self.git_below(folder.git, folder.is_new_repository, name, &upper, Some(&lower));
        let (git, is_new_repository) = git.map_or((None, false), |(git, is_new)| (Some(git), is_new));
        let git = git.as_deref();
        let inner = Folder { upper: &upper, lower: &lower, path, git, is_new_repository, is_foreign };
        let is_empty = listed(&upper, path).is_ok_and(|entries| entries.is_empty());
        self.folder(&inner, out);
        if !is_folder && !is_foreign && !is_empty && unlinkat(folder.lower, name, AtFlags::REMOVEDIR).is_ok()
        {
            // Nothing that was in it has come out.
            out.changes -= 1;
            return;
        }
        if !is_foreign {
            take::mode_of_folder(&upper, &lower);
        }
    }

    /// Whether everything in a new folder may come out as it is.
    fn is_plain(&self, upper: &OwnedFd, path: &Path) -> bool {
        if path.components().count() > DEEPEST {
            return false;
        }
        let Ok(entries) = listed(upper, path) else { return false };
        let looks_like_repository = entries.iter().any(|(name, _)| is_marker(name));
        !looks_like_repository
            && entries.iter().all(|(name, kind)| {
                let path = path.join(name);
                match kind {
                    FileKind::Folder => {
                        self.refused_folder(&path).is_none()
                            && !name.eq_ignore_ascii_case(".git")
                            && opened_up(upper, name).is_ok_and(|inner| {
                                let is_plain = self.is_plain(&inner, &path);
                                if is_plain {
                                    take::clean(&inner);
                                }
                                is_plain
                            })
                    }
                    FileKind::Other(_) => false,
                    kind => {
                        let judged = Candidate {
                            folder: upper,
                            name,
                            path: &path,
                            kind: *kind,
                            git: None,
                            before: None,
                        };
                        matches!(self.verdict(&judged, false), GateVerdict::Take)
                            && take::make_harmless(upper, name, *kind)
                    }
                }
            })
    }

    /// A file or a link.
    fn one(&self, folder: &Folder<'_>, name: &OsStr, path: &Path, kind: FileKind, out: &mut GateResult) {
        let before = statat(folder.lower, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let git = folder.git.map(|git| git.join(name));
        let own = before.is_some().then_some(folder.lower);
        let judged = Candidate { folder: folder.upper, name, path, kind, git: git.as_deref(), before: own };
        let (content, told, is_made) = match self.verdict(&judged, folder.is_new_repository) {
            GateVerdict::Ignore => return,
            GateVerdict::Refuse(why) => return out.refused.push(Refusal::of(&judged, why)),
            GateVerdict::Take => (None, None, false),
            GateVerdict::TakeMade => (None, None, true),
            GateVerdict::Reduce { content, told } => (Some(content), told, false),
        };
        if let Some(before) = &before {
            if (folder.is_foreign || self.is_newer(before, &out.unlinked)) && !judged.is_same() {
                return refuse(out, path, CONFLICT);
            }
            if kind_of(before) != kind && !self.set_aside(folder, name, out) {
                return;
            }
        }
        let taken = match content {
            Some(content) => take::write(self.workspace, folder.lower, name, &content),
            None => {
                take::make_harmless(folder.upper, name, kind);
                if kind == FileKind::File
                    && before.as_ref().is_some_and(|before| kind_of(before) == FileKind::File)
                {
                    take::keep_rules(folder.upper, folder.lower, name);
                }
                take::take(self.workspace, folder.upper, folder.lower, name, kind)
            }
        };
        match taken {
            Ok(()) => {
                out.changes += 1;
                out.unlinked.extend(before.as_ref().filter(|before| before.st_nlink > 1).map(identity));
            }
            Err(errno) => return refuse(out, path, format!("it cannot be written: {errno}")),
        }
        if is_made {
            take::mark(folder.lower, name);
        }
        if let Some(why) = told {
            out.refused.push(Refusal { path: path.to_owned(), why, what: Refused::Nothing });
        }
    }

    /// Whether something in the workspace was changed since the view was made. Of what has lost a name here, only its content tells.
    fn is_newer(&self, stat: &Stat, unlinked: &HashSet<Identity>) -> bool {
        let changed = if unlinked.contains(&identity(stat)) { written_at(stat) } else { changed_at(stat) };
        changed > self.since
    }

    /// Whether a folder of the workspace is not the one that was there when the view was made.
    fn is_another(&self, path: &Path, stat: &Stat) -> bool {
        self.folders.get(path) != Some(&identity(stat))
    }

    /// The way from the folder of git's that a folder is, or is in; and whether it is one only since this command.
    fn git_below(
        &self,
        git: Option<&Path>,
        is_new_repository: bool,
        name: &OsStr,
        upper: &OwnedFd,
        lower: Option<&OwnedFd>,
    ) -> Option<(PathBuf, bool)> {
        let was = lower.is_some_and(|lower| is_repository(&|marker| is_there(lower, marker)));
        if name.eq_ignore_ascii_case(".git") {
            // Nothing but git and people writes there: what is there was somebody's decision.
            return Some((PathBuf::new(), false));
        }
        let is = |marker: &str| {
            is_there(upper, marker) && !is_whiteout(upper, OsStr::new(marker))
                || lower.is_some_and(|lower| is_there(lower, marker))
                    && !is_whiteout(upper, OsStr::new(marker))
        };
        if is_repository(&is) {
            return Some((PathBuf::new(), !was));
        }
        git.map(|git| (git.join(name), is_new_repository))
    }

    /// Whether a folder becomes one of git's by this command, with settings or hooks in it that came there as plain files.
    fn would_believe_planted(&self, folder: &Folder<'_>) -> bool {
        if !folder.is_new_repository || folder.git != Some(Path::new("")) {
            return false;
        }
        let hooks = openat(folder.lower, "hooks", FOLDER, Mode::empty());
        let hooks = hooks.ok().and_then(|hooks| listed(&hooks, Path::new("")).ok()).unwrap_or_default();
        let has_hooks =
            hooks.iter().any(|(name, _)| !name.to_string_lossy().to_lowercase().ends_with(".sample"));
        let is_planted = |file: &str| {
            !is_there(folder.upper, file)
                && is_there(folder.lower, file)
                && !judge::is_harmless_config(folder.lower, OsStr::new(file))
        };
        has_hooks || is_planted("config") || is_planted("config.worktree") || is_planted("commondir")
    }
}

const CONFLICT: &str =
    "somebody else changed it while the command ran, and that was kept; look at it again, and do it anew";

impl Refusal {
    /// That this does not come out. What git remembers of its work is nobody's content, and left out it can still be given up.
    fn of(judged: &Candidate<'_>, why: String) -> Self {
        let is_progress = judged.git.is_some_and(|git| part_of(git) == RepositoryFile::Progress);
        let is_empty = is_progress || matches!(judged.kind, FileKind::Other(_));
        let what = if is_empty { Refused::Nothing } else { Refused::Content };
        Self { path: judged.path.to_owned(), why, what }
    }
}

/// Why nothing is removed, if something that has content was refused.
fn why_nothing_is_removed(refused: &[Refusal]) -> Option<String> {
    let lost = refused.iter().find(|refusal| refusal.what == Refused::Content)?;
    let lost = on_a_line(&lost.path);
    Some(format!("it was kept, because `{lost}`, which the same command made or changed, did not come out"))
}

/// Refuses a file, a folder or a link.
fn refuse(out: &mut GateResult, path: &Path, why: impl Into<String>) {
    out.refused.push(Refusal { path: path.to_owned(), why: why.into(), what: Refused::Content });
}

fn kind_of(stat: &Stat) -> FileKind {
    FileKind::of(FileType::from_raw_mode(stat.st_mode))
}

/// The names by which git knows a folder of its own.
const MARKERS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

fn is_marker(name: &OsStr) -> bool {
    MARKERS.iter().any(|marker| name.eq_ignore_ascii_case(marker))
}

fn is_there(folder: &OwnedFd, name: &str) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Whether this is the kernel's sign for something that was removed.
fn is_whiteout(folder: &OwnedFd, name: &OsStr) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
    })
}

/// Whether what lies beneath a folder is not seen through it: it was removed, and made anew.
fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 4];
    matches!(rustix::fs::fgetxattr(folder, "user.overlay.opaque", &mut value), Ok(1)) && value[0] == b'y'
}
