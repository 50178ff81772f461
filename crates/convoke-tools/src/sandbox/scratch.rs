//! Scratch folders, removed when they are needed no more, also if this process is killed.
//!
//! Whoever uses one holds a lock on it, and has done so before it has its name: so one whose lock is free was left by a process
//! that was killed. Nothing of its commands lives then: those in views end with it, and the others are ended soon after. What was
//! left is taken away by a thread that nobody waits for. Of layers their names stay for an hour, also if nobody was killed: they tell
//! whether something had come out of a view.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::geteuid;

use super::SandboxError;
use super::layers::{CLOSED, DONE, OUT, UPPER};
use crate::workspace::{empty, opened_up};

/// How they begin to be called; digits follow.
const NAME: &str = "convoke-sandbox-";
const DIGITS: usize = 16;
/// What the name of one has behind it that is not locked yet.
const NEW: &str = ".new";
/// How long the names of layers are kept that a killed process has left.
const OLD: Duration = Duration::from_secs(3600);
/// Names that tell what became of a view's changes.
const TELLING: [&str; 4] = [UPPER, OUT, DONE, CLOSED];

/// A folder for this user only. It goes when this does. What a killed process left goes when the next one makes its own.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Locked as long as it is used.
    handle: File,
}

impl Scratch {
    /// Makes one in a folder, with these folders in it.
    pub(super) fn make(top: &Path, folders: &[&str]) -> Result<Self, SandboxError> {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| SandboxError::setup("a private folder", error))?;
        Self::numbered(top, u64::from_ne_bytes(random), folders)
    }

    /// Where the one with this number is, in a folder.
    pub(super) fn place(top: &Path, number: u64) -> PathBuf {
        top.join(format!("{NAME}{number:0DIGITS$x}"))
    }

    /// Whether there is one that a process has left which is no more.
    pub(super) fn is_left(path: &Path) -> bool {
        // Shared: two that look at once find the same.
        File::open(path).is_ok_and(|handle| handle.try_lock_shared().is_ok())
    }

    /// Makes the one with this number in a folder, with these folders in it.
    pub(super) fn numbered(top: &Path, number: u64, folders: &[&str]) -> Result<Self, SandboxError> {
        static SWEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
        let failed = |error: std::io::Error| SandboxError::setup("a private folder", no_place(top, &error));
        let top = top.canonicalize().map_err(failed)?;
        let is_new = {
            let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = !swept.contains(&top);
            swept.extend(is_new.then(|| top.clone()));
            is_new
        };
        if is_new {
            sweep_in_background(&top);
        }
        let path = Self::place(&top, number);
        let new = path.with_extension(&NEW[1..]);
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&new).map_err(failed)?;
        let handle = File::open(&new).map_err(failed)?;
        // Where nothing can be locked, nothing is swept either.
        let _ = handle.try_lock();
        std::fs::rename(&new, &path).map_err(failed)?;
        let scratch = Self { path, handle };
        for folder in folders {
            make(&scratch.path.join(folder)).map_err(failed)?;
        }
        Ok(scratch)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes it away with the names that tell something.
    pub(super) fn take_away(&self) {
        take_away(&self.path, &self.handle);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        hollow_out(&self.path, &self.handle);
    }
}

/// Removes a folder, however deep it is and whatever modes a command has set in it.
fn take_away(path: &Path, handle: &File) {
    // Nothing more can be done if this fails: it is in the folder for temporary files.
    let Ok(handle) = handle.as_fd().try_clone_to_owned() else { return };
    let _ = empty(&handle, path, opened_up);
    let _ = std::fs::remove_dir(path);
}

/// Why there is no folder, and what would help.
fn no_place(top: &Path, error: &std::io::Error) -> String {
    let top = top.display();
    match std::env::var_os("TMPDIR") {
        Some(place) if std::env::temp_dir() == Path::new(&place) => {
            format!(
                "in `{top}`: {error}; TMPDIR is `{}`: set it to a folder that is there and can be written",
                place.display()
            )
        }
        _ => format!("in `{top}`: {error}"),
    }
}

/// Sweeps a folder while others go on. It may be full of files; what is left when this process ends is swept by the next one.
fn sweep_in_background(top: &Path) {
    let left = left_in(top);
    if !left.is_empty() {
        let sweeping = std::thread::Builder::new().name("sweep".to_owned());
        // Without a thread it is left to the next one.
        let _ = sweeping.spawn(move || left.iter().for_each(LeftoverFolder::take_away));
    }
}

/// A folder that a process which was killed has left.
struct LeftoverFolder {
    path: PathBuf,
    is_old: bool,
}

