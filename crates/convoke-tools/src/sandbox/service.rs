//! Services: programs that go on in a view while commands come and go, such as MCP servers.

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;

use convoke_view::KillHandle;
use tokio::sync::oneshot;

use super::command_processes::new_mark;
use super::control_group::ControlGroup;
use super::layers::Layers;
use super::{Confinement, Sandbox, SandboxCommand, SandboxError, in_view};
use crate::network::RunningProxy;

/// A program that runs in a view until it is ended. It sees the workspace without its secrets, and changes nothing in it.
#[derive(Debug)]
pub struct Service {
    /// Its input.
    pub stdin: OwnedFd,
    /// Its output.
    pub stdout: OwnedFd,
    /// Its error output.
    pub stderr: OwnedFd,
    /// Is told, or dropped, when nothing of it is left.
    pub ended: oneshot::Receiver<()>,
    /// Ends it.
    pub ending: ServiceEnd,
}

/// Ends a service with everything it has started, when it is told to or when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct ServiceEnd {
    inner: Arc<ServiceGuard>,
}

#[derive(Debug)]
struct ServiceGuard {
    ender: KillHandle,
    /// It reaches its hosts as long as it lives.
    _proxy: Option<RunningProxy>,
}

impl ServiceEnd {
    /// Ends it.
    pub fn end(&self) {
        self.inner.ender.end();
    }
}

impl Drop for ServiceGuard {
    fn drop(&mut self) {
        self.ender.end();
    }
}

impl Sandbox {
    /// Starts a program in a view. Limits on time are the caller's; those on processor time and on output do not hold.
    ///
    /// # Errors
    /// If there are no views here, or it cannot be started in one.
    pub async fn serve(&self, task: SandboxCommand) -> Result<Service, SandboxError> {
        let sandbox = self.clone();
        let begun = tokio::task::spawn_blocking(move || begin(&sandbox, &task));
        let (mut running, kept) = begun.await.map_err(|lost| SandboxError::setup("a thread", lost))??;
        let proxy = in_view::proxy(&self.network, None, running.listener.take())?;
        let ending = ServiceEnd { inner: Arc::new(ServiceGuard { ender: running.ender(), _proxy: proxy }) };
        let pipes = (running.stdin.take(), running.stdout.take(), running.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(SandboxError::setup("a process", "it has no streams"));
        };
        let (tell, ended) = oneshot::channel();
        let waiting = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
            let _ = running.wait();
            drop(kept);
            // Nobody listens if it was given up.
            let _ = tell.send(());
        });
        waiting.map_err(|error| SandboxError::setup("a thread", error))?;
        Ok(Service { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into(), ended, ending })
    }
}

type ServiceParts = (convoke_view::RunningProgram, (Layers, Vec<ControlGroup>));

fn begin(sandbox: &Sandbox, task: &SandboxCommand) -> Result<ServiceParts, SandboxError> {
    if !sandbox.clone().confinement(Confinement::View).has_views()? {
        return Err(SandboxError::Unavailable { why: "a service works in a view only".to_owned() });
    }
    let top = sandbox.workspace.path();
    let mut sandbox = sandbox.clone();
    sandbox.limits.cpu_seconds = u64::MAX;
    let found = sandbox.look(top)?;
    let mark = new_mark().map_err(|error| SandboxError::setup("a mark", error))?;
    let layers = Layers::reserve(&sandbox.layers, mark)?;
    layers.furnish(top, &found)?;
    let groups = ControlGroup::make(&sandbox.limits, mark);
    let make = || {
        let mut view = in_view::furnished(&sandbox, &layers, &groups, mark)?;
        // The program itself, wherever its user keeps it.
        let program = std::path::Path::new(&task.program);
        if program.is_absolute() && program.is_file() && !program.starts_with(top) {
            view = view.read_only(program.canonicalize().unwrap_or_else(|_| program.to_owned()), program);
        }
        let view = view.layers(layers.lower(top), top).start(top.join(&task.folder));
        let mut command = Command::new(&task.program);
        command.args(&task.arguments).env_clear().envs(in_view::variables(&sandbox, &task.variables));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok((view, command))
    };
    let running = in_view::started(make)?;
    Ok((running, (layers, groups)))
}
