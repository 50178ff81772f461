//! `convoke policy explain`

use convoke_core::{ToolEffect, ToolEffects};
use convoke_host::view::ExplainedCall;
use convoke_host::{BUILT_IN_TOOLS, FailureReport};
use convoke_tools::network::Destination;
use convoke_tools::policy::{Policy, PolicyCall, Subject};

use super::Explain;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::host;
use crate::terminal::Output;

pub(super) fn run(arguments: &Arguments, asked: &Explain, output: &mut Output) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let policies = host.policies(asked.which.policy.as_deref())?;
    let workspace = host.workspace(&policies)?;
    let call = call(asked)?.within(Some(&workspace));
    let explained = policies.explain(&call);
    #[cfg(target_os = "linux")]
    let hosts_unheld = policies.hosts_unheld(&workspace, &call, &explained);
    #[cfg(not(target_os = "linux"))]
    let hosts_unheld = None;
    output.show(&ExplainedCall { explained, hosts_unheld })
}

fn call(asked: &Explain) -> Result<PolicyCall<'_>, Failure> {
    if let Some(command) = &asked.command {
        let effects = Policy::effects_of("bash").unwrap_or_default();
        return Ok(PolicyCall::new("bash", effects).about(Subject::Command(command.clone())));
    }
    if let Some(name) = &asked.mcp {
        let Some((server, tool)) = name.split_once(':') else {
            return Err(Failure::usage(format!("`{name}` does not name a tool of a server"))
                .hint("write it as server:tool"));
        };
        let subject = Subject::Mcp { server: server.to_owned(), tool: tool.to_owned() };
        return Ok(PolicyCall::new(tool, ToolEffects::NONE).about(subject));
    }
    if let Some(host) = &asked.host {
        let destination = Destination::parse(host).map_err(|error| Failure::usage(error.to_string()))?;
        return Ok(PolicyCall::new("bash", ToolEffect::Network.into()).about(Subject::Host(destination)));
    }
    let tool = asked.tool.as_deref().unwrap_or_default();
    let Some(effects) = Policy::effects_of(tool) else {
        let others = "what others do is known when they run; tools of MCP servers are asked about with --mcp server:tool";
        let failure = FailureReport::usage(format!("there is no built-in tool `{tool}`"));
        return Err(failure.meant(tool, BUILT_IN_TOOLS.iter().copied(), others).into());
    };
    let paths = asked.path.iter().map(|path| Subject::Path(path.clone()));
    let urls = asked.url.iter().map(|url| Subject::Url(url.clone()));
    Ok(paths.chain(urls).fold(PolicyCall::new(tool, effects), PolicyCall::about))
}
