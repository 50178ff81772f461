//! Files moved out of the upper layer, without what they must not bring along.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, XattrFlags, fchmod, fgetxattr, flistxattr, fremovexattr,
    fsetxattr, fstat, futimens, openat, readlinkat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::super::made;
use crate::workspace::{FileKind, Workspace};

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// Who may do what with a file beyond its mode.
const RULES: &str = "system.posix_acl_access";

/// Takes away what the overlay has noted at a file or a folder, and rules that let others in beyond its mode.
pub(super) fn clean(handle: &OwnedFd) {
    let mut names = [0_u8; 1024];
    let Ok(length) = flistxattr(handle, &mut names) else { return };
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    let is_left = |name: &&[u8]| name.starts_with(b"user.overlay.") || name.starts_with(b"system.posix_acl_");
    for name in names.filter(is_left) {
        let _ = fremovexattr(handle, name);
    }
}

/// Gives a file the rules that the one has which it replaces.
pub(super) fn keep_rules(upper: &OwnedFd, lower: &OwnedFd, name: &OsStr) {
    let open = |folder: &OwnedFd| openat(folder, name, FILE, Mode::empty());
    let mut rules = vec![0_u8; 4096];
    let (Ok(from), Ok(to)) = (open(lower), open(upper)) else { return };
    if let Ok(length) = fgetxattr(&from, RULES, &mut rules) {
        let _ = fsetxattr(&to, RULES, &rules[..length], XattrFlags::empty());
    }
}

/// Takes away the bits that lend a file's rights to whoever runs it, and the overlay's notes. Says whether that was done.
pub(super) fn make_harmless(folder: &OwnedFd, name: &OsStr, kind: FileKind) -> bool {
    if kind != FileKind::File {
        return true;
    }
    let readable = openat(folder, name, FILE, Mode::empty());
    let Ok(file) = readable.or_else(|_| {
        // A file that its own mode keeps from being read. It is in a folder of ours, and nobody exchanges it.
        rustix::fs::chmodat(folder, name, Mode::from_raw_mode(0o600), AtFlags::empty())?;
        openat(folder, name, FILE, Mode::empty())
    }) else {
        return false;
    };
    clean(&file);
    let Ok(stat) = fstat(&file) else { return false };
    stat.st_mode & 0o7000 == 0 || fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777)).is_ok()
}

/// Moves a file or a link; copies it where it cannot be moved.
pub(super) fn take(
    workspace: &Workspace,
    upper: &OwnedFd,
    lower: &OwnedFd,
    name: &OsStr,
    kind: FileKind,
) -> Result<(), Errno> {
    match renameat(upper, name, lower, name) {
        Err(Errno::XDEV) => {}
        moved => return moved,
    }
    if kind == FileKind::Link {
        let to = readlinkat(upper, name, Vec::new())?;
        match unlinkat(lower, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return symlinkat(to, lower, name),
            Err(errno) => return Err(errno),
        }
    }
    let mut file = File::from(openat(upper, name, FILE, Mode::empty())?);
    let stat = fstat(&file)?;
    let times = Timestamps {
        last_access: Timespec { tv_sec: stat.st_atime, tv_nsec: stat.st_atime_nsec as _ },
        last_modification: Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ },
    };
    workspace.put_with(lower, name, Some(stat.st_mode), |to| {
        std::io::copy(&mut file, to)?;
        futimens(to, &times).map_err(Into::into)
    })
}

/// Gives a file this content.
pub(super) fn write(
    workspace: &Workspace,
    lower: &OwnedFd,
    name: &OsStr,
    content: &[u8],
) -> Result<(), Errno> {
    workspace.put_with(lower, name, Some(0o644), |file| std::io::Write::write_all(file, content))
}

/// Marks a file that a command has made.
pub(super) fn mark(lower: &OwnedFd, name: &OsStr) {
    if let Ok(file) = openat(lower, name, FILE, Mode::empty()) {
        made::mark(&File::from(file));
    }
}

/// Gives a folder the mode that the command gave it, if it can still be looked into then.
pub(super) fn mode_of_folder(upper: &OwnedFd, lower: &OwnedFd) {
    let (Ok(upper), Ok(stat)) = (fstat(upper), fstat(lower)) else { return };
    let mode = upper.st_mode & 0o777;
    if mode != stat.st_mode & 0o777 && mode & 0o700 == 0o700 {
        let _ = fchmod(lower, Mode::from_raw_mode(mode | (stat.st_mode & 0o7000)));
    }
}
