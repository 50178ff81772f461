//! The workspace: the one folder that tools work in.
//!
//! A [`Workspace`] is a handle on a folder. Every path a tool is given is walked from that handle, one name at a time, and
//! no step follows a link by itself: links are read and walked like the rest of the path. So a path ends where it ends by
//! what was found on the way, and `..`, absolute paths, links and renames in between cannot lead out of the folder.
//!
//! Walking by hand, and not `openat2(RESOLVE_BENEATH)`, has one more reason: protection is by the name of what is
//! *reached*, and the kernel does not say where a link has led. It also works on every kernel alike.
//!
//! [`Protected`] says which files no tool may read or change. It is asked here and by the sandbox, never by single tools,
//! so no tool can forget it.
//!
//! This module must never open anything by a path with a slash in it, except the workspace itself.

mod atomic_write;
mod control;
mod error;
#[cfg(target_os = "linux")]
mod keep;
mod links;
mod open;
mod protected;
mod real_path;
mod remove;
mod resolve;
mod tree;
mod write;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use error::FileError;
pub(crate) use links::HardLinkCensus;
pub(crate) use open::{OpenFile, is_binary};
pub use protected::{InvalidPattern, Protected, Protection};
#[cfg(target_os = "linux")]
pub(crate) use real_path::with_real;
#[cfg(target_os = "linux")]
pub(crate) use remove::{empty, opened_up};
pub(crate) use resolve::{FileKind, Follow, ResolvedPath, Target};
use rustix::fs::{CWD, Mode, openat};
#[cfg(target_os = "linux")]
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
#[cfg(target_os = "linux")]
pub(crate) use tree::list as listed;
pub(crate) use tree::{TreeEntry, Visit};
pub(crate) use write::{Existing, WriteOutcome};

/// A handle on the folder that tools work in. Clones share it.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: Arc<OwnedFd>,
    path: PathBuf,
    protected: Protected,
    /// One change at a time in this process: what reads, changes and writes back must not lose what another wrote.
    changing: Mutex<()>,
    /// Folders, by device and number, in which nothing is left of dead processes.
    swept: Mutex<HashSet<(u64, u64)>>,
    /// Places for commands that run. See [`Workspace::for_command`].
    #[cfg(target_os = "linux")]
    commands: Arc<Semaphore>,
}

/// Commands at once.
#[cfg(target_os = "linux")]
const MOST_COMMANDS: u32 = 1_024;

impl Workspace {
    /// Opens a folder, with the files protected that are by [default](Protected::defaults).
    ///
    /// # Errors
    /// If it is not a folder, or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::open_with(path, Protected::defaults())
    }

    /// Opens a folder in which these files are protected.
    ///
    /// # Errors
    /// If it is not a folder, or cannot be opened.
    pub fn open_with(path: impl AsRef<Path>, protected: Protected) -> Result<Self, FileError> {
        let asked = path.as_ref();
        let failed = |source: std::io::Error| FileError::io("open the workspace", asked, source);
        let path = asked.canonicalize().map_err(failed)?;
        let root = openat(CWD, &path, tree::FOLDER, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let protected = protected.placed_in(&path);
        Ok(Self {
            inner: Arc::new(Inner {
                root: Arc::new(root),
                path,
                protected,
                changing: Mutex::new(()),
                swept: Mutex::default(),
                #[cfg(target_os = "linux")]
                commands: Arc::new(Semaphore::new(MOST_COMMANDS as usize)),
            }),
        })
    }

    /// Returns the path of the folder when it was opened, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns what no tool may read or change.
    #[must_use]
    pub fn protected(&self) -> &Protected {
        &self.inner.protected
    }

    pub(crate) fn root(&self) -> &Arc<OwnedFd> {
        &self.inner.root
    }

    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn swept(&self) -> MutexGuard<'_, HashSet<(u64, u64)>> {
        self.inner.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a command that runs. One that works on the workspace itself must run alone: what another plants meanwhile
    /// would be taken for what was there.
    #[cfg(target_os = "linux")]
    pub(crate) async fn for_command(&self, is_alone: bool) -> Option<OwnedSemaphorePermit> {
        let places = if is_alone { MOST_COMMANDS } else { 1 };
        // It is never closed.
        Arc::clone(&self.inner.commands).acquire_many_owned(places).await.ok()
    }

    /// Where a path leads in the workspace, from its top, as far as that is known.
    pub(crate) fn real(&self, path: &str) -> Option<PathBuf> {
        self.resolve(path, Follow::Links).ok().map(|place| place.path)
    }

    /// The name under which calls that touch the same file meet: where the path leads, as far as that is known.
    pub(crate) fn resource(&self, path: &str) -> String {
        let plain = lexically(path);
        let place = self.resolve(path, Follow::Links).or_else(|_| self.resolve(&plain, Follow::Links));
        let real = place.map_or(plain, |place| place.path);
        if real.as_os_str().is_empty() { ".".to_owned() } else { format!("./{}", real.display()) }
    }

    /// The same for a folder and everything beneath it.
    pub(crate) fn resource_tree(&self, path: &str) -> String {
        format!("{}/**", self.resource(path))
    }
}

fn lexically(path: &str) -> PathBuf {
    let mut real = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => real.push(name),
            Component::ParentDir => drop(real.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    real
}

/// The path of the whole workspace, which tools take where none is given.
pub(crate) fn top() -> String {
    ".".to_owned()
}

/// How a path is shown: the workspace itself is `.`.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str() == OsStr::new("") { ".".to_owned() } else { path.display().to_string() }
}
