//! `convoke mcp`

mod call;
mod edit;
mod list;
mod person;
mod tools;

use convoke_host::ConfiguredServers;
use convoke_mcp::ServerConfig;

use crate::arguments::{Arguments, McpCommand};
use crate::failure::Failure;
use crate::host;
use crate::terminal::Output;

pub(crate) async fn run(
    arguments: &Arguments,
    command: &McpCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let (config, configured) = (host.config(), host.servers());
    match command {
        McpCommand::List => list::run(&host, configured, output).await,
        McpCommand::Tools { server } => {
            tools::run(arguments, &host, configured, server.as_deref(), output).await
        }
        McpCommand::Call { server, tool, arguments: given } => {
            let one = only(configured, server)?;
            call::run(&host, one, tool, given.as_deref(), output).await
        }
        McpCommand::Add(wanted) => edit::add(config, wanted, output),
        McpCommand::Trust { name } => edit::trust(arguments, config, &configured, name, output),
    }
}

/// The one server that was asked for.
fn only(configured: ConfiguredServers, name: &str) -> Result<ServerConfig, Failure> {
    if let Some(untrusted) = configured.untrusted.iter().find(|server| server.name == name) {
        return Err(Failure::failed(untrusted.to_string()));
    }
    let names: Vec<String> = configured.trusted.iter().map(|server| server.name.clone()).collect();
    let found = configured.trusted.into_iter().find(|server| server.name == name);
    found.ok_or_else(|| {
        let failure = Failure::not_found(format!("there is no MCP server `{name}`"));
        match names.is_empty() {
            true => failure.hint("`convoke mcp add NAME -- COMMAND` adds one"),
            false => failure.hint(format!("there are {}", names.join(", "))),
        }
    })
}
