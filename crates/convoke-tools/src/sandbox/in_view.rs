//! A command that works in a view of the workspace: what it changed comes out through the gate when everything of it is over.
//!
//! Dropped before that, it leaves the workspace as it was, and it can be told that it did.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use convoke_view::{KillHandle, View, ViewError};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::command_processes::{marked_usage, marked_usage_with_sockets};
use super::control_group::{self, ControlGroup};
use super::filter::{self, FilterExceptions, Sockets};
use super::gate::{Changes, Gate, GateResult, Secrets};
use super::inventory::Identity;
use super::landlock::SETTINGS;
use super::layers::Layers;
use super::open_gates::OpenGate;
use super::stream_reader::{StreamReader, until_end};
use super::system::hidden_in;
use super::usage_monitor::UsageMonitor;
use super::{
    CommandEnd, CommandResult, CommandSlot, LostChanges, Network, Sandbox, SandboxCommand, SandboxError,
    notes,
};
use crate::network::{self, HostAsker, Proxy, RunningProxy};
use crate::repository::Controls;
use crate::workspace::{FileKind, Follow, Target};

/// Threads that a process may have on average.
const THREADS: u64 = 8;
/// How often a view is made anew because something went that was to be in it.
const TRIES: usize = 5;
/// Where the proxy listens in a view: nobody else is there.
const PROXY: u16 = 3128;
/// What of the memory may be shared through files.
const SHARED: u64 = 4;

/// Runs a command to its end. What it changed is still in its view then.
pub(super) async fn run(
    sandbox: Sandbox,
    task: SandboxCommand,
    slot: CommandSlot,
) -> Result<HeldChanges, SandboxError> {
    let mark = slot.mark();
    let (time, asker) = (task.time, task.asker.clone());
    let mut begun = {
        let sandbox = sandbox.clone();
        let begun = tokio::task::spawn_blocking(move || begin(&sandbox, &task, &slot));
        begun.await.map_err(|lost| SandboxError::setup("a thread", lost))??
    };
    let proxy = proxy(&sandbox.network, asker, begun.listener.take())?;
    let ender = begun.ender.clone();
    let groups = Arc::clone(&begun.groups);
    let usage_of = match sandbox.network {
        Network::Open => marked_usage,
        Network::None | Network::Hosts(_) => marked_usage_with_sockets,
    };
    let usage = move |enough| control_group::counted(&groups, usage_of(mark, enough));
    let (watcher, exceeded) =
        UsageMonitor::begin(&sandbox.workspace, sandbox.limits, usage, move || ender.end())?;
    let (mut out, mut err) = (StreamReader::of(begun.stdout.take())?, StreamReader::of(begun.stderr.take())?);
    let end = until_end(time, sandbox.limits.output, &mut begun.ended, exceeded, &mut out, &mut err).await?;
    drop(watcher);
    let end = control_group::ended(&begun.groups, end);
    if matches!(end, CommandEnd::TimedOut | CommandEnd::OverLimit(_)) && !begun.ended.is_terminated() {
        begun.ender.end();
        // What was killed takes its time: much memory, or a busy machine.
        let over = timeout(Duration::from_secs(10), &mut begun.ended).await;
        over.map_err(|_| SandboxError::Left { left: 1 })?.ok();
    }
    let report = match proxy {
        Some(proxy) => Some(proxy.finish().await),
        None => None,
    };
    // With the whole network open nobody knows.
    let reached = report.as_ref().map_or(sandbox.network == Network::Open, |report| report.connected);
    let refused_hosts = report.and_then(|report| report.note());
    // Nothing of the command lives any more, so nothing holds its outputs open.
    tokio::join!(out.rest(), err.rest());
    let notes = refused_hosts.into_iter().collect();
    let finished =
        CommandResult { end, stdout: out.output, stderr: err.output, notes, lost: LostChanges::None };
    Ok(HeldChanges { sandbox, begun, finished, reached })
}

/// A command that is over, and whose changes are still in its view. Dropped, nothing of it comes out.
pub(crate) struct HeldChanges {
    sandbox: Sandbox,
    begun: StartedView,
    finished: CommandResult,
    /// Whether it may have reached another machine.
    pub(crate) reached: bool,
}

impl HeldChanges {
    /// Brings out what may be.
    pub(crate) async fn take_over(self) -> Result<CommandResult, SandboxError> {
        let Self { sandbox, begun, mut finished, .. } = self;
        let hidden: Vec<PathBuf> = begun.known.hidden.iter().map(|(path, _)| path.clone()).collect();
        let top = sandbox.workspace.path().to_owned();
        // Once begun, it is done to its end: whoever gives up waiting only does not hear of it.
        let opened = OpenGate::new();
        let brought = tokio::task::spawn_blocking(move || {
            let _opened = opened;
            begun.bring_out(&sandbox)
        });
        let brought = brought.await.map_err(|lost| SandboxError::setup("a thread", lost))??;
        let notes = notes::of_view(&brought.refused, &hidden, finished.end, &finished.stderr);
        finished.notes.splice(0..0, notes);
        finished.lost = brought.lost();
        finished.notes.extend(notes::of_complaints(&top, &finished.stderr));
        Ok(finished)
    }

