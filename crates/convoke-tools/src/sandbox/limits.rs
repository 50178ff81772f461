//! Resource limits of a command.

use std::fmt;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::SandboxError;

/// The most that a command, with everything it starts, may use.
///
/// Processor time, memory and the size of files are held by the kernel, for each process. The memory of all processes
/// together, their number, what they write to their output and the space left on the disk are looked at several times a
/// second, and the command is killed when it goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandLimits {
    /// Processor time of one process, in seconds.
    pub cpu_seconds: u64,
    /// Memory, in bytes: of one process, and of all of them together.
    pub memory: u64,
    /// Processes at once.
    pub processes: u64,
    /// The largest file that is written, in bytes.
    pub file: u64,
    /// Space that must be left on the workspace's disk, in bytes.
    pub free_disk: u64,
    /// All that is written to the two outputs, in bytes.
    pub output: u64,
    /// All that a command may leave in the workspace, in bytes.
    pub written: u64,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            cpu_seconds: 600,
            memory: 4 << 30,
            processes: 512,
            file: 1 << 30,
            free_disk: 256 << 20,
            output: 64 << 20,
            written: 16 << 30,
        }
    }
}

/// A limit that was gone over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exceeded {
    /// Too much memory in all.
    Memory,
    /// Too many processes.
    Processes,
    /// Too little space left on the disk.
    Disk,
    /// Too much written to the outputs.
    Output,
}

/// Files that a process has open at once. What waits in pipes and sockets is memory that no process has.
const MOST_FILES: u64 = 16_384;

impl fmt::Display for Exceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Memory => "its processes took too much memory together",
            Self::Processes => "it had too many processes",
            Self::Disk => "the disk was nearly full",
            Self::Output => "it wrote too much output",
        })
    }
}

impl CommandLimits {
    /// Sets the processor time of one process, in seconds.
    #[must_use]
    pub fn cpu_seconds(mut self, seconds: u64) -> Self {
        self.cpu_seconds = seconds;
        self
    }

    /// Sets the memory, in bytes.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets how many processes there may be at once.
    #[must_use]
    pub fn processes(mut self, count: u64) -> Self {
        self.processes = count;
        self
    }

    /// Sets the largest file, in bytes.
    #[must_use]
    pub fn file(mut self, bytes: u64) -> Self {
        self.file = bytes;
        self
    }

    /// Sets what must be left on the disk, in bytes.
    #[must_use]
    pub fn free_disk(mut self, bytes: u64) -> Self {
        self.free_disk = bytes;
        self
    }

    /// Sets how much may be written to the outputs, in bytes.
    #[must_use]
    pub fn output(mut self, bytes: u64) -> Self {
        self.output = bytes;
        self
    }

    /// Sets how much a command may leave in the workspace, in bytes.
    #[must_use]
    pub fn written(mut self, bytes: u64) -> Self {
        self.written = bytes;
        self
    }

    /// The kernel's limits for a command, with its mark: see `command_processes.rs`.
    pub(super) fn of_kernel(&self, processes: u64, mark: u64) -> [(Resource, u64); 7] {
        [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Data, self.memory),
            (Resource::Nproc, processes),
            (Resource::Fsize, self.file),
            (Resource::Core, 0),
            (Resource::Nofile, MOST_FILES),
            (Resource::Locks, mark),
        ]
    }

    /// Puts the limits on a process that waits for them, and marks it: see `command_processes.rs`.
    pub(super) fn put_on(&self, process: Pid, mark: u64) -> Result<(), SandboxError> {
        // The kernel counts the processes of a user, not of a command. This keeps a fork bomb from taking the machine
        // until it is noticed; root is not held by it.
        let processes = self.processes + tasks_on_this_machine();
        for (resource, limit) in self.of_kernel(processes, mark) {
            put(process, resource, limit)?;
        }
        Ok(())
    }
}

fn put(process: Pid, resource: Resource, limit: u64) -> Result<(), SandboxError> {
    let whole = Rlimit { current: Some(limit), maximum: Some(limit) };
    let done = prlimit(Some(process), resource, whole);
    if done.is_err() && resource != Resource::Locks {
        // The limit we have ourselves is lower than the one asked for: then that one holds.
        let own = rustix::process::getrlimit(resource).maximum;
        if own.is_some_and(|own| own <= limit) {
            return Ok(());
        }
    }
    done.map(drop).map_err(|errno| SandboxError::setup("limits", errno))
}

/// Processes and threads of everybody: quickly asked, many times a second.
pub(super) fn tasks_on_this_machine() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).unwrap_or(4_096)
}
