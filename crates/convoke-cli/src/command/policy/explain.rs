//! `convoke policy explain`

use convoke_core::{ToolEffect, ToolEffects};
use convoke_tools::network::Destination;
use convoke_tools::policy::{
    ConsideredRule, ONLY_THE_USER, Policy, PolicyCall, PolicyOutcome, SetExplanation, Subject,
};
use serde_json::{Value, json};

use super::Explain;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Tone, text};

pub(super) fn run(arguments: &Arguments, asked: &Explain, output: &mut Output) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let policies = host.policies(asked.which.policy.as_deref())?;
    let workspace = host.workspace(&policies)?;
    let call = call(asked)?.within(Some(&workspace));
    let explained = policies.explain(&call);
    if arguments.json {
        return output.json(&as_json(&explained));
    }
    print(&explained, output)?;
    #[cfg(target_os = "linux")]
    if let Some(note) = policies.hosts_unheld(&workspace, &call, &explained) {
        output.note(note);
    }
    if let Some((folders, theirs)) = explained.folders_would {
        let (name, outcome) = (text::clean(folders.source()), explained.explanation.decision.outcome);
        output.note(&format!("{name} would say {theirs} instead of {outcome}, {ONLY_THE_USER}"));
    }
    Ok(())
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
        return Err(Failure::usage(format!("there is no built-in tool `{tool}`"))
            .hint("what others do is known when they run; tools of MCP servers are asked about with --mcp server:tool"));
    };
    let paths = asked.path.iter().map(|path| Subject::Path(path.clone()));
    let urls = asked.url.iter().map(|url| Subject::Url(url.clone()));
    Ok(paths.chain(urls).fold(PolicyCall::new(tool, effects), PolicyCall::about))
}

fn print(explained: &SetExplanation<'_>, output: &mut Output) -> Result<(), Failure> {
    let SetExplanation { decision, explanation, connects, hosts, .. } = explained;
    let tone = match decision.outcome {
        PolicyOutcome::Allow => Tone::Good,
        PolicyOutcome::Ask => Tone::Accent,
        PolicyOutcome::Deny => Tone::Bad,
    };
    let because = text::clean(&format!("  {}", decision.because));
    output.line(&Rich::default().with(tone, decision.outcome.name()).with(Tone::Plain, because))?;
    output.line(&Rich::plain(format!("rule  {}", text::clean(&decision.rule.to_string()))))?;
    for reading in &explanation.readings {
        output.plain("")?;
        output.plain("what it starts, as far as its text says:")?;
        for command in &reading.commands {
            output.line(&Rich::plain(format!("  {}", text::clean(&command.to_string()))))?;
        }
        for unclear in &reading.unclear {
            output.line(&Rich::plain(format!("  ? {}", text::clean(&unclear.to_string()))))?;
        }
    }
    if *connects {
        output.plain("")?;
        output.plain("what it reaches is decided when it connects:")?;
        for host in hosts {
            output.line(&Rich::plain(format!("  {}", text::clean(&host.to_string()))))?;
        }
        if hosts.is_empty() {
            output.plain("  its text names no host; ask with --host NAME:PORT")?;
        }
    }
    // That a rule denies or asks about something else has nothing to do with this call; that no rule allows it has.
    let matters = |rule: &&ConsideredRule| rule.matched || rule.outcome == PolicyOutcome::Allow;
    let others = explanation.considered.iter().filter(|rule| rule.rule != decision.rule).filter(matters);
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        output.plain("")?;
        output.plain("rules that did not decide:")?;
    }
    for considered in others {
        let why = match (considered.matched, considered.outcome > decision.outcome) {
            (true, false) => "is about, and is not stricter than the one above:",
            (true, true) => "is about, and another one takes precedence:",
            (false, _) => "is not about",
        };
        let line = format!("  {}  {why} {}", considered.rule, considered.about);
        output.line(&Rich::default().with(Tone::Faint, text::clean(&line)))?;
    }
    Ok(())
}

fn as_json(explained: &SetExplanation<'_>) -> Value {
    let SetExplanation { decision, explanation, hosts, .. } = explained;
    let commands = explanation.readings.iter().flat_map(|reading| &reading.commands);
    let unclear = explanation.readings.iter().flat_map(|reading| &reading.unclear);
    json!({
        "outcome": decision.outcome,
        "rule": decision.rule,
        "because": decision.because,
        "commands": commands.map(ToString::to_string).collect::<Vec<_>>(),
        "unclear": unclear.map(ToString::to_string).collect::<Vec<_>>(),
        "considered": explanation.considered,
        "hosts": hosts,
    })
}
