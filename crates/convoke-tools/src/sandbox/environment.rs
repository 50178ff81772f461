//! What a command finds around it: variables and a private folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::SandboxError;
use crate::workspace::{empty, opened_up};

/// Variables taken over from this process. No key is ever among them: what is not here is not there.
const TAKEN_OVER: &[&str] = &["PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ"];

/// Folders of programs, when this process has no path.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How private folders begin to be called; digits follow.
const NAME: &str = "convoke-sandbox-";
const DIGITS: usize = 16;
/// How old a folder that nobody uses must be to be taken away: a command can outlive its Convoke by some minutes.
const OLD: Duration = Duration::from_secs(3600);

/// A folder for the temporary files and the home of a sandbox's commands. It goes when the sandbox does. What a killed
/// process left goes when the next one makes its own.
#[derive(Debug)]
pub(super) struct Private {
    path: PathBuf,
    /// Locked as long as it is used.
    handle: File,
}

impl Private {
    pub(super) fn make() -> Result<Self, SandboxError> {
        let failed = |why: &dyn std::fmt::Display| SandboxError::setup("a private folder", why);
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| failed(&error))?;
        let top = std::env::temp_dir().canonicalize().map_err(|error| failed(&error))?;
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&top));
        let path = top.join(format!("{NAME}{:0DIGITS$x}", u64::from_ne_bytes(random)));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&path).map_err(|error| failed(&error))?;
        let handle = File::open(&path).map_err(|error| failed(&error))?;
        // Where nothing can be locked, nothing is swept either.
        let _ = handle.try_lock();
        let private = Self { path, handle };
        for folder in [private.home(), private.temporary(), private.outputs()] {
            make(&folder).map_err(|error| failed(&error))?;
        }
        Ok(private)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What commands may write. The rest of the folder is ours: what is written there for a command must not be led
    /// elsewhere by it.
    pub(super) fn writable(&self) -> [PathBuf; 2] {
        [self.home(), self.temporary()]
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Where outputs are kept that are too long to be given back as a whole.
    pub(super) fn outputs(&self) -> PathBuf {
        self.path.join("outputs")
    }

    /// What lies on secrets, on files and on folders. On files it is a socket that nobody listens at: it cannot be opened,
    /// so nobody takes it for an empty file, and commits that.
    pub(super) fn nothing(&self) -> Result<(PathBuf, PathBuf), SandboxError> {
        let (file, folder) = (self.path.join("nothing"), self.path.join("empty"));
        let made = match mknodat(CWD, &file, FileType::Socket, Mode::RUSR, 0) {
            Err(Errno::EXIST) => Ok(()),
            made => made,
        };
        made.map_err(|errno| SandboxError::setup("a private folder", errno))?;
        match DirBuilder::new().mode(0o500).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(SandboxError::setup("a private folder", error))
            }
            _ => Ok((file, folder)),
        }
    }

    /// The variables of a command.
    pub(super) fn variables(&self, others: &[&BTreeMap<String, OsString>]) -> BTreeMap<String, OsString> {
        let mut variables: BTreeMap<String, OsString> = BTreeMap::new();
        for name in TAKEN_OVER {
            if let Some(value) = std::env::var_os(name) {
                variables.insert((*name).to_owned(), value);
            }
        }
        variables.entry("PATH".to_owned()).or_insert_with(|| PATH.into());
        variables.insert("TERM".to_owned(), "dumb".into());
        variables.insert("HOME".to_owned(), self.home().into());
        variables.insert("TMPDIR".to_owned(), self.temporary().into());
        for more in others {
            variables.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        variables
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        take_away(&self.path, &self.handle);
    }
}

/// Removes a folder, however deep it is and whatever modes a command has set in it.
fn take_away(path: &Path, handle: &File) {
    // Nothing more can be done if this fails: it is in the folder for temporary files.
    let Ok(handle) = handle.as_fd().try_clone_to_owned() else { return };
    let _ = empty(&handle, path, opened_up);
    let _ = std::fs::remove_dir(path);
}

/// Takes away what processes that were killed have left.
fn sweep(top: &Path) {
    let entries = std::fs::read_dir(top).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|entry| is_private(&entry.file_name())) {
        let is_left = entry.metadata().is_ok_and(|found| {
            let age = found.modified().ok().and_then(|time| time.elapsed().ok());
            found.is_dir() && found.uid() == geteuid().as_raw() && age.is_some_and(|age| age > OLD)
        });
        if is_left
            && let Ok(handle) = File::open(entry.path())
            && handle.try_lock().is_ok()
        {
            take_away(&entry.path(), &handle);
        }
    }
}

fn is_private(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(NAME));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_process_left_is_taken_away_and_nothing_else() {
        let top = tempfile::tempdir().expect("a folder");
        let make = |name: &str, age: Duration| {
            let path = top.path().join(name);
            std::fs::create_dir_all(path.join("home/deep/er")).expect("a folder");
            std::fs::write(path.join("home/deep/file"), "x").expect("a file");
            std::fs::set_permissions(path.join("home/deep"), std::fs::Permissions::from_mode(0o000))
                .expect("a mode");
            let handle = File::open(&path).expect("a handle");
            handle.set_modified(SystemTime::now() - age).expect("a time");
            handle
        };
        let left = format!("{NAME}0123456789abcdef");
        let new = format!("{NAME}0123456789abcde0");
        let used = format!("{NAME}0123456789abcde1");
        let others = format!("{NAME}of-somebody");
        drop(make(&left, OLD * 2));
        drop(make(&new, Duration::ZERO));
        drop(make(&others, OLD * 2));
        let lock = make(&used, OLD * 2);
        lock.try_lock().expect("a lock");
        sweep(top.path());
        let is_there = |name: &str| top.path().join(name).exists();
        assert!(!is_there(&left));
        assert!(is_there(&new) && is_there(&used) && is_there(&others));
        drop(lock);
        sweep(top.path());
        assert!(!is_there(&used));
        take_away(&top.path().join(&new), &File::open(top.path().join(&new)).expect("a handle"));
        assert!(!is_there(&new));
    }
}
