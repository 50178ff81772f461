//! A command that works in the workspace itself, confined by Landlock or by nothing: it is started, gets its limits, is
//! watched, and has a certain end.

use std::path::PathBuf;
use std::process::ChildStdin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::command_processes::CommandProcesses;
use super::control_group::{self, ControlGroup};
use super::notes::notes;
use super::read_only_snapshot::ReadOnlySnapshot;
use super::start::{CleanupState, InPlaceConfinement, StartedCommand, begin};
use super::stream_reader::{StreamReader, until_end};
use super::usage_monitor::UsageMonitor;
use super::watchdog::Watchdog;
use super::{CommandEnd, CommandResult, LostChanges, Sandbox, SandboxCommand, SandboxError};
use crate::workspace::{FileError, Workspace};

pub(super) async fn run(
    sandbox: Sandbox,
    task: SandboxCommand,
    way: InPlaceConfinement,
    mark: u64,
) -> Result<CommandResult, SandboxError> {
    let time = task.time;
    let (started, prepared) = {
        let sandbox = sandbox.clone();
        let begun = tokio::task::spawn_blocking(move || begin(&sandbox, &task, way, mark));
        begun.await.map_err(|lost| SandboxError::setup("a thread", lost))??
    };
    let StartedCommand { mut living, gate, stdout, stderr, mut ended } = started;
    let CleanupState { kept, secrets } = prepared;
    living.kept = kept.map(|kept| (kept, sandbox.workspace.clone()));
    let members = living.members.clone();
    let limited = members.leader.with(|process| {
        sandbox.limits.put_on(process, members.mark)?;
        living.groups.iter().try_for_each(|group| group.take_in(process))
    });
    limited.ok_or_else(|| SandboxError::setup("a process", "it ended before it began"))??;
    let (strike, groups) = (members.clone(), Arc::clone(&living.groups));
    let usage = move |enough| control_group::counted(&groups, members.usage(enough));
    let (watcher, exceeded) = UsageMonitor::begin(&sandbox.workspace, sandbox.limits, usage, move || {
        strike.strike();
        strike.kill();
    })?;
    drop(open(gate)?);
    let (mut out, mut err) = (StreamReader::of(Some(stdout))?, StreamReader::of(Some(stderr))?);
    let end = until_end(time, sandbox.limits.output, &mut ended, exceeded, &mut out, &mut err).await?;
    drop(watcher);
    let end = control_group::ended(&living.groups, end);
    if !matches!(end, CommandEnd::Exited(_) | CommandEnd::Signalled(_)) {
        living.members.strike();
    }
    // Whatever it has left behind ends now; then nothing holds the outputs open any more.
    let (left, put_back) = living.end().await;
    let drain = async { tokio::join!(out.rest(), err.rest()) };
    // Output that still does not end belongs to something that could not be killed, which is said below.
    let _ = timeout(Duration::from_secs(10), drain).await;
    let changed = put_back?;
    if left > 0 {
        return Err(SandboxError::Left { left });
    }
    let notes = notes(&changed, &secrets, end, &err.output);
    let lost = if changed.is_empty() { LostChanges::None } else { LostChanges::Refused };
    Ok(CommandResult { end, stdout: out.output, stderr: err.output, notes, lost })
}

/// A command that lives. Dropped, it dies, with everything it has started.
pub(super) struct RunningCommand {
    members: CommandProcesses,
    /// Ends it, should this process be killed.
    watchdog: Option<Watchdog>,
    /// They go last: they must be empty.
    groups: Arc<Vec<ControlGroup>>,
    /// What is put back when none of its processes lives any more, however it came to its end.
    kept: Option<(ReadOnlySnapshot, Workspace)>,
    is_over: bool,
}

type PutBack = Result<Vec<PathBuf>, FileError>;

impl RunningCommand {
    pub(super) fn new(
        members: CommandProcesses,
        groups: Vec<ControlGroup>,
        watchdog: Option<Watchdog>,
    ) -> Self {
        Self { members, watchdog, groups: Arc::new(groups), kept: None, is_over: false }
    }

    /// Kills what is left of it and puts back what it may not have changed. Gives how many processes are left, and what
    /// was put back.
    async fn end(self) -> (usize, PutBack) {
        // Once begun, it is done to its end: whoever gives up waiting only does not hear of it.
        let ended = tokio::task::spawn_blocking(move || self.end_now());
        ended.await.unwrap_or_else(|lost| (0, Err(FileError::Unfit(lost.to_string()))))
    }

    fn end_now(mut self) -> (usize, PutBack) {
        self.is_over = true;
        let left = self.members.kill();
        drop(self.watchdog.take());
        self.groups = Arc::default();
        (left, self.put_back())
    }

    fn put_back(&mut self) -> PutBack {
        self.kept.take().map_or(Ok(Vec::new()), |(kept, workspace)| kept.put_back(&workspace))
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if !self.is_over {
            self.members.strike();
            self.members.kill();
            // Nobody is left to be told.
            let _ = self.put_back();
        }
    }
}

/// Lets the command begin.
fn open(mut gate: ChildStdin) -> Result<ChildStdin, SandboxError> {
    use std::io::Write;
    gate.write_all(b"\n").map_err(|error| SandboxError::setup("a process", error))?;
    Ok(gate)
}
