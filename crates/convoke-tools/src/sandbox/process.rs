//! A command's life: a thread that confines itself and starts it, limits, and its certain end.
//!
//! Landlock, seccomp and capabilities belong to a thread and are inherited by what it starts, so a thread of our own,
//! used for one command, can be restricted without code between `fork` and `exec`. The process waits at a gate, a shell
//! that reads a line, until its limits are on it and its mark is known; then the shell becomes the command.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::filter::{self, Sockets};
use super::group::Group;
use super::holes::Holes;
use super::kept::Kept;
use super::members::{Leader, Members, new_mark};
use super::reading::{Reading, until_end};
use super::watch::Watcher;
use super::{Confinement, End, Finished, Network, Sandbox, SandboxError, Task, bubblewrap, landlock};
use crate::workspace::{Follow, shown};

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

pub(super) async fn run(sandbox: Sandbox, task: Task) -> Result<Finished, SandboxError> {
    let time = task.time;
    let may_use_paths = match sandbox.confinement {
        Confinement::Off | Confinement::Landlock => false,
        Confinement::Bubblewrap => true,
        Confinement::Best => sandbox.bubblewrap.is_some(),
    };
    let _place = sandbox.workspace.for_command(may_use_paths).await;
    let (started, prepared) = {
        let sandbox = sandbox.clone();
        let begun = tokio::task::spawn_blocking(move || begin(&sandbox, &task));
        begun.await.map_err(|lost| SandboxError::setup("a thread", lost))??
    };
    let Started { living, gate, stdout, stderr, ended } = started;
    let members = living.members.clone();
    let limited = members.leader.with(|process| {
        sandbox.limits.put_on(process, members.mark)?;
        living.group.as_ref().map_or(Ok(()), |group| group.take_in(process))
    });
    limited.ok_or_else(|| SandboxError::setup("a process", "it ended before it began"))??;
    let (watcher, exceeded) = Watcher::begin(&sandbox.workspace, sandbox.limits, members)?;
    drop(open(gate)?);
    let (mut out, mut err) = (Reading::of(stdout)?, Reading::of(stderr)?);
    let end = until_end(time, sandbox.limits.output, ended, exceeded, &mut out, &mut err).await?;
    drop(watcher);
    if !matches!(end, End::Exited(_) | End::Signalled(_)) {
        living.members.strike();
    }
    // Whatever it has left behind ends now; then nothing holds the outputs open any more.
    let left = living.end().await;
    let drain = async { tokio::join!(out.rest(), err.rest()) };
    // Output that still does not end belongs to something that could not be killed, which is said below.
    let _ = timeout(Duration::from_secs(1), drain).await;
    let Prepared { kept, holes } = prepared;
    let finish = {
        let workspace = sandbox.workspace.clone();
        tokio::task::spawn_blocking(move || kept.map(|kept| kept.put_back(&workspace)).transpose())
    };
    let changed = finish.await.map_err(|lost| SandboxError::setup("a thread", lost))??.unwrap_or_default();
    if left > 0 {
        return Err(SandboxError::Left { left });
    }
    let notes = notes(&changed, &holes, end);
    Ok(Finished { end, stdout: out.output, stderr: err.output, notes })
}

/// What is needed after the command.
struct Prepared {
    kept: Option<Kept>,
    /// Folders in which nothing could be made.
    holes: Vec<PathBuf>,
}

struct Started {
    living: Living,
    gate: ChildStdin,
    stdout: OwnedFd,
    stderr: OwnedFd,
    ended: oneshot::Receiver<std::io::Result<ExitStatus>>,
}

/// A command that lives. Dropped, it dies, with everything it has started.
struct Living {
    members: Members,
    /// Goes last: it must be empty.
    group: Option<Group>,
    is_over: bool,
}

impl Living {
    async fn end(mut self) -> usize {
        self.is_over = true;
        let (members, again) = (self.members.clone(), self.members.clone());
        let group = self.group.take();
        let killed = tokio::task::spawn_blocking(move || {
            let left = members.kill();
            drop(group);
            left
        });
        // On this thread if there is no other: it is milliseconds.
        killed.await.unwrap_or_else(|_| again.kill())
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        if !self.is_over {
            self.members.strike();
            self.members.kill();
        }
    }
}

