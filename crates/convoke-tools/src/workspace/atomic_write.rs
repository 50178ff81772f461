//! Atomic writes: files put into their place whole, and what is left of that when a process dies.
//!
//! A file is written beside its place, under a name that nobody else has, and then renamed. Whoever does that holds a lock
//! on what it writes; the lock ends with the process, however that ends. So what has such a name and no lock was left
//! behind, and the first write into a folder takes it away.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawMode, fchmod, fstat, fsync, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::links::names_of;
use super::open::FILE;
use super::tree::{list, open};
use super::{FileKind, Workspace};

/// How often a new file may be taken for one that was left behind, before that is called a failure.
const ATTEMPTS: usize = 8;

impl Workspace {
    /// Writes a file beside its place, and then puts it there: durably.
    pub(super) fn put(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        content: &[u8],
        mode: Option<RawMode>,
    ) -> Result<(), Errno> {
        self.put_with(folder, name, mode, |file| {
            file.write_all(content)?;
            file.sync_all()
        })?;
        sync(folder)
    }

    /// The same for a file that is written like this, and is as durable as that makes it.
    pub(crate) fn put_with(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        mode: Option<RawMode>,
        write: impl FnOnce(&mut File) -> std::io::Result<()>,
    ) -> Result<(), Errno> {
        self.sweep(folder);
        let (temporary, mut file) = beside(folder)?;
        let written = || -> Result<(), Errno> {
            if let Some(mode) = mode {
                // Never a set-user-id bit on content that a model wrote.
                fchmod(&file, Mode::from_raw_mode(mode & 0o777))?;
            }
            write(&mut file).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            renameat(folder, &temporary, folder, name)
        };
        let result = written();
        if result.is_err() {
            // Nothing more can be done if this fails as well.
            let _ = unlinkat(folder, &temporary, AtFlags::empty());
        }
        result
    }

    /// Takes away what dead processes left in a folder, once for every folder: what this process writes, it finishes.
    fn sweep(&self, folder: &OwnedFd) {
        let Ok(stat) = fstat(folder) else { return };
        if !self.swept().insert((stat.st_dev, stat.st_ino)) {
            return;
        }
        // It is not what was asked for, so what fails here fails quietly. The handle is for paths only, and not for lists.
        let Ok(folder) = open(folder.as_fd(), OsStr::new(".")) else { return };
        for (name, kind) in list(&folder, Path::new("")).unwrap_or_default() {
            if kind == FileKind::File
                && is_temporary(&name)
                && let Some(_locked) = abandoned(&folder, &name)
            {
                let _ = unlinkat(&folder, &name, AtFlags::empty());
            }
        }
    }
}

/// Makes durable what a folder lists: without it a loss of power can take back a change that was told of. File systems that
/// cannot do that for folders do it by themselves or not at all.
pub(super) fn sync(folder: &OwnedFd) -> Result<(), Errno> {
    // The handle is for paths only. A folder that may be written and not be listed cannot be opened for this.
    let Ok(folder) = open(folder.as_fd(), OsStr::new(".")) else { return Ok(()) };
    match fsync(&folder) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::BADF) => Ok(()),
        synced => synced,
    }
}

/// A new file with a name of its own, locked where the file system can.
fn beside(folder: &OwnedFd) -> Result<(String, File), Errno> {
    for _ in 0..ATTEMPTS {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
        let name = format!("{BEFORE}{:0DIGITS$x}{AFTER}", u64::from_ne_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(folder, &name, flags, Mode::from_raw_mode(0o666))?);
        // Whoever sweeps may have come in between: then it is locked by them, or has no name any more.
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            // Where nothing can be locked, nothing is swept either.
            Ok(()) | Err(TryLockError::Error(_)) if names_of(&fstat(&file)?) > 0 => return Ok((name, file)),
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // Whoever held it may not have swept it.
        let _ = unlinkat(folder, &name, AtFlags::empty());
    }
    Err(Errno::AGAIN)
}

const BEFORE: &str = ".convoke-";
const AFTER: &str = ".tmp";
const DIGITS: usize = 16;

fn is_temporary(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(BEFORE)?.strip_suffix(AFTER));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A file whose writer is dead, locked so that nobody else takes it for theirs.
fn abandoned(folder: &OwnedFd, name: &OsStr) -> Option<File> {
    let file = File::from(openat(folder, name, FILE, Mode::empty()).ok()?);
    let is_file = FileType::from_raw_mode(fstat(&file).ok()?.st_mode) == FileType::RegularFile;
    (is_file && file.try_lock().is_ok()).then_some(file)
}
