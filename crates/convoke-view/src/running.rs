//! A program that runs in a view, and its end.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

/// A program that runs in a view.
///
/// Dropped, it and everything it has started are ended; [`wait`](Self::wait) returns when nothing of it is left.
pub struct RunningProgram {
    child: Child,
    ender: KillHandle,
    is_over: bool,
    /// The program's input, if it is a pipe.
    pub stdin: Option<ChildStdin>,
    /// The program's output, if it is a pipe.
    pub stdout: Option<ChildStdout>,
    /// The program's error output, if it is a pipe.
    pub stderr: Option<ChildStderr>,
    /// The socket of ours that listens in the view, if one was asked for.
    pub listener: Option<TcpListener>,
}

/// Ends a program in a view, with everything it has started. Clones end the same program.
#[derive(Debug, Clone)]
pub struct KillHandle {
    /// The keeper ends everything when this is closed: by us, or because we are gone.
    life: Arc<Mutex<Option<OwnedFd>>>,
}

impl KillHandle {
    /// Ends everything in the view. It is over when [`RunningProgram::wait`] says so.
    pub fn end(&self) {
        drop(self.life.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl RunningProgram {
    pub(crate) fn new(mut child: Child, life: OwnedFd, listener: Option<TcpListener>) -> Self {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ender = KillHandle { life: Arc::new(Mutex::new(Some(life))) };
        Self { child, ender, is_over: false, stdin, stdout, stderr, listener }
    }

    /// Returns a handle that ends it.
    #[must_use]
    pub fn ender(&self) -> KillHandle {
        self.ender.clone()
    }

    /// Waits until the program has ended and nothing is left of the view. How it ended is how the program did.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.is_over = true;
        Ok(status)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if !self.is_over {
            self.ender.end();
            // It never becomes a zombie. Everything was killed, so there is little to wait for.
            let _ = self.child.wait();
        }
    }
}

impl fmt::Debug for RunningProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunningProgram").field("keeper", &self.child.id()).finish_non_exhaustive()
    }
}
