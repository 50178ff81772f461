//! Finds the processes that belong to a command.
//!
//! A process that leaves its group and its session and is given to another parent bears no trace of where it came from,
//! except for what it inherits and cannot change. Its limits are such a thing. The limit on file locks has had no meaning
//! for Linux for twenty years; each command gets a number of its own there, and the filter keeps it from being set
//! again. So everything a command has started can be found, whatever it has done to hide.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, geteuid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};

/// A command's processes.
#[derive(Debug, Clone)]
pub(super) struct CommandProcesses {
    pub(super) leader: Arc<Leader>,
    pub(super) mark: u64,
    /// The list of a control group that has all of them, and nobody else.
    pub(super) list: Option<PathBuf>,
}

/// The process that was started. Numbers of processes are used again, and soon where many are made: what is done to it by
/// its number is done while it cannot have gone.
#[derive(Debug)]
pub(super) struct Leader {
    process: Pid,
    is_gone: Mutex<bool>,
}

impl Leader {
    pub(super) fn new(process: Pid) -> Self {
        Self { process, is_gone: Mutex::new(false) }
    }

    /// Does something to the process, if it is still there.
    pub(super) fn with<T>(&self, action: impl FnOnce(Pid) -> T) -> Option<T> {
        let is_gone = self.is_gone.lock().unwrap_or_else(PoisonError::into_inner);
        (!*is_gone).then(|| action(self.process))
    }

    /// Waits for its end, and then takes it away.
    pub(super) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        // It is dead after this, but keeps its number.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(errno) = waitid(WaitId::Pid(self.process), options) {
            if errno != Errno::INTR {
                return Err(errno.into());
            }
        }
        let mut is_gone = self.is_gone.lock().unwrap_or_else(PoisonError::into_inner);
        *is_gone = true;
        child.wait()
    }
}

/// What they use together.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Usage {
    pub(super) processes: u64,
    pub(super) memory: u64,
}

/// How long it may take what was killed to be gone. Much memory, or a busy machine, takes its time.
const PATIENCE: Duration = Duration::from_secs(10);

/// A number that no other command has.
pub(super) fn new_mark() -> Result<u64, getrandom::Error> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random)?;
    // Large enough not to be anybody's limit, small enough to be one.
    Ok((u64::from_ne_bytes(random) >> 16) | (1 << 47))
}

/// Ends what bears a mark and has outlived whoever started it. Gives how many were found, and how many are left.
pub(super) fn end_marked(mark: u64) -> (usize, usize) {
    let mut found = BTreeSet::new();
    let left = kill_all(
        mark,
        || Box::new(own_processes()),
        2,
        |process| {
            found.insert(process);
        },
    );
    (found.len(), left)
}

/// Kills all that bear a mark, and makes sure of it: none is found in so many looks. Gives how many are left.
fn kill_all(
    mark: u64,
    candidates: impl Fn() -> Box<dyn Iterator<Item = i32>>,
    looks: u32,
    mut found: impl FnMut(i32),
) -> usize {
    let (mut left, mut quiet) = (0, 0);
    let given_up = Instant::now() + PATIENCE;
    while left == 0 || Instant::now() < given_up {
        // Each as it is found: those that make new ones must not be given the time.
        left = candidates().filter(|process| kill(*process, mark)).inspect(|process| found(*process)).count();
        if left > 0 {
            quiet = 0;
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        quiet += 1;
        if quiet == looks {
            return 0;
        }
    }
    left
}

/// All processes of this user: another user's cannot be a command's, which cannot become anybody else.
fn own_processes() -> impl Iterator<Item = i32> {
    let user = geteuid().as_raw();
    let folder = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    folder.filter_map(move |entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        (entry.metadata().ok()?.uid() == user).then_some(number)
    })
}

impl CommandProcesses {
    /// Kills the first process and its group at once.
    pub(super) fn strike(&self) {
        // There is none any more: fine.
        let _ = self.leader.with(|process| kill_process_group(process, Signal::KILL));
    }