/// What processes that were killed have left in a folder.
fn left_in(top: &Path) -> Vec<LeftoverFolder> {
    let entries = std::fs::read_dir(top).into_iter().flatten().filter_map(Result::ok);
    let left = entries.filter_map(|entry| {
        let name = entry.file_name();
        let unlocked = name.to_str().and_then(|name| name.strip_suffix(NEW));
        let found = entry.metadata().ok()?;
        let age = found.modified().ok().and_then(|time| time.elapsed().ok());
        let is_old = age.is_some_and(|age| age > OLD);
        let is_ours = match unlocked {
            Some(name) => is_old && is_private(OsStr::new(name)),
            None => is_private(&name),
        };
        let is_ours = is_ours && found.is_dir() && found.uid() == geteuid().as_raw();
        // The lock is not kept: whoever wants to know what became of a view finds it free.
        (is_ours && Scratch::is_left(&entry.path())).then(|| LeftoverFolder { path: entry.path(), is_old })
    });
    left.collect()
}

impl LeftoverFolder {
    /// Takes it away; of layers that are not old, everything but the names that tell what became of them.
    fn take_away(&self) {
        let Ok(handle) = File::open(&self.path) else { return };
        match self.is_old {
            true => take_away(&self.path, &handle),
            false => hollow_out(&self.path, &handle),
        }
    }
}

/// Takes a folder away, but for the names of layers that tell what became of them.
fn hollow_out(path: &Path, handle: &File) {
    let Ok(handle) = handle.as_fd().try_clone_to_owned() else { return };
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && is_private(&name) {
            // The layers of a command, in the folder of its sandbox.
            LeftoverFolder { path, is_old: false }.take_away();
        } else if !is_folder {
            let _ = std::fs::remove_file(path);
        } else if let Ok(inner) = opened_up(&handle, &name) {
            let _ = empty(&inner, &path, opened_up);
            if !TELLING.iter().any(|telling| name == *telling) {
                let _ = std::fs::remove_dir(path);
            }
        }
    }
    // Where something is still told it stays.
    let _ = std::fs::remove_dir(path);
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

    fn sweep(top: &Path) {
        left_in(top).iter().for_each(LeftoverFolder::take_away);
    }

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
        let named = |number: u64| format!("{NAME}{number:0DIGITS$x}");
        let (left, new, used, making) = (named(1), named(2), named(3), format!("{}{NEW}", named(4)));
        let others = format!("{NAME}of-somebody");
        drop(make(&left, OLD * 2));
        drop(make(&new, Duration::ZERO));
        drop(make(&others, OLD * 2));
        drop(make(&making, Duration::ZERO));
        let lock = make(&used, Duration::ZERO);
        lock.try_lock().expect("a lock");
        sweep(top.path());
        let is_there = |name: &str| top.path().join(name).exists();
        assert!(!is_there(&left) && !is_there(&new), "however old they are");
        assert!(is_there(&used) && is_there(&others) && is_there(&making));
        drop(lock);
        let making = File::open(top.path().join(&making)).expect("a handle");
        making.set_modified(SystemTime::now() - OLD * 2).expect("a time");
        sweep(top.path());
        assert!(!is_there(&used) && !is_there(&format!("{}{NEW}", named(4))));
    }

    #[test]
    fn of_layers_that_were_left_their_names_stay_for_an_hour() {
        let top = tempfile::tempdir().expect("a folder");
        let private = Scratch::place(top.path(), 1);
        for layers in [Scratch::place(&private, 2), Scratch::place(top.path(), 3)] {
            std::fs::create_dir_all(layers.join("upper/deep")).expect("a folder");
            std::fs::create_dir_all(layers.join("work")).expect("a folder");
            std::fs::write(layers.join("upper/deep/file"), "x").expect("a file");
        }
        std::fs::create_dir(private.join("home")).expect("a folder");
        sweep(top.path());
        let upper = Scratch::place(&private, 2).join("upper");
        assert!(upper.is_dir() && std::fs::read_dir(&upper).expect("a folder").next().is_none());
        assert!(!private.join("home").exists() && !Scratch::place(top.path(), 3).join("work").exists());
        assert!(Scratch::place(top.path(), 3).join("upper").is_dir());
        for left in [&private, &Scratch::place(top.path(), 3)] {
            let handle = File::open(left).expect("a handle");
            handle.set_modified(SystemTime::now() - OLD * 2).expect("a time");
        }
        sweep(top.path());
        assert!(std::fs::read_dir(top.path()).expect("a folder").next().is_none());
    }

    #[test]
    fn a_place_that_is_not_there_is_named() {
        let error = Scratch::make(Path::new("/nowhere/at/all"), &[]).expect_err("there is no such folder");
        assert!(error.to_string().contains("`/nowhere/at/all`"), "{error}");
    }
}