/// Chooses how to confine the command, and starts it.
fn begin(sandbox: &Sandbox, task: &Task) -> Result<(Started, Prepared), SandboxError> {
    let place = sandbox.workspace.resolve(&task.folder, Follow::Links)?;
    let folder = sandbox.workspace.open_folder(&place)?;
    let holes = Holes::of(&sandbox.workspace)?;
    let how = choose(sandbox, &holes)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GATE, "sh"]);
    let kept = if matches!(how, How::Off) { None } else { Some(Kept::of(&sandbox.workspace, &holes)?) };
    let mut prepared = Prepared { kept, holes: Vec::new() };
    let mut confine: Box<dyn FnOnce() -> Result<(), SandboxError> + Send> = Box::new(|| Ok(()));
    match how {
        How::Off => {
            command.arg("");
        }
        How::Landlock => {
            command.arg("");
            prepared.holes = holes.around();
            let rules = landlock::rules(sandbox, &holes)?;
            let filters = filter::programs(match sandbox.network {
                Network::None => Sockets::None,
                Network::Open => Sockets::Internet,
            })?;
            confine = Box::new(move || {
                give_up_rights()?;
                landlock::confine(rules)?;
                for program in &filters {
                    seccompiler::apply_filter(program)
                        .map_err(|error| SandboxError::setup("system calls", error))?;
                }
                Ok(())
            });
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
        // By its handle: the path could have become another folder's.
        .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mark = new_mark().map_err(|error| SandboxError::setup("a mark", error))?;
    let group = Group::make(sandbox.limits.processes, mark);
    Ok((spawn(command, task.program.clone(), folder, mark, group, confine)?, prepared))
}

enum How {
    Off,
    Landlock,
    Bubblewrap(PathBuf),
}

fn choose(sandbox: &Sandbox, holes: &Holes) -> Result<How, SandboxError> {
    let unavailable = |why| SandboxError::Unavailable { why };
    let bubblewrap = || bubblewrap::available(sandbox.bubblewrap.as_deref()).map(How::Bubblewrap);
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

/// Starts the command on a thread of its own, which waits for it: it never becomes a zombie.
fn spawn(
    mut command: Command,
    program: OsString,
    folder: OwnedFd,
    mark: u64,
    group: Option<Group>,
    confine: Box<dyn FnOnce() -> Result<(), SandboxError> + Send>,
) -> Result<Started, SandboxError> {
    let (tell_started, started) = std::sync::mpsc::sync_channel(1);
    let (tell_ended, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
        let child = confine().and_then(|()| {
            let program = program.display().to_string();
            command.spawn().map_err(|source| SandboxError::Start { program, source })
        });
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
            let living = Living {
                members: Members { leader, mark, list: group.as_ref().map(Group::list) },
                group,
                is_over: false,
            };
            Ok(Started { living, gate, stdout: stdout.into(), stderr: stderr.into(), ended })
        }
        _ => Err(SandboxError::setup("a process", "it has no outputs")),
    }
}

/// Gives up what root may do beyond files: to other processes, to limits, to devices, to the machine.
fn give_up_rights() -> Result<(), SandboxError> {
    let failed = |errno| SandboxError::setup("rights", errno);
    let had = capabilities(None).map_err(failed)?;
    let kept = had.permitted & KEPT_RIGHTS;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(failed)
}

/// Lets the command begin.
fn open(mut gate: ChildStdin) -> Result<ChildStdin, SandboxError> {
    use std::io::Write;
    gate.write_all(b"\n").map_err(|error| SandboxError::setup("a process", error))?;
    Ok(gate)
}

fn notes(changed: &[PathBuf], holes: &[PathBuf], end: End) -> Vec<String> {
    let mut notes = Vec::new();
    let list = |paths: &[PathBuf]| {
        paths.iter().map(|path| format!("`{}`", shown(path))).collect::<Vec<_>>().join(", ")
    };
    if !changed.is_empty() {
        notes.push(format!("denied: {} may not be changed; it was put back", list(changed)));
    }
    if !holes.is_empty() && end != End::Exited(0) {
        notes.push(format!(
            "there are protected files in {}: a command cannot make, rename or remove anything directly in there. Use the \
             file tools for that, or a folder inside. (With bubblewrap installed there is no such limit.)",
            list(holes)
        ));
    }
    notes
}
