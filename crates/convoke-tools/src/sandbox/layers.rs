//! The layers of a view on a workspace: what hides secrets lies on the workspace, and on that what the command changes.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::SandboxError;
use super::inventory::FoundSecrets;
use super::scratch::Scratch;

/// What the command changed, as long as nothing of it has come out.
pub(super) const UPPER: &str = "upper";
/// The same, once it comes out.
pub(super) const OUT: &str = "out";
/// The same, once all of it has come out that may.
pub(super) const DONE: &str = "done";
/// The same, when whoever went on with the run has said that nothing comes out any more.
pub(super) const CLOSED: &str = "closed";

/// The folders of one view. They go with it, and with them everything that has not come out. Of a command that is dropped before
/// anybody knows what came of it, their names stay for a while: they tell that nothing came out. Its changes get another name before they
/// come out, and another one before they are given up, also by another process: only one of both can be done.
#[derive(Debug)]
pub(super) struct Layers {
    scratch: Scratch,
    /// Whether somebody may have to be told what became of its changes.
    is_open: AtomicBool,
}

impl Layers {
    /// Makes those of a command, which have this number, at a place that [`place`] has found. From now on they tell whether something
    /// has come out of them.
    pub(super) fn reserve(place: &Path, number: u64) -> Result<Self, SandboxError> {
        let scratch = Scratch::numbered(place, number, &["root", "hidden", UPPER, "work"])?;
        Ok(Self { scratch, is_open: AtomicBool::new(false) })
    }

    /// Makes them ready for a view on a workspace.
    pub(super) fn furnish(&self, top: &Path, found: &FoundSecrets) -> Result<(), SandboxError> {
        // In a view the workspace has the mode that its uppermost layer has.
        for layer in ["hidden", UPPER] {
            like(top, &self.scratch.path().join(layer)).map_err(failed)?;
        }
        self.hide(top, found).map_err(failed)
    }

    /// Puts a socket that nobody listens at in the place of each secret: it cannot be opened, so nobody takes it for an empty
    /// file, or for one that was removed, and commits that.
    fn hide(&self, top: &Path, found: &FoundSecrets) -> std::io::Result<()> {
        let hidden = self.scratch.path().join("hidden");
        let above = found.hidden.iter().flat_map(|(path, _)| path.ancestors().skip(1));
        let folders: BTreeSet<&Path> = above.filter(|folder| !folder.as_os_str().is_empty()).collect();
        for folder in &folders {
            std::fs::create_dir(hidden.join(folder))?;
        }
        for (path, _) in &found.hidden {
            mknodat(CWD, hidden.join(path), FileType::Socket, Mode::empty(), 0)?;
        }
        for folder in folders.iter().rev() {
            like(&top.join(folder), &hidden.join(folder))?;
        }
        Ok(())
    }

    /// What lies beneath, the uppermost first.
    pub(super) fn lower(&self, top: &Path) -> Vec<PathBuf> {
        vec![self.scratch.path().join("hidden"), top.to_owned()]
    }

    /// Whether nothing was made, changed or removed: then nothing has to be looked through for it to come out.
    pub(super) fn are_unchanged(&self) -> bool {
        std::fs::read_dir(self.upper()).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Has what is in the upper layer come out from now on. There is no upper layer any more.
    pub(super) fn come_out(&self) -> Result<(), SandboxError> {
        std::fs::rename(self.upper(), self.path().join(OUT)).map_err(|error| match self.are_closed() {
            true => SandboxError::TakenOver,
            false => failed(error),
        })
    }

    /// Says that all has come out that may.
    pub(super) fn are_out(&self) {
        // Otherwise it is only not known later.
        let _ = std::fs::rename(self.path().join(OUT), self.path().join(DONE));
    }

    /// Whether another process has them closed.
    pub(super) fn are_closed(&self) -> bool {
        self.path().join(CLOSED).exists()
    }

    /// Has them tell nothing any more: something is done without them.
    pub(super) fn tell_nothing(&self) -> Result<(), SandboxError> {
        match self.come_out() {
            Err(failed) if self.upper().exists() || matches!(failed, SandboxError::TakenOver) => Err(failed),
            _ => Ok(()),
        }
    }

    /// Where they are.
    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Says that a call that is about to begin works in the view, and does nothing elsewhere.
    pub(super) fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Says that it is known what came of the call.
    pub(super) fn settle(&self) {
        self.is_open.store(false, Ordering::Relaxed);
    }

    /// Has nothing come out any more of a view whose layers are here, though the process of its command may go on some time. Says
    /// what had come out.
    pub(super) fn close(path: &Path) -> CameOut {
        let closed = path.join(CLOSED);
        if std::fs::rename(path.join(UPPER), &closed).is_ok() || closed.is_dir() {
            CameOut::Nothing
        } else if path.join(OUT).is_dir() && !Scratch::is_left(path) {
            CameOut::Still
        } else if path.join(DONE).is_dir() {
            CameOut::Everything
        } else {
            CameOut::Unknown
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    pub(super) fn upper(&self) -> PathBuf {
        self.scratch.path().join(UPPER)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.scratch.path().join("work")
    }
}

/// What had come out of a view when it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CameOut {
    /// Nothing, and nothing will.
    Nothing,
    /// It was coming out, and the process that brings it out has not ended.
    Still,
    /// All that may.
    Everything,
    Unknown,
}

impl Drop for Layers {
    fn drop(&mut self) {
        if !self.is_open.load(Ordering::Relaxed) {
            self.scratch.take_away();
        }
    }
}

fn failed(error: std::io::Error) -> SandboxError {
    SandboxError::setup("the layers of a view", error)
}

fn like(one: &Path, other: &Path) -> std::io::Result<()> {
    let mode = std::fs::metadata(one)?.permissions().mode() & 0o777;
    std::fs::set_permissions(other, std::fs::Permissions::from_mode(mode | 0o700))
}

/// Where layers can be: on the workspace's own file system, so that what comes out is moved and not copied; else with the
/// other private files. Never in the workspace.
pub(super) fn place(top: &Path, private: &Path) -> PathBuf {
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev()).ok();
    let data = convoke_text::xdg::data_folder(|name| std::env::var_os(name).map(PathBuf::from))
        .map(|data| data.join("convoke/views"));
    if device(private) == device(top) {
        return private.to_owned();
    }
    let is_fit = |folder: &PathBuf| {
        let there = folder.ancestors().find(|above| above.exists());
        there.and_then(device) == device(top) && !folder.starts_with(top) && make(folder).is_some()
    };
    data.filter(is_fit).unwrap_or_else(|| private.to_owned())
}

fn make(folder: &Path) -> Option<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(place: &Path, number: u64, top: &Path) -> Layers {
        let layers = Layers::reserve(place, number).expect("layers");
        layers.furnish(top, &FoundSecrets::default()).expect("a workspace");
        layers
    }

