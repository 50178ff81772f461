//! Reads the output of a command, until it ends or has to.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::limits::Exceeded;
use super::{CapturedOutput, CommandEnd, SandboxError};

/// Reads what the command writes until it ends, or has to.
pub(super) async fn until_end(
    time: Duration,
    most_output: u64,
    ended: &mut oneshot::Receiver<std::io::Result<ExitStatus>>,
    mut exceeded: oneshot::Receiver<Exceeded>,
    stdout: &mut StreamReader,
    stderr: &mut StreamReader,
) -> Result<CommandEnd, SandboxError> {
    let now = Instant::now();
    // A time too long to be told ends in a day.
    let deadline = now.checked_add(time).unwrap_or(now + Duration::from_secs(86_400));
    loop {
        tokio::select! {
            biased;
            Ok(exceeded) = &mut exceeded => return Ok(CommandEnd::OverLimit(exceeded)),
            ended = &mut *ended => {
                // Ended by the watcher, perhaps, which then says so.
                let killed = exceeded.try_recv().map(CommandEnd::OverLimit);
                return killed.or_else(|_| ended_by(ended));
            }
            () = sleep_until(deadline) => return Ok(CommandEnd::TimedOut),
            read = stdout.more(), if !stdout.is_over => read?,
            read = stderr.more(), if !stderr.is_over => read?,
        }
        if stdout.output.bytes() + stderr.output.bytes() > most_output {
            return Ok(CommandEnd::OverLimit(Exceeded::Output));
        }
    }
}

fn ended_by(
    ended: Result<std::io::Result<ExitStatus>, oneshot::error::RecvError>,
) -> Result<CommandEnd, SandboxError> {
    let status = ended.map_err(|lost| SandboxError::setup("a thread", lost))?;
    let status = status.map_err(|error| SandboxError::setup("a process", error))?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, signal) => CommandEnd::Signalled(signal.unwrap_or(0)),
    })
}

/// One of the outputs, being read.
pub(super) struct StreamReader {
    pipe: Receiver,
    pub(super) output: CapturedOutput,
    is_over: bool,
    buffer: Vec<u8>,
}

impl StreamReader {
    pub(super) fn of(pipe: Option<OwnedFd>) -> Result<Self, SandboxError> {
        let pipe = pipe.ok_or_else(|| SandboxError::setup("an output", "there is none"))?;
        let pipe = Receiver::from_owned_fd(pipe).map_err(|error| SandboxError::setup("an output", error))?;
        Ok(Self { pipe, output: CapturedOutput::default(), is_over: false, buffer: vec![0; 64 << 10] })
    }

    async fn more(&mut self) -> Result<(), SandboxError> {
        let read = self.pipe.read(&mut self.buffer).await;
        let read = read.map_err(|error| SandboxError::setup("an output", error))?;
        self.is_over = read == 0;
        self.output.take(&self.buffer[..read]);
        Ok(())
    }

    /// What is still to come.
    pub(super) async fn rest(&mut self) {
        while !self.is_over && self.more().await.is_ok() {}
    }
}
