//! Control groups: bounds on processes and memory for root, which the kernel's limits for users do not hold.
//!
//! Where this process is root and may make control groups, a command gets its own, in which it cannot have more than so many
//! processes and threads, nor more memory, of whatever kind. Where it may not, only the watcher counts: see `docs/security.md`.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;
use std::{fmt, fs};

use rustix::process::{Pid, geteuid};

use super::command_processes::Usage;
use super::limits::Exceeded;
use super::{CommandEnd, CommandLimits, SandboxError};

/// Threads that a process may have on average.
const THREADS: u64 = 8;
const TOP: &str = "/sys/fs/cgroup";
/// How groups begin to be called; who made them and the command's mark follow.
const NAME: &str = "convoke-";
/// How old a group must be that does not say who made it: older versions did not.
const OLD: Duration = Duration::from_secs(3600);

/// Groups that could not be removed yet, because somebody else had not waited for what had ended in them.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A control group. Dropped, it is removed, or with a later one; everything in it must have ended by then.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    holds_memory: bool,
}

impl ControlGroup {
    /// The groups for a command, as many as can be had, if this process is root.
    pub(super) fn make(limits: &CommandLimits, mark: u64) -> Vec<Self> {
        if !geteuid().is_root() {
            return Vec::new();
        }
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let places = places(&own);
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| places.iter().for_each(|place| sweep(place)));
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).retain(|left| !is_removed(left));
        places.into_iter().filter_map(|place| Self::make_at(&place, limits, mark)).collect()
    }

    fn make_at(place: &Path, limits: &CommandLimits, mark: u64) -> Option<Self> {
        let path = place.join(format!("{NAME}{}-{mark:x}", Owner::this()?));
        fs::create_dir(&path).ok()?;
        let mut group = Self { path, holds_memory: false };
        // Without the controller there is no such file, and it must not be made: the folder may be an ordinary one.
        let set = |file: &str, value: u64| {
            let file = fs::OpenOptions::new().write(true).open(group.path.join(file));
            file.and_then(|mut file| file.write_all(value.to_string().as_bytes())).is_ok()
        };
        let holds_processes = set("pids.max", limits.processes * THREADS);
        let holds_memory = set("memory.max", limits.memory) || set("memory.limit_in_bytes", limits.memory);
        let _ = set("memory.swap.max", 0) || set("memory.memsw.limit_in_bytes", limits.memory);
        group.holds_memory = holds_memory;
        // One that holds nothing goes again.
        (holds_processes || holds_memory).then_some(group)
    }

    /// Whether the kernel has ended something in it for want of memory.
    pub(super) fn has_run_out_of_memory(&self) -> bool {
        let told =
            ["memory.events", "memory.oom_control"].map(|file| fs::read_to_string(self.path.join(file)));
        let lines = told.iter().flatten().flat_map(|text| text.lines());
        lines.filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }

    /// Whether it bounds the memory of everything in it.
    pub(super) fn holds_memory(&self) -> bool {
        self.holds_memory
    }

    /// The file that lists what is in it.
    pub(super) fn list(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Puts a process into it, with everything that it will start.
    pub(super) fn take_in(&self, process: Pid) -> Result<(), SandboxError> {
        let number = process.as_raw_nonzero().to_string();
        fs::write(self.list(), number).map_err(|error| SandboxError::setup("limits", error))
    }
}

/// What a command uses, with what its groups know: once the kernel has begun to end single processes, the command is over its
/// limit, whatever is left of it.
pub(super) fn counted(groups: &[ControlGroup], usage: Usage) -> Usage {
    let is_over = groups.iter().any(ControlGroup::has_run_out_of_memory);
    if is_over { Usage { memory: u64::MAX, ..usage } } else { usage }
}