    /// Brings out nothing, for this reason.
    pub(crate) fn leave(self, why: &str) -> CommandResult {
        let mut finished = self.finished;
        finished.lost = LostChanges::Refused;
        finished.notes.push(format!("denied: nothing that the command changed was taken over: {why}"));
        finished
    }

    /// What it has changed, for a person to read. `None` if that is nothing.
    pub(crate) async fn changes(&mut self) -> Result<Option<Changes>, SandboxError> {
        let (sandbox, known) = (self.sandbox.clone(), Arc::clone(&self.begun.known));
        let upper = self.begun.layers.upper();
        let read = tokio::task::spawn_blocking(move || {
            Ok::<_, SandboxError>(Changes::read(&known.gate(&sandbox)?, &upper)?)
        });
        read.await.map_err(|lost| SandboxError::setup("a thread", lost))?
    }
}

/// What lets a command reach the hosts it may.
pub(super) fn proxy(
    network: &Network,
    asker: Option<HostAsker>,
    listener: Option<TcpListener>,
) -> Result<Option<RunningProxy>, SandboxError> {
    let (Network::Hosts(rules), Some(listener)) = (network, listener) else { return Ok(None) };
    let proxy = Proxy::new(rules);
    let proxy = asker.into_iter().fold(proxy, Proxy::asker);
    let started = proxy.start([listener]);
    started.map(Some).map_err(|error| SandboxError::setup("the network", error))
}

/// A command that runs in a view. Dropped, it ends, and nothing comes out.
struct StartedView {
    stdout: Pipe,
    stderr: Pipe,
    /// Tells when nothing of it is left.
    ended: oneshot::Receiver<std::io::Result<ExitStatus>>,
    ender: KillHandle,
    layers: Arc<Layers>,
    groups: Arc<Vec<ControlGroup>>,
    known: Arc<WorkspaceSnapshot>,
    listener: Option<TcpListener>,
}

/// A snapshot of what was known of the workspace when the view was made.
struct WorkspaceSnapshot {
    since: (i64, i64),
    controls: Vec<Controls>,
    hidden: Vec<(PathBuf, FileKind)>,
    folders: HashMap<PathBuf, Identity>,
}

/// An output that is taken once.
struct Pipe(Option<OwnedFd>);

impl Pipe {
    fn take(&mut self) -> Option<OwnedFd> {
        self.0.take()
    }
}

impl StartedView {
    fn bring_out(&self, sandbox: &Sandbox) -> Result<GateResult, SandboxError> {
        if self.layers.are_unchanged() {
            return Ok(GateResult::default());
        }
        if self.layers.are_closed() {
            return Err(SandboxError::TakenOver);
        }
        self.known.gate(sandbox)?.bring_out(&self.layers)
    }
}

impl Drop for StartedView {
    fn drop(&mut self) {
        self.ender.end();
    }
}

impl WorkspaceSnapshot {
    /// The gate, with what is secret now: those that have come to be there since were not hidden.
    fn gate<'a>(&'a self, sandbox: &'a Sandbox) -> Result<Gate<'a>, SandboxError> {
        let now = sandbox.look(sandbox.workspace.path())?;
        let secrets = Secrets::of(sandbox.workspace.path(), self.hidden.iter().chain(&now.hidden));
        Ok(Gate {
            workspace: &sandbox.workspace,
            since: self.since,
            hidden: self.hidden.iter().map(|(path, _)| path.as_path()).collect(),
            folders: &self.folders,
            secrets,
            controls: self.controls.clone(),
            readable: sandbox
                .readable
                .iter()
                .chain(&sandbox.programs)
                .cloned()
                .chain(sandbox.optional_folders())
                .collect(),
            covered: &sandbox.covered,
            most: sandbox.limits.written,
        })
    }
}

