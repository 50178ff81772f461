//! The MCP servers that are configured.

use convoke_config::{Config, McpServer, McpTransport, UntrustedServer};
use convoke_mcp::{McpServers, Protocol, ServerConfig};

use crate::failure::Failure;

/// The servers that may be started, and those that the user has not agreed to.
pub(crate) struct Configured {
    pub(crate) trusted: Vec<ServerConfig>,
    pub(crate) untrusted: Vec<UntrustedServer>,
}

/// What is configured.
pub(crate) fn configured(config: &Config) -> Configured {
    let mut configured = Configured { trusted: Vec::new(), untrusted: Vec::new() };
    for server in config.mcp_servers() {
        match server.untrusted {
            Some(untrusted) => configured.untrusted.push(untrusted),
            None => configured.trusted.push(translated(server)),
        }
    }
    configured
}

/// Starts these servers, with the variables and the workspace that are configured.
pub(crate) async fn start(config: &Config, servers: Vec<ServerConfig>) -> Result<McpServers, Failure> {
    let environment = config.environment().clone();
    let builder = McpServers::builder().servers(servers).variables(move |name| environment.get(name));
    let builder = match std::path::absolute(config.workspace().path) {
        Ok(folder) => builder.workspace(folder),
        Err(_) => builder,
    };
    builder.start().await.map_err(|error| Failure::failed(error.to_string()))
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
    config
}
