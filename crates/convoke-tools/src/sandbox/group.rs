//! A bound on processes for root, which the kernel's limit for users does not hold.
//!
//! Where this process is root and may make a control group, a command gets one of its own, in which it cannot have more
//! than so many processes and threads. Where it may not, only the watcher counts: see `docs/security.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, geteuid};

use super::SandboxError;

/// Threads that a process may have on average.
const THREADS: u64 = 8;
const TOP: &str = "/sys/fs/cgroup";

/// A control group. Dropped, it is removed; everything in it must have ended by then.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
}

impl Group {
    /// A group for a command, if this process is root and may make one.
    pub(super) fn make(processes: u64, mark: u64) -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        places(&own).into_iter().find_map(|place| {
            let group = Self { path: place.join(format!("convoke-{mark:x}")) };
            fs::create_dir(&group.path).ok()?;
            // Without the controller there is no such file, and the group goes again.
            fs::write(group.path.join("pids.max"), (processes * THREADS).to_string()).ok()?;
            Some(group)
        })
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

impl Drop for Group {
    fn drop(&mut self) {
        // What has just been killed is in it until it has been waited for, by whoever inherited it.
        for _ in 0..100 {
            if fs::remove_dir(&self.path).is_ok() || !self.path.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Where a group with the controller for processes can be: beneath our own, in either version of control groups.
fn places(own: &str) -> Vec<PathBuf> {
    let beneath = |top: &Path, path: &str| top.join(path.trim_start_matches('/'));
    own.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (controllers, path) = (fields.nth(1)?, fields.next()?);
            match controllers {
                "" => Some(beneath(Path::new(TOP), path)),
                _ if controllers.split(',').any(|name| name == "pids") => {
                    Some(beneath(&Path::new(TOP).join("pids"), path))
                }
                _ => None,
            }
        })
        .collect()
}