fn begin(sandbox: &Sandbox, task: &SandboxCommand, slot: &CommandSlot) -> Result<StartedView, SandboxError> {
    let mark = slot.mark();
    let top = sandbox.workspace.path();
    let place = sandbox.workspace.resolve(&task.folder, Follow::Links)?;
    if matches!(place.target, Target::Missing { .. }) || place.kind() != Some(FileKind::Folder) {
        sandbox.workspace.open_folder(&place)?;
    }
    sandbox.workspace.protected().may_read(&place.path)?;
    // Before anything is looked at: what is changed from now on was not the command.
    let since = now();
    let found = sandbox.look(top)?;
    let mut controls: Vec<Controls> = found.trees.iter().map(|tree| Controls::of(&top.join(tree))).collect();
    controls.extend(top.ancestors().skip(1).filter(|above| above.join(".git").exists()).map(Controls::of));
    controls.push(Controls::of_every_repository());
    let layers = slot.layers(&sandbox.layers)?;
    layers.furnish(top, &found)?;
    let groups = ControlGroup::make(&sandbox.limits, mark);
    let make = || {
        let view = furnished(sandbox, &layers, &groups, mark)?
            .overlay(layers.lower(top), layers.upper(), layers.work(), top)
            .start(top.join(&place.path));
        let mut command = Command::new(&task.program);
        command
            .args(&task.arguments)
            .env_clear()
            .envs(variables(sandbox, &task.variables))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok((view, command))
    };
    let mut running = started(make)?;
    let stdout = Pipe(running.stdout.take().map(Into::into));
    let stderr = Pipe(running.stderr.take().map(Into::into));
    let (ender, listener) = (running.ender(), running.listener.take());
    let (tell, ended) = oneshot::channel();
    let groups = Arc::new(groups);
    // Both go when nothing of the command is left.
    let kept = (Arc::clone(&layers), Arc::clone(&groups));
    let waiting = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
        let status = running.wait();
        drop(kept);
        // Nobody listens if the call was dropped.
        let _ = tell.send(status);
    });
    waiting.map_err(|error| SandboxError::setup("a thread", error))?;
    Ok(StartedView {
        stdout,
        stderr,
        ended,
        ender,
        layers,
        groups,
        known: Arc::new(WorkspaceSnapshot { since, controls, hidden: found.hidden, folders: found.folders }),
        listener,
    })
}

/// Starts a program in the view that is made for it. Something that was to be shown or hidden may go in between: then a view is made of
/// what there is now.
pub(super) fn started(
    make: impl Fn() -> Result<(View, Command), SandboxError>,
) -> Result<convoke_view::RunningProgram, SandboxError> {
    let mut tries = 0..TRIES;
    loop {
        let (view, command) = make()?;
        let program = command.get_program().display().to_string();
        match view.spawn(command) {
            Ok(running) => return Ok(running),
            Err(ViewError::Start(source)) => return Err(SandboxError::Start { program, source }),
            Err(ViewError::Setup { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound && tries.next().is_some() => {}
            Err(other) => return Err(SandboxError::setup("a view", other)),
        }
    }
}

/// The variables of a command in a view.
pub(super) fn variables(sandbox: &Sandbox, own: &BTreeMap<String, OsString>) -> BTreeMap<String, OsString> {
    let proxy = match sandbox.network {
        Network::Hosts(_) => network::variables(PROXY),
        _ => BTreeMap::new(),
    };
    sandbox.private.variables(true, &[&proxy, &sandbox.variables, own])
}

/// The view of a sandbox's commands.
pub(super) fn furnished(
    sandbox: &Sandbox,
    layers: &Layers,
    groups: &[ControlGroup],
    mark: u64,
) -> Result<View, SandboxError> {
    let mut view = sandbox.with_system(View::new(layers.root()));
    for path in SETTINGS.iter().filter(|path| **path != "/proc") {
        // Links lead to what may not be in the view: what they lead to is put in their place.
        if let Ok(real) = Path::new(path).canonicalize() {
            view = view.read_only(real, path);
        }
    }
    let (writable, outputs) = sandbox.private.shown();
    for shown in sandbox.private.accounts().into_iter().chain([outputs]) {
        view = view.read_only(shown.from, shown.at);
    }
    for shown in writable {
        view = view.writable(shown.from, shown.at);
    }
    for folder in sandbox.readable.iter().filter(|path| !path.is_file()) {
        // One that cannot be looked through is not shown: nobody knows what is in it.
        let Ok(found) = sandbox.look(folder) else { continue };
        view = view.read_only(folder, folder);
        view = hidden_in(view, folder, &found);
    }
    for path in sandbox.opened_whole().filter(|path| path.exists()) {
        view = view.read_only(path, path);
    }
    // The links that lead there are not there.
    for (path, alias) in sandbox.aliases.iter().filter(|(path, _)| path.exists()) {
        view = view.read_only(path, alias);
    }
    let (network, sockets) = match sandbox.network {
        Network::None => (convoke_view::Network::Loopback, Sockets::Own),
        Network::Hosts(_) => (convoke_view::Network::Listener(PROXY), Sockets::Own),
        Network::Open => (convoke_view::Network::Shared, Sockets::Internet),
    };
    view = view.network(network).shared_memory(sandbox.limits.memory / SHARED);
    let nameless_memory = groups.iter().any(ControlGroup::holds_memory);
    for program in filter::programs(FilterExceptions { sockets, is_in_view: true, nameless_memory })? {
        view = view.filter(filter::bytes(&program));
    }
    for (resource, most) in sandbox.limits.of_kernel(sandbox.limits.processes * THREADS, mark) {
        view = view.limit(resource as u32, most);
    }
    Ok(groups.iter().fold(view, |view, group| view.group(group.list())))
}

/// The time, as file systems tell it.
fn now() -> (i64, i64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), now.subsec_nanos().into())
}
