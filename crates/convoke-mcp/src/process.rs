//! A server that is a process of ours.
//!
//! It leads a group of processes of its own, so that whatever it starts ends with it; it sees of our environment what
//! every program needs, what its configuration names, and nothing else.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::prepare::Launch;
use crate::secret::Secrets;

/// How long a server may take to end by itself once its input is closed, and again after being asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How much is kept of what a server writes to its standard error.
const TAIL: usize = 2048;

/// A running server. Dropping it ends it and everything it started.
pub(crate) struct Process {
    group: Option<Pid>,
    /// Says that it must end.
    end: CancellationToken,
    /// Is told that it has ended.
    ended: CancellationToken,
    output: Arc<Tail>,
    keeper: JoinHandle<()>,
}

impl Process {
    pub(crate) fn start(
        launch: &Launch<'_>,
        secrets: Arc<Secrets>,
    ) -> std::io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut command = Command::new(launch.command);
        command.args(launch.arguments).env_clear().process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = launch.folder {
            command.current_dir(folder);
        }
        command.envs(&launch.environment);
        let mut child = command.spawn()?;
        let taken = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let (Some(stdout), Some(stdin), Some(stderr)) = taken else {
            return Err(std::io::Error::other("its standard streams are missing"));
        };
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (end, ended) = (CancellationToken::new(), CancellationToken::new());
        let output = Arc::new(Tail { bytes: Mutex::default(), secrets });
        let keeper = Keeper {
            child,
            stderr,
            group,
            end: end.clone(),
            ended: ended.clone(),
            output: Arc::clone(&output),
        };
        Ok((Self { group, end, ended, output, keeper: tokio::spawn(keeper.keep()) }, stdout, stdin))
    }

    /// Is told that the process has ended.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// The last it wrote to its standard error.
    pub(crate) fn output(&self) -> String {
        self.output.text()
    }

    /// Waits until it has ended, its input being closed; asks it to, and ends it, if it does not.
    pub(crate) async fn finish(&self) {
        let ended = || tokio::time::timeout(GRACE, self.ended.cancelled());
        if ended().await.is_ok() {
            return;
        }
        signal(self.group, Signal::TERM);
        if ended().await.is_err() {
            self.kill().await;
        }
    }

    /// Ends it at once.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }

    /// Ends it at once, and waits until that has happened.
    pub(crate) async fn kill(&self) {
        self.end();
        self.ended.cancelled().await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended.is_cancelled() {
            signal(self.group, Signal::KILL);
        }
        self.keeper.abort();
    }
}

/// What stays with a process to its end.
struct Keeper {
    child: Child,
    stderr: ChildStderr,
    group: Option<Pid>,
    end: CancellationToken,
    ended: CancellationToken,
    output: Arc<Tail>,
}

impl Keeper {
    async fn keep(mut self) {
        let reading = self.output.read(&mut self.stderr);
        tokio::pin!(reading);
        let mut wait = std::pin::pin!(async {
            tokio::select! {
                _ = self.child.wait() => {}
                () = self.end.cancelled() => {
                    signal(self.group, Signal::KILL);
                    let _ = self.child.wait().await;
                }
            }
            // What it started and left behind ends with it.
            signal(self.group, Signal::KILL);
        });
        let mut read = false;
        loop {
            tokio::select! {
                () = &mut wait => break,
                () = &mut reading, if !read => read = true,
            }
        }
        if !read {
            let _ = tokio::time::timeout(Duration::from_secs(3), reading).await;
        }
        self.ended.cancel();
    }
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // It fails if nobody is left, which is what is wanted.
        let _ = kill_process_group(group, signal);
    }
}

/// The end of what a process wrote, without the secrets it was given.
struct Tail {
    bytes: Mutex<Vec<u8>>,
    secrets: Arc<Secrets>,
}

impl Tail {
    async fn read(&self, stderr: &mut ChildStderr) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend_from_slice(&buffer[..count]);
            let surplus = bytes.len().saturating_sub(2 * TAIL);
            bytes.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = String::from_utf8_lossy(&bytes);
        let is_whole = bytes.len() < 2 * TAIL;
        let text = if is_whole { self.secrets.hide(&text) } else { self.secrets.hide_in_rest(&text) };
        let skipped = text.chars().count().saturating_sub(TAIL);
        text.chars().skip(skipped).collect::<String>().trim().to_owned()
    }
}
