//! The monitor thread that ends a command when it uses too much.
//!
//! It is a thread and not a task because a fork bomb leaves nobody any time: it runs before everything else where it may.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::fs::StatVfs;
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use tokio::sync::oneshot;

use super::command_processes::Usage;
use super::limits::{Exceeded, tasks_on_this_machine};
use super::{CommandLimits, SandboxError};
use crate::workspace::Workspace;

/// How often limits are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is looked whether there are suddenly many processes.
const GLANCE: Duration = Duration::from_millis(10);
/// The first place among those that wait for a processor.
const FIRST: i32 = -20;

/// The thread. Dropped, it ends.
#[derive(Debug)]
pub(super) struct UsageMonitor {
    _until: Sender<()>,
}

impl UsageMonitor {
    /// Begins to look, and ends the command if it uses too much. What is said is that it was ended, and why.
    pub(super) fn begin(
        workspace: &Workspace,
        limits: CommandLimits,
        usage: impl Fn(u64) -> Usage + Send + 'static,
        end: impl Fn() + Send + 'static,
    ) -> Result<(Self, oneshot::Receiver<Exceeded>), SandboxError> {
        let (until, over) = channel();
        let (tell, told) = oneshot::channel();
        let watch = Watch {
            workspace: workspace.clone(),
            limits,
            usage: Box::new(usage),
            free: free_disk(workspace),
            temporary: free_for_temporary_files(),
            tasks: tasks_on_this_machine(),
        };
        let thread = std::thread::Builder::new().name("sandbox-limits".to_owned()).spawn(move || {
            // Only root may; others are held by the kernel's own limit on processes.
            let _ = setpriority_process(Some(gettid()), FIRST);
            if let Some(exceeded) = watch.until(&over) {
                // Before the end that it causes is seen. Nobody listens any more if the call was dropped.
                let _ = tell.send(exceeded);
                end();
            }
        });
        thread.map_err(|error| SandboxError::setup("limits", error))?;
        Ok((Self { _until: until }, told))
    }
}

struct Watch {
    workspace: Workspace,
    limits: CommandLimits,
    /// What the command uses now; it need not count further than this.
    usage: Box<dyn Fn(u64) -> Usage + Send>,
    /// Space on the disk when it began.
    free: u64,
    /// The same where commands have their temporary files: it may be another disk, or memory.
    temporary: u64,
    /// Everybody's processes when it began.
    tasks: u64,
}

impl Watch {
    fn until(&self, over: &Receiver<()>) -> Option<Exceeded> {
        let mut looked = Instant::now();
        while over.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
            let sudden = tasks_on_this_machine() > self.tasks + self.limits.processes / 2;
            if sudden || looked.elapsed() >= LOOK {
                looked = Instant::now();
                if let Some(exceeded) = self.exceeded() {
                    return Some(exceeded);
                }
            }
        }
        None
    }

    fn exceeded(&self) -> Option<Exceeded> {
        let usage = (self.usage)(self.limits.processes);
        let free = free_disk(&self.workspace);
        if usage.processes > self.limits.processes {
            Some(Exceeded::Processes)
        } else if usage.memory > self.limits.memory {
            Some(Exceeded::Memory)
        } else if free < self.limits.free_disk && free < self.free
            || is_filled(self.temporary, free_for_temporary_files(), self.limits.free_disk)
        {
            Some(Exceeded::Disk)
        } else {
            None
        }
    }
}

/// Whether a place for temporary files gets too full. One that was smaller from the start is not worth guarding: nothing
/// large can be put there.
fn is_filled(before: u64, now: u64, limit: u64) -> bool {
    before >= limit && now < limit
}

fn free_disk(workspace: &Workspace) -> u64 {
    free(rustix::fs::fstatvfs(&**workspace.root()))
}

fn free_for_temporary_files() -> u64 {
    free(rustix::fs::statvfs(std::env::temp_dir()))
}

fn free(space: rustix::io::Result<StatVfs>) -> u64 {
    space.map_or(u64::MAX, |space| space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_bounded_where_there_is_room_for_large_ones() {
        assert!(is_filled(1_000, 99, 100));
        assert!(!is_filled(1_000, 100, 100));
        assert!(!is_filled(60, 10, 100), "a small place of its own");
        assert!(free_for_temporary_files() < u64::MAX, "it is known how much room there is");
    }
}
