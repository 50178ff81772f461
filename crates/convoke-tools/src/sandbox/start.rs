//! The beginning of a command: what confines it is chosen, and a thread that confines itself starts it.
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

use super::covers::Covers;
use super::filter::{self, Sockets};
use super::group::Group;
use super::holes::Holes;
use super::kept::Kept;
use super::members::{Leader, Members};
use super::notes::Secrets;
use super::process::Living;
use super::watchdog::Watchdog;
use super::{Confinement, Network, Sandbox, SandboxError, Task, bubblewrap, inherited, landlock};
use crate::workspace::Follow;

/// Waits for a line, takes the filter's file if there is one, and becomes the command.
const GATE: &str =
    r#"read -r _ || exit 125; if [ -n "$1" ]; then exec 3<"$1"; fi; shift; exec "$@" </dev/null"#;
/// The descriptor that the filter's file gets there.
const FILTER: i32 = 3;

/// What root keeps: its rights to files, which the rules on files bound.
const KEPT_RIGHTS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// What is needed after the command.
pub(super) struct Prepared {
    pub(super) kept: Option<Kept>,
    pub(super) secrets: Secrets,
}

pub(super) struct Started {
    pub(super) living: Living,
    pub(super) gate: ChildStdin,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) ended: oneshot::Receiver<std::io::Result<ExitStatus>>,
}

/// Chooses how to confine the command, and starts it.
pub(super) fn begin(sandbox: &Sandbox, task: &Task, mark: u64) -> Result<(Started, Prepared), SandboxError> {
    let place = sandbox.workspace.resolve(&task.folder, Follow::Links)?;
    let folder = sandbox.workspace.open_folder(&place)?;
    let holes = Holes::of(&sandbox.workspace)?;
    let how = choose(sandbox, &holes)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GATE, "sh"]);
    let kept = if matches!(how, How::Off) { None } else { Some(Kept::of(&sandbox.workspace, &holes)?) };
    let mut protect: fn(Holes) -> Secrets = Secrets::Hidden;
    let mut confine: Option<Confine> = None;
    let mut is_covered = false;
    let is_bubblewrap = matches!(how, How::Bubblewrap(_));
    match how {
        How::Off => {
            command.arg("");
            protect = |_| Secrets::Open;
        }
        How::Landlock => {
            command.arg("");
            let covers = Covers::of(sandbox, &holes, &place.path, &folder)?;
            is_covered = covers.is_some();
            if !is_covered {
                protect = Secrets::Closed;
            }
            let covered = Holes::default();
            let rules = landlock::rules(sandbox, if is_covered { &covered } else { &holes })?;
            let filters = filter::programs(match sandbox.network {
                Network::None => Sockets::None,
                Network::Open => Sockets::Internet,
            })?;
            confine = Some(Box::new(move || {
                covers.as_ref().map_or(Ok(()), Covers::put_on)?;
                give_up_rights()?;
                landlock::confine(rules)?;
                for program in &filters {
                    seccompiler::apply_filter(program)
                        .map_err(|error| SandboxError::setup("system calls", error))?;
                }
                Ok(())
            }));
        }
        How::Bubblewrap(program) => {
            let file = sandbox.private.path().join("filter");
            std::fs::write(&file, bubblewrap::filter(sandbox)?)
                .map_err(|error| SandboxError::setup("system calls", error))?;
            let start = sandbox.workspace.path().join(&place.path);
            command.arg(file).arg(program).args(bubblewrap::arguments(sandbox, &holes, &start, FILTER)?);
        }
    }
    command.arg(&task.program).args(&task.arguments);
    command
        .env_clear()
        .envs(sandbox.private.variables(&[&sandbox.variables, &task.variables]))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if !is_covered {
        // By its handle: the path could have become another folder's. With covers, the thread has led it there.
        command.current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    }
    // What bubblewrap starts dies with it, and it with us.
    let watchdog = if is_bubblewrap { None } else { Some(Watchdog::begin(mark)?) };
    let group = Group::make(sandbox.limits.processes, mark);
    let prepared = Prepared { kept, secrets: protect(holes) };
    let beside = Beside { mark, group, watchdog };
    Ok((spawn(command, task.program.clone(), folder, beside, confine)?, prepared))
}

/// The folders in which a command could make nothing.
pub(super) fn closed_folders(sandbox: &Sandbox) -> Result<Vec<PathBuf>, SandboxError> {
    let holes = Holes::of(&sandbox.workspace)?;
    let is_closed = matches!(choose(sandbox, &holes)?, How::Landlock) && !Covers::can_be(sandbox, &holes);
    Ok(if is_closed { holes.around() } else { Vec::new() })
}

enum How {
    Off,
    Landlock,
    Bubblewrap(PathBuf),
}

fn choose(sandbox: &Sandbox, holes: &Holes) -> Result<How, SandboxError> {
    let unavailable = |why| SandboxError::Unavailable { why };
    let bubblewrap = || {
        if inherited::has_folder() {
            return Err(
                "bubblewrap would hand on the open folder that this process was started with".to_owned()
            );
        }
        bubblewrap::available(sandbox.bubblewrap.as_deref()).map(How::Bubblewrap)
    };
    let by_landlock = || landlock::available().map(|()| How::Landlock);
    match sandbox.confinement {
        Confinement::Off => Ok(How::Off),
        Confinement::Landlock => by_landlock().map_err(unavailable),
        Confinement::Bubblewrap => bubblewrap().map_err(unavailable),
        Confinement::Best if holes.secret.is_empty() => by_landlock()
            .or_else(|why| bubblewrap().map_err(|also| unavailable(format!("{why}, and {also}")))),
        Confinement::Best => bubblewrap()
            .or_else(|why| by_landlock().map_err(|also| unavailable(format!("{why}, and {also}")))),
    }
}

/// What belongs to a command besides its process.
struct Beside {
    mark: u64,
    group: Option<Group>,
    watchdog: Option<Watchdog>,
}

/// What a thread does to itself before it starts a command.
type Confine = Box<dyn FnOnce() -> Result<(), SandboxError> + Send>;

/// Starts the command on a thread of its own, which waits for it: it never becomes a zombie.
fn spawn(
    mut command: Command,
    program: OsString,
    folder: OwnedFd,
    Beside { mark, group, watchdog }: Beside,
    confine: Option<Confine>,
) -> Result<Started, SandboxError> {
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
            let list = group.as_ref().map(Group::list);
            let living = Living::new(Members { leader, mark, list }, group, watchdog);
            Ok(Started { living, gate, stdout: stdout.into(), stderr: stderr.into(), ended })
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