    #[test]
    fn of_a_command_that_was_dropped_it_is_known_that_nothing_came_out() {
        let (place, top) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let make = |mark| made(place.path(), mark, top.path());
        let path = |mark| Scratch::place(place.path(), mark);
        let dropped = make(1);
        dropped.open();
        std::fs::write(dropped.upper().join("file"), "x").expect("a change");
        drop(dropped);
        assert_eq!(Layers::close(&path(1)), CameOut::Nothing);
        let left: Vec<_> = std::fs::read_dir(path(1)).expect("a folder").flatten().collect();
        assert!(left.len() == 1 && std::fs::read_dir(left[0].path()).expect("a folder").next().is_none());
        let settled = make(2);
        settled.open();
        settled.settle();
        drop(settled);
        assert!(!path(2).exists());
        let came_out = make(3);
        came_out.open();
        came_out.come_out().expect("its changes");
        assert_eq!(Layers::close(&path(3)), CameOut::Still);
        came_out.are_out();
        assert_eq!(Layers::close(&path(3)), CameOut::Everything);
        drop(came_out);
        assert_eq!(Layers::close(&path(3)), CameOut::Everything, "also once it is over");
    }

    #[test]
    fn of_a_view_that_was_left_it_is_known_whether_something_came_out() {
        let (place, top) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let make = |mark| made(place.path(), mark, top.path());
        let path = |mark| Scratch::place(place.path(), mark);
        let used = make(1);
        // As if its process had been killed: nothing is taken away, and the lock is gone.
        let left = |layers: Layers| {
            let moved = layers.scratch.path().with_extension("moved");
            std::fs::rename(layers.scratch.path(), &moved).expect("another name");
            let path = layers.scratch.path().to_owned();
            drop(layers);
            if moved.exists() {
                std::fs::rename(&moved, &path).expect("its name");
            }
            for folder in ["root", "hidden", "upper", "work"] {
                let _ = std::fs::create_dir(path.join(folder));
            }
            path
        };
        let kept = left(used);
        assert_eq!(Layers::close(&kept), CameOut::Nothing);
        assert_eq!(Layers::close(&kept), CameOut::Nothing, "also if it is asked again");
        let layers = make(2);
        layers.come_out().expect("its changes");
        assert!(path(2).join(OUT).is_dir() && !layers.upper().exists());
        drop(layers);
        assert_eq!(Layers::close(&path(2)), CameOut::Unknown, "it is not there");
        std::fs::create_dir_all(path(3).join(OUT)).expect("what a kill would have left");
        assert_eq!(Layers::close(&path(3)), CameOut::Unknown);
    }

    #[test]
    fn nothing_comes_out_of_a_view_that_another_process_has_closed() {
        let (place, top) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let layers = made(place.path(), 1, top.path());
        assert_eq!(Layers::close(layers.path()), CameOut::Nothing, "though it is in use");
        assert!(matches!(layers.come_out(), Err(SandboxError::TakenOver)));
        assert!(matches!(layers.tell_nothing(), Err(SandboxError::TakenOver)));
    }
}
