//! `convoke mcp list`

use convoke_host::view::ServerList;
use convoke_host::{ConfiguredServers, Host};

use crate::failure::Failure;
use crate::terminal::Output;

pub(super) async fn run(
    host: &Host,
    configured: ConfiguredServers,
    output: &mut Output,
) -> Result<(), Failure> {
    let servers = host.start_servers(&host.policies(None)?, configured.trusted).await?;
    let list = ServerList::new(&servers, configured.untrusted);
    servers.close().await;
    output.show(&list)?;
    match &*list.down() {
        [] => Ok(()),
        down => Err(Failure::failed(format!("not there: {}", down.join(", ")))),
    }
}