/// How a command ended, with what its groups know.
pub(super) fn ended(groups: &[ControlGroup], end: CommandEnd) -> CommandEnd {
    match end {
        CommandEnd::Exited(code) if code != 0 => {}
        CommandEnd::Signalled(_) => {}
        end => return end,
    }
    let is_over = groups.iter().any(ControlGroup::has_run_out_of_memory);
    if is_over { CommandEnd::OverLimit(Exceeded::Memory) } else { end }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // What has just been killed is in it until it has been waited for, by whoever inherited it.
        for _ in 0..100 {
            if is_removed(&self.path) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.path));
    }
}

/// Removes a group, if nothing is in it any more.
fn is_removed(path: &Path) -> bool {
    fs::remove_dir(path).is_ok() || !path.exists()
}

/// Takes away the groups of processes that were killed. The kernel removes only what has no processes in it.
fn sweep(place: &Path) {
    let entries = fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(NAME)) else { continue };
        let is_left = match rest.rsplit_once('-') {
            Some((owner, _)) => owner.parse().is_ok_and(|owner: Owner| owner.is_gone()),
            None => {
                let made = entry.metadata().and_then(|found| found.modified()).ok();
                let age = made.and_then(|made| made.elapsed().ok());
                is_hex(rest) && age.is_some_and(|age| age > OLD)
            }
        };
        if is_left {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The process that made a group: its number, when it began, and the namespace in which it has that number.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    namespace: u64,
    process: u32,
    began: u64,
}

impl Owner {
    fn this() -> Option<Self> {
        let process = std::process::id();
        Some(Self { namespace: namespace()?, process, began: began(process)? })
    }

    /// Whether it lives no more. Of a process in another namespace nobody knows.
    fn is_gone(&self) -> bool {
        namespace() == Some(self.namespace) && began(self.process) != Some(self.began)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}-{}", self.namespace, self.process, self.began)
    }
}

impl FromStr for Owner {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        fn next<T: FromStr>(parts: &mut std::str::Split<'_, char>) -> Result<T, ()> {
            parts.next().and_then(|part| part.parse().ok()).ok_or(())
        }
        let mut parts = text.split('-');
        let owner =
            Self { namespace: next(&mut parts)?, process: next(&mut parts)?, began: next(&mut parts)? };
        if parts.next().is_none() { Ok(owner) } else { Err(()) }
    }
}

fn namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|found| found.ino())
}

/// When a process began, in ticks since the machine did.
fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in brackets and may contain anything.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// Where groups with the controllers for processes and memory can be: beneath our own, in either version of control groups.
fn places(own: &str) -> Vec<PathBuf> {
    let beneath = |top: &Path, path: &str| top.join(path.trim_start_matches('/'));
    own.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (controllers, path) = (fields.nth(1)?, fields.next()?);
            let known = controllers.split(',').find(|name| ["pids", "memory"].contains(name));
            match (controllers, known) {
                ("", _) => Some(beneath(Path::new(TOP), path)),
                (_, Some(known)) => Some(beneath(&Path::new(TOP).join(known), path)),
                (_, None) => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_processes_that_are_gone_are_taken_away_and_no_others() {
        let top = tempfile::tempdir().expect("a folder");
        let living = Owner::this().expect("this process");
        let dead = Owner { began: living.began + 1, ..Owner::this().expect("this process") };
        let elsewhere = Owner { namespace: 1, began: 1, ..Owner::this().expect("this process") };
        let names = [
            format!("{NAME}{dead}-80001"),
            format!("{NAME}{living}-80002"),
            format!("{NAME}{elsewhere}-80003"),
            format!("{NAME}80004"),
            format!("{NAME}80005"),
            format!("{NAME}of-somebody"),
            "other".to_owned(),
        ];
        for name in &names {
            fs::create_dir(top.path().join(name)).expect("a folder");
        }
        let made = std::time::SystemTime::now() - OLD * 2;
        let old = fs::File::open(top.path().join(&names[3])).expect("a folder");
        old.set_modified(made).expect("a time");
        sweep(top.path());
        let left: Vec<bool> = names.iter().map(|name| top.path().join(name).exists()).collect();
        assert_eq!(left, [false, true, true, false, true, true, true]);
        assert_eq!(living.to_string().parse(), Ok(living));
    }
}
