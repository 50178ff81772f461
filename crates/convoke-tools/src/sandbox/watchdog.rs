//! The watchdog that ends a command whose Convoke was killed.
//!
//! Whoever is killed cannot kill what it has started. So beside each command stands a shell, outside of its confinement,
//! that waits for the end of a pipe of which only this process has the other end. It is told when the command is over;
//! if the pipe ends without that, this process is dead, and everything that bears the command's mark is killed. With
//! bubblewrap the kernel does this, and nothing stands beside the command.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::SandboxError;

/// Waits for a line; kills what bears the mark if there is none. What is dead and not yet taken away by its new parent
/// keeps its mark for a while, so there is an end to looking.
const WAIT: &str = r#"trap '' HUP INT QUIT TERM
read -r _ && exit 0
quiet=0 looked=0
while [ "$quiet" -lt 2 ] && [ "$looked" -lt 100 ]; do
    quiet=$((quiet + 1)) looked=$((looked + 1))
    for limits in $(grep -ls "^Max file locks *$1 " /proc/[0-9]*/limits); do
        process=${limits#/proc/}
        kill -KILL "${process%/limits}" 2>/dev/null && quiet=0
    done
done"#;

/// A shell that waits for the end of this process. Dropped, it is told that the command is over, and ends.
#[derive(Debug)]
pub(super) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Begins to wait. Must come before the command may begin.
    pub(super) fn begin(mark: u64) -> Result<Self, SandboxError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WAIT, "convoke-watchdog", &mark.to_string()]);
        // In a group of its own: what ends a whole group of processes, a terminal for instance, must not end it.
        command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let shell = command.spawn().map_err(|error| SandboxError::setup("a watchdog", error))?;
        Ok(Self { shell })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // One that does not listen any more was killed; then there is only its end to wait for.
        let told = self.shell.stdin.take().map(|mut pipe| pipe.write_all(b"\n"));
        drop(told);
        let _ = self.shell.wait();
    }
}
