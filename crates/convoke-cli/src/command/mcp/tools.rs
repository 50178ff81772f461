//! `convoke mcp tools`

use convoke_host::view::NO_SERVERS;
use convoke_host::{ConfiguredServers, Host};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::Output;

pub(super) async fn run(
    arguments: &Arguments,
    host: &Host,
    configured: ConfiguredServers,
    server: Option<&str>,
    output: &mut Output,
) -> Result<(), Failure> {
    let chosen = match server {
        Some(name) => vec![super::only(configured, name)?],
        None => {
            output.notes(configured.untrusted.iter().map(ToString::to_string));
            if configured.trusted.is_empty() && configured.untrusted.is_empty() {
                output.note(NO_SERVERS);
            }
            configured.trusted
        }
    };
    let servers = host.start_servers(&host.policies(None)?, chosen).await?;
    let (tools, warnings) = (servers.table::<String>([]), servers.warnings());
    servers.close().await;
    output.notes(&warnings);
    output.show(&*tools)?;
    match server.filter(|_| !arguments.json) {
        // Who asks for one server wants to know that it is not there.
        Some(name) if tools.is_empty() && !warnings.is_empty() => {
            Err(Failure::failed(format!("MCP server `{name}` is not there")))
        }
        _ => Ok(()),
    }
}
