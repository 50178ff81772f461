//! The environment that all servers of a program share: variables, folders, the sandbox.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{ServerConfig, ServerSandbox};
use crate::error::McpError;
use crate::launch::{Launcher, Unconfined};
use crate::prepare::Variables;

/// The environment of servers: what they are told, and how they are started.
pub(crate) struct ServerEnvironment {
    /// Where variables are looked up.
    pub(crate) variables: Variables,
    /// The folders that servers are told to work in, as they were given.
    pub(crate) roots: Arc<[PathBuf]>,
    /// The same folders, by their real names: agents change files there.
    pub(crate) workspaces: Vec<PathBuf>,
    /// Starts servers in a sandbox.
    pub(crate) sandbox: Option<Arc<dyn Launcher>>,
}

impl ServerEnvironment {
    /// What starts a server.
    pub(crate) fn launcher(&self, config: &ServerConfig) -> Result<&dyn Launcher, McpError> {
        match &self.sandbox {
            Some(launcher) if self.confines(config) => Ok(&**launcher),
            None if config.sandbox == ServerSandbox::Required => {
                Err(McpError::NoSandbox { server: config.name.clone() })
            }
            _ => Ok(&Unconfined),
        }
    }

    /// Whether a server is confined, and so can do no more than agents can, whatever it is made of.
    pub(crate) fn confines(&self, config: &ServerConfig) -> bool {
        let look = |name: &str| (self.variables)(name);
        let is_inside = || self.workspaces.iter().any(|workspace| config.is_started_from(workspace, &look));
        self.sandbox.is_some()
            && match config.sandbox {
                ServerSandbox::Required | ServerSandbox::IfAvailable => true,
                ServerSandbox::InWorkspace => is_inside(),
                ServerSandbox::Off => false,
            }
    }
}
