//! MCP servers that run in a view, as commands of agents do: see `ServerSandbox`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use convoke_core::BoxFuture;
use convoke_mcp::{Launch, LaunchedServer, Launcher, ServerConfig, ServerSandbox, Terminator};
use convoke_tools::policy::PolicySet;
use convoke_tools::sandbox::{Sandbox, SandboxCommand, ServiceEnd};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::{ToolEnvironment, commands_place};
use crate::HostError;

/// What starts those of these servers that are to be confined, where there are views and one is.
pub(crate) fn launcher(
    setting: ToolEnvironment<'_>,
    policies: &PolicySet,
    servers: &[ServerConfig],
) -> Result<Option<Arc<dyn Launcher>>, HostError> {
    let (environment, top) = (setting.config.environment(), setting.config.workspace().path);
    let is_unconfined = |server: &ServerConfig| match server.sandbox {
        ServerSandbox::Off => true,
        ServerSandbox::InWorkspace => !server.is_started_from(&top, &|name| environment.get(name)),
        _ => false,
    };
    if servers.iter().all(is_unconfined) {
        return Ok(None);
    }
    let workspace = setting.workspace(policies)?;
    let readable = setting.readable(&workspace, policies)?;
    let sandbox = readable.opened_in(policies.sandbox(&workspace).map_err(commands_place)?);
    let has_views = sandbox.has_views().unwrap_or(false);
    Ok(has_views.then(|| Arc::new(InView { sandbox }) as Arc<dyn Launcher>))
}

/// Starts servers in views of the workspace. They change nothing in it.
struct InView {
    sandbox: Sandbox,
}

impl Launcher for InView {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, io::Result<LaunchedServer>> {
        Box::pin(async move {
            let mut task = SandboxCommand::new(launch.program, launch.arguments);
            let top = self.sandbox.workspace().path();
            // Where it works is shown if it is in the workspace; else it works at its top.
            let folder = launch.folder.as_deref().and_then(|folder| folder.strip_prefix(top).ok());
            task = task.folder(folder.unwrap_or(Path::new("")));
            for (name, value) in launch.environment {
                // These are the view's own.
                if !matches!(&*name, "HOME" | "TMPDIR") {
                    task = task.variable(name, value);
                }
            }
            let service = self.sandbox.serve(task).await.map_err(io::Error::other)?;
            let (ended, held) = (service.ended, service.ending.clone());
            let ended = Box::pin(async move {
                let _ = ended.await;
                drop(held);
            });
            Ok(LaunchedServer::new(
                Sender::from_owned_fd(service.stdin)?,
                Receiver::from_owned_fd(service.stdout)?,
                Receiver::from_owned_fd(service.stderr)?,
                ended,
                Arc::new(End(service.ending)),
            ))
        })
    }
}

struct End(ServiceEnd);

impl Terminator for End {
    /// There is nothing to be asked: signals do not go into views. Its input is closed by then, which servers end by.
    fn ask(&self) {}

    fn kill(&self) {
        self.0.end();
    }
}
