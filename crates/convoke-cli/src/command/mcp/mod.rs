//! `convoke mcp`

mod call;
mod edit;
mod person;
mod tools;

use convoke_host::view::ServerList;
use convoke_host::{ConfiguredServers, Host};
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
        McpCommand::List => list(&host, configured, output).await,
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

/// Starts the servers, and says how each of them is.
async fn list(host: &Host, configured: ConfiguredServers, output: &mut Output) -> Result<(), Failure> {
    let servers = host.start_servers(&host.policies(None)?, configured.trusted).await?;
    let list = ServerList::new(&servers, configured.untrusted);
    servers.close().await;
    output.show(&list)?;
    match &*list.down() {
        [] => Ok(()),
        down => Err(Failure::failed(format!("not there: {}", down.join(", ")))),
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
