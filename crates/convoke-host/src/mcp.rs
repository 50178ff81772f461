//! The MCP servers that are configured.

use std::path::PathBuf;

use convoke_config::{Config, McpServer, McpTransport, UntrustedServer};
use convoke_mcp::{McpServers, McpServersBuilder, Protocol, ServerConfig, ServerSandbox};

use convoke_tools::policy::PolicySet;

use crate::HostError;
use crate::tools::{ToolEnvironment, launcher};

/// The servers that may be started, and those that the user has not agreed to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ConfiguredServers {
    /// Those that may be started.
    pub trusted: Vec<ServerConfig>,
    /// Those that the user has not agreed to.
    pub untrusted: Vec<UntrustedServer>,
}

/// What is configured.
pub(crate) fn configured(config: &Config) -> ConfiguredServers {
    let mut configured = ConfiguredServers { trusted: Vec::new(), untrusted: Vec::new() };
    for server in config.mcp_servers() {
        match server.untrusted {
            Some(untrusted) => configured.untrusted.push(untrusted),
            None => configured.trusted.push(translated(server)),
        }
    }
    configured
}

/// Starts these servers, with the variables and the workspace that are configured, and confined where that is wanted.
pub(crate) async fn start(
    setting: ToolEnvironment<'_>,
    policies: &PolicySet,
    servers: Vec<ServerConfig>,
) -> Result<McpServers, HostError> {
    let config = setting.config;
    let environment = config.environment().clone();
    let launcher = launcher(setting, policies, &servers)?;
    let builder = McpServers::builder().servers(servers).variables(move |name| environment.get(name));
    let builder = launcher.into_iter().fold(builder, McpServersBuilder::sandbox);
    let builder = match std::path::absolute(config.workspace().path) {
        Ok(folder) => builder.workspace(folder),
        Err(_) => builder,
    };
    builder.start().await.map_err(|error| HostError::Tools(error.to_string()))
}

/// The files and folders in the workspace that configured servers are started from, agreed to or not: whoever changes these decides
/// what a server does, which nothing confines.
pub(crate) fn programs(config: &Config) -> Vec<PathBuf> {
    let environment = config.environment();
    let (look, workspace) = (|name: &str| environment.get(name), config.workspace().path);
    let servers = config.mcp_servers().into_iter().map(translated);
    servers.flat_map(|server| server.files_in(&workspace, &look)).collect()
}

fn translated(server: McpServer) -> ServerConfig {
    let mut config = match server.transport {
        McpTransport::Command { command, arguments, folder, inherit, variables } => {
            let mut config = ServerConfig::stdio(server.name, command).args(arguments);
            if let Some(folder) = folder {
                config = config.folder(folder);
            }
            config = inherit.into_iter().fold(config, ServerConfig::inherit);
            variables.into_iter().fold(config, |config, (name, value)| config.variable(name, value))
        }
        McpTransport::Address { url, headers } => {
            let config = ServerConfig::http(server.name, url);
            headers.into_iter().fold(config, |config, (name, value)| config.header(name, value))
        }
        // Kinds that a later version of the configuration may have.
        _ => ServerConfig::http(server.name, ""),
    };
    config.protocol = match server.protocol.as_deref() {
        Some("initialize") => Protocol::Initialize,
        Some("stateless") => Protocol::Stateless,
        _ => Protocol::Auto,
    };
    config.startup = server.startup.unwrap_or(config.startup);
    config.timeout = server.timeout.unwrap_or(config.timeout);
    config.restarts = server.restarts.unwrap_or(config.restarts);
    config.trust_annotations = server.trust_annotations;
    config.allow = server.allow;
    config.deny = server.deny;
    config.resources = server.resources;
    config.prompts = server.prompts;
    config.sandbox = match (server.sandbox, server.is_from_folder) {
        (Some(true), _) => ServerSandbox::Required,
        (None, true) => ServerSandbox::IfAvailable,
        (Some(false), _) => ServerSandbox::Off,
        (None, false) => ServerSandbox::InWorkspace,
    };
    config
}
