//! Supervises a server's process, and keeps the end of its standard error.
//!
//! Whatever it starts ends with it, and what it writes to its standard error is kept, as much of it as somebody will read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::launch::{LaunchedServer, Terminator};
use crate::secret::ServerSecrets;

/// How long a server may take to end by itself once its input is closed, and again after being asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How much is kept of what a server writes to its standard error.
const TAIL: usize = 2048;

/// The output of a server's process.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Sync + Unpin>;
/// The input of a server's process.
pub(crate) type ServerInput = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// A running server. Dropping it ends it and everything it started.
pub(crate) struct Process {
    ending: Arc<dyn Terminator>,
    /// Says that it must end.
    end: CancellationToken,
    /// Is told that it has ended.
    ended: CancellationToken,
    output: Arc<Tail>,
    keeper: JoinHandle<()>,
}

impl Process {
    /// Looks after a server that was started.
    pub(crate) fn keep(launched: LaunchedServer, secrets: Arc<ServerSecrets>) -> (Self, Reader, ServerInput) {
        let LaunchedServer { stdin, stdout, stderr, ended: over, ending } = launched;
        let (end, ended) = (CancellationToken::new(), CancellationToken::new());
        let output = Arc::new(Tail { bytes: Mutex::default(), secrets });
        let keeper = Keeper {
            over,
            stderr,
            ending: Arc::clone(&ending),
            end: end.clone(),
            ended: ended.clone(),
            output: Arc::clone(&output),
        };
        (Self { ending, end, ended, output, keeper: tokio::spawn(keeper.keep()) }, stdout, stdin)
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
        self.ending.ask();
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
            self.ending.kill();
        }
        self.keeper.abort();
    }
}

/// What stays with a process to its end.
struct Keeper {
    over: convoke_core::BoxFuture<'static, ()>,
    stderr: Reader,
    ending: Arc<dyn Terminator>,
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
                () = &mut self.over => {}
                () = self.end.cancelled() => {
                    self.ending.kill();
                    self.over.await;
                }
            }
            // What it started and left behind ends with it.
            self.ending.kill();
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

/// The end of what a process wrote, without the secrets it was given.
struct Tail {
    bytes: Mutex<Vec<u8>>,
    secrets: Arc<ServerSecrets>,
}

impl Tail {
    async fn read(&self, stderr: &mut Reader) {
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