    /// Kills all of them, and makes sure of it. Gives how many are left, which should be none.
    pub(super) fn kill(&self) -> usize {
        // The list of everybody's processes changes while it is read, and can miss one that has just been made.
        let left = kill_all(self.mark, || self.candidates(), 2, |_| {});
        // A group's list has nobody else: a chain in which each begins the next and ends is in it, though everyone who is
        // looked at is dead by then.
        let given_up = Instant::now() + PATIENCE;
        let mut listed = self.list.as_ref().map_or(0, |_| self.candidates().count());
        while listed > 0 && Instant::now() < given_up {
            for process in self.candidates().filter_map(Pid::from_raw) {
                let _ = kill_process(process, Signal::KILL);
            }
            listed = self.candidates().count();
        }
        left.max(listed)
    }

    /// Those that can be members: the control group's, or all of this user's.
    fn candidates(&self) -> Box<dyn Iterator<Item = i32>> {
        if let Some(list) = &self.list {
            let numbers = fs::read_to_string(list).unwrap_or_default();
            let numbers: Vec<i32> = numbers.lines().filter_map(|line| line.parse().ok()).collect();
            return Box::new(numbers.into_iter());
        }
        Box::new(own_processes())
    }

    /// What they use now. It stops counting when there are more than enough.
    pub(super) fn usage(&self, enough: u64) -> Usage {
        usage(self.candidates(), self.mark, enough)
    }
}

/// What this user's processes with a mark use now. It stops counting when there are more than enough.
pub(super) fn marked_usage(mark: u64, enough: u64) -> Usage {
    usage(own_processes(), mark, enough)
}

/// The same of processes that have a network of their own, with what is in its sockets.
pub(super) fn marked_usage_with_sockets(mark: u64, enough: u64) -> Usage {
    let mut usage = marked_usage(mark, enough);
    let first = own_processes().find(|process| bears(*process, mark));
    usage.memory += first.map_or(0, super::socket_memory::memory_in_network_of);
    usage
}

fn usage(candidates: impl Iterator<Item = i32>, mark: u64, enough: u64) -> Usage {
    let mut usage = Usage::default();
    let mut counted = BTreeSet::new();
    for process in candidates.filter(|process| bears(*process, mark)) {
        usage.processes += 1;
        if usage.processes > enough {
            break;
        }
        let pages = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
        let resident: u64 = pages.split(' ').nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
        usage.memory += resident * rustix::param::page_size() as u64 + nameless(process, &mut counted);
    }
    usage
}

/// Memory in files without a name that a process has open, in bytes. It is nobody's until it is mapped, and may be many's.
fn nameless(process: i32, counted: &mut BTreeSet<u64>) -> u64 {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().filter_map(Result::ok);
    let nameless = files.filter(|file| {
        fs::read_link(file.path()).is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"))
    });
    let sizes = nameless.filter_map(|file| fs::metadata(file.path()).ok());
    sizes.filter(|file| counted.insert(file.ino())).map(|file| file.blocks() * 512).sum()
}

/// Whether it lives and has this mark. One that is dead and waits for its parent does not live.
fn bears(process: i32, mark: u64) -> bool {
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max file locks")).unwrap_or_default();
    if !line.split_whitespace().any(|word| word.parse() == Ok(mark)) {
        return false;
    }
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state comes after the name, which is in brackets and may contain anything.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// Kills a process if it has this mark, and says whether it had.
fn kill(process: i32, mark: u64) -> bool {
    // The handle is taken before the look, so it is on the process that is looked at, or on none.
    let handle = Pid::from_raw(process).map(|process| pidfd_open(process, PidfdFlags::empty()));
    let Some(Ok(handle)) = handle else { return false };
    if !bears(process, mark) {
        return false;
    }
    let _ = pidfd_send_signal(handle, Signal::KILL);
    true
}
