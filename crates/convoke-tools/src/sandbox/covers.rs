//! Secrets covered by something empty, for commands that Landlock confines.
//!
//! Landlock cannot take a file out of a folder that may be written. A mount can lie on the file, so where this process may
//! mount (it is root, and nothing keeps it from that), a command gets a mount namespace of its own in which secrets are
//! covered, and the folders they are in stay open. A cover can neither be moved, nor replaced, nor taken away: a mount is
//! busy, and Landlock lets nobody mount or unmount.
//!
//! A cover lies on a path, while Landlock's rules are on files: it must never be used where there is another path to the
//! workspace, and nothing that was opened outside of the namespace may reach the command.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::fchdir;
use rustix::thread::UnshareFlags;

use super::holes::Holes;
use super::{Sandbox, SandboxError, inherited};
use crate::workspace::Kind;

/// What is to be covered, and where the command starts.
#[derive(Debug)]
pub(super) struct Covers {
    top: PathBuf,
    start: PathBuf,
    /// The folder at the start, from before the namespace.
    started: Identity,
    /// Folders that must stay where they are, the outermost first.
    folders: Vec<PathBuf>,
    secrets: Vec<(PathBuf, PathBuf)>,
}

type Identity = (u64, u64);

impl Covers {
    /// The covers for a command that starts in this folder, if there are secrets and they can be covered.
    pub(super) fn of(
        sandbox: &Sandbox,
        holes: &Holes,
        start: &Path,
        folder: &OwnedFd,
    ) -> Result<Option<Self>, SandboxError> {
        if !Self::can_be(sandbox, holes) {
            return Ok(None);
        }
        let (on_file, on_folder) = sandbox.private.nothing()?;
        let cover = |kind: &Kind| if *kind == Kind::Folder { &on_folder } else { &on_file }.clone();
        Ok(Some(Self {
            top: sandbox.workspace.path().to_owned(),
            start: start.to_owned(),
            started: identity(folder).map_err(failed)?,
            folders: holes.folders().into_iter().map(Path::to_owned).collect(),
            secrets: holes.secret.iter().map(|(path, kind)| (path.clone(), cover(kind))).collect(),
        }))
    }

    /// Whether there are secrets, and they can be covered.
    pub(super) fn can_be(sandbox: &Sandbox, holes: &Holes) -> bool {
        // A link cannot be covered: what is mounted on it lies on what it leads to.
        let is_link = |(_, kind): &(PathBuf, Kind)| *kind == Kind::Link;
        sandbox.mounts
            && !holes.secret.is_empty()
            && !holes.secret.iter().any(is_link)
            && may_mount()
            && is_only_path(sandbox.workspace.path())
            && !inherited::has_folder()
    }

    /// Gives this thread a mount namespace with the covers in it, and leads it to the start.
    pub(super) fn put_on(&self) -> Result<(), SandboxError> {
        new_namespace().map_err(failed)?;
        let top = open(&self.top, FOLDER, Mode::empty()).map_err(failed)?;
        let at = |path: &Path| beneath(&top, path);
        for folder in &self.folders {
            // Mounted, if only on itself, it cannot be moved away with what is in it.
            let place = at(folder).map_err(failed)?;
            mount_bind_recursive(by_handle(&place), by_handle(&place)).map_err(failed)?;
        }
        for (secret, cover) in &self.secrets {
            let place = match at(secret) {
                Err(Errno::NOENT) => continue,
                place => place.map_err(failed)?,
            };
            mount_bind(cover, by_handle(&place)).map_err(failed)?;
            // The handle is on what is beneath the mount; this one is on the mount.
            let mounted = at(secret).map_err(failed)?;
            mount_remount(by_handle(&mounted), MountFlags::BIND | MountFlags::RDONLY, c"").map_err(failed)?;
        }
        let start = at(&self.start).map_err(failed)?;
        if identity(&start).map_err(failed)? != self.started {
            return Err(SandboxError::setup("covers on secrets", "the folder to start in was exchanged"));
        }
        fchdir(start).map_err(failed)
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn failed(errno: Errno) -> SandboxError {
    SandboxError::setup("covers on secrets", errno)
}

/// Opens a path in the workspace, over mounts but not through links.
fn beneath(top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(top, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

fn by_handle(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

fn identity(handle: impl AsFd) -> Result<Identity, Errno> {
    fstat(handle).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Whether this process may mount. Found out once, on a thread that keeps the namespace to itself.
fn may_mount() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| std::thread::spawn(|| new_namespace().is_ok()).join().unwrap_or(false))
}

/// A mount namespace for this thread alone. What is mounted in it is seen nowhere else.
fn new_namespace() -> Result<(), Errno> {
    // The other function of this kind is unsafe because of what sharing handles has to do with; these are not shared less.
    #[expect(deprecated, reason = "unsafe code is forbidden here")]
    rustix::thread::unshare(UnshareFlags::FS | UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

/// Whether no other mount shows the folder at another path. What cannot be found out is taken for a no.
fn is_only_path(folder: &Path) -> bool {
    let Ok(list) = std::fs::read("/proc/self/mountinfo") else { return false };
    let mounts: Option<Vec<Mounted>> =
        list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(Mounted::read).collect();
    let Some(mounts) = mounts else { return false };
    // Of several at one place, the last is on top.
    let holding = mounts.iter().enumerate().filter(|(_, mount)| folder.starts_with(&mount.at));
    let Some((number, own)) = holding.max_by_key(|(_, mount)| mount.at.components().count()) else {
        return false;
    };
    let Ok(below) = folder.strip_prefix(&own.at) else { return false };
    let path = own.root.join(below);
    let mut others = mounts.iter().enumerate().filter(|(other, _)| *other != number);
    !others.any(|(_, other)| other.device == own.device && path.starts_with(&other.root))
}

/// A line of the list of mounts.
struct Mounted {
    device: Vec<u8>,
    /// What of the file system is mounted.
    root: PathBuf,
    at: PathBuf,
}

impl Mounted {
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (device, root, at) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { device: device.to_owned(), root: unescaped(root)?, at: unescaped(at)? })
    }
}

/// A path from the list: blanks and the like are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Option<PathBuf> {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\\' {
            path.push(*first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..3)?).ok()?;
        path.push(u8::from_str_radix(digits, 8).ok()?);
        rest = &after[3..];
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
}
