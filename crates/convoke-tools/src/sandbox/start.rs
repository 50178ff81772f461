//! Starts a command: its confinement is chosen, and a thread that confines itself starts it.
//!
//! Landlock, seccomp and capabilities belong to a thread and are inherited by what it starts, so a thread of our own,
//! used for one command, can be restricted without code between `fork` and `exec`. The process waits at a gate, a shell
//! that reads a line, until its limits are on it and its mark is known; then the shell becomes the command.
//!
//! That thread must be gone before the gate opens. What Landlock confines may look into whatever is confined with it, and
//! a thread has the memory, the variables and the handles of all of this process.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, gettid, set_capabilities};
use tokio::sync::oneshot;

use super::command_processes::{CommandProcesses, Leader};
use super::control_group::ControlGroup;
use super::filter::{self, FilterExceptions, Sockets};
use super::in_place::RunningCommand;
use super::notes::SecretFolders;
use super::protected_paths::ProtectedPaths;
use super::read_only_snapshot::ReadOnlySnapshot;
use super::watchdog::Watchdog;
use super::{Network, Sandbox, SandboxCommand, SandboxError, landlock};
use crate::workspace::Follow;

/// Waits for a line, and becomes the command.
const GATE: &str = r#"read -r _ || exit 125; exec "$@" </dev/null"#;

/// What root keeps: its rights to files, which the rules on files bound.
const KEPT_RIGHTS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// The state needed for cleaning up after the command.
pub(super) struct CleanupState {
    pub(super) kept: Option<ReadOnlySnapshot>,
    pub(super) secrets: SecretFolders,
}

pub(super) struct StartedCommand {
    pub(super) living: RunningCommand,
    pub(super) gate: ChildStdin,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) ended: oneshot::Receiver<std::io::Result<ExitStatus>>,
}

/// The confinement of a command that works in the workspace itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InPlaceConfinement {
    Landlock,
    Off,
}

impl InPlaceConfinement {
    /// Why commands do not work in a view.
    pub(super) const fn why_in_place(self) -> &'static str {
        match self {
            Self::Landlock => "there are no namespaces",
            Self::Off => "the sandbox is off",
        }
    }
}

/// Starts a command, confined this way.
pub(super) fn begin(
    sandbox: &Sandbox,
    task: &SandboxCommand,
    way: InPlaceConfinement,
    mark: u64,
) -> Result<(StartedCommand, CleanupState), SandboxError> {
    let place = sandbox.workspace.resolve(&task.folder, Follow::Links)?;
    let folder = sandbox.workspace.open_folder(&place)?;
    let holes = ProtectedPaths::of(&sandbox.workspace)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GATE, "sh"]);
    let groups = ControlGroup::make(&sandbox.limits, mark);
    let mut prepared = CleanupState { kept: None, secrets: SecretFolders::Open };
    let mut confine: Option<Confine> = None;
    if way == InPlaceConfinement::Landlock {
        prepared.kept = Some(ReadOnlySnapshot::of(&sandbox.workspace, &holes)?);
        let rules = landlock::rules(sandbox, &holes)?;
        let filters = filter::programs(FilterExceptions {
            sockets: match &sandbox.network {
                Network::None | Network::Hosts(_) => Sockets::None,
                Network::Open => Sockets::Internet,
            },
            is_in_view: false,
            nameless_memory: groups.iter().any(ControlGroup::holds_memory),
        })?;
        confine = Some(Box::new(move || {
            give_up_rights()?;
            landlock::confine(rules)?;
            for program in &filters {
                seccompiler::apply_filter(program)
                    .map_err(|error| SandboxError::setup("system calls", error))?;
            }
            Ok(())
        }));
        prepared.secrets = SecretFolders::Closed(holes);
    }
    command.arg(&task.program).args(&task.arguments);
    command
        .env_clear()
        .envs(sandbox.private.variables(false, &[&sandbox.variables, &task.variables]))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // By its handle: the path could have become another folder's.
        .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let beside = CommandResources { mark, groups, watchdog: Some(Watchdog::begin(mark)?) };
    Ok((spawn(command, task.program.clone(), folder, beside, confine)?, prepared))
}

/// The resources of a command besides its process.
struct CommandResources {
    mark: u64,
    groups: Vec<ControlGroup>,
    watchdog: Option<Watchdog>,
}

/// What a thread does to itself before it starts a command.
type Confine = Box<dyn FnOnce() -> Result<(), SandboxError> + Send>;

/// Starts the command on a thread of its own, which waits for it: it never becomes a zombie.
fn spawn(
    mut command: Command,
    program: OsString,
    folder: OwnedFd,
    CommandResources { mark, groups, watchdog }: CommandResources,
    confine: Option<Confine>,
) -> Result<StartedCommand, SandboxError> {
    let (tell_started, started) = std::sync::mpsc::sync_channel(1);
    let (tell_ended, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
        let mut start = move || {
            let program = program.display().to_string();
            command.spawn().map_err(|source| SandboxError::Start { program, source })
        };
        let child = match confine {
            None => start(),
            Some(confine) => from_a_thread_that_ends(move || confine().and_then(|()| start())),
        };
        drop(folder);
        match child {
            Ok(mut child) => {
                let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
                // What is not a number of a process cannot be.
                let Some(leader) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
                let leader = Arc::new(Leader::new(leader));
                // Nobody listens if the future was dropped meanwhile. The gate is closed then, and the shell ends.
                let _ = tell_started.send(Ok((Arc::clone(&leader), pipes)));
                let _ = tell_ended.send(leader.wait(&mut child));
            }
            Err(error) => drop(tell_started.send(Err(error))),
        }
    });
    thread.map_err(|error| SandboxError::setup("a thread", error))?;
    let lost = |_| SandboxError::setup("a thread", "it ended without a word");
    match started.recv().map_err(lost)?? {
        (leader, (Some(gate), Some(stdout), Some(stderr))) => {
            let list = groups.first().map(ControlGroup::list);
            let living = RunningCommand::new(CommandProcesses { leader, mark, list }, groups, watchdog);
            Ok(StartedCommand { living, gate, stdout: stdout.into(), stderr: stderr.into(), ended })
        }
        _ => Err(SandboxError::setup("a process", "it has no outputs")),
    }
}

/// Starts a process from a thread that restricts itself. When this returns, there is no such thread any more.
fn from_a_thread_that_ends(
    start: impl FnOnce() -> Result<Child, SandboxError> + Send + 'static,
) -> Result<Child, SandboxError> {
    let thread = std::thread::Builder::new().name("sandbox-start".to_owned());
    let thread = thread.spawn(move || (gettid(), start()));
    let ended = thread.map_err(|error| SandboxError::setup("a thread", error))?.join();
    let (number, child) = ended.map_err(|_| SandboxError::setup("a thread", "it ended without a word"))?;
    let mut child = child?;
    let thread = PathBuf::from(format!("/proc/self/task/{}", number.as_raw_nonzero()));
    // It has nothing left to do, and is gone within microseconds.
    for _ in 0..5_000 {
        if !thread.exists() {
            return Ok(child);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // The gate closes, and the shell at it ends.
    drop(child.stdin.take());
    let _ = child.wait();
    Err(SandboxError::setup("a thread", "it does not end"))
}

/// Gives up what root may do beyond files: to other processes, to limits, to devices, to the machine.
fn give_up_rights() -> Result<(), SandboxError> {
    let failed = |errno| SandboxError::setup("rights", errno);
    let had = capabilities(None).map_err(failed)?;
    let kept = had.permitted & KEPT_RIGHTS;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(failed)
}
