//! `convoke policy explain`

use std::collections::BTreeSet;

use convoke_core::{ToolEffect, ToolEffects};
use convoke_tools::network::Destination;
use convoke_tools::policy::{
    ConsideredRule, Decision, Explanation, ONLY_THE_USER, Policy, PolicyCall, PolicyOutcome, PolicySet,
    RulePlace, RuleRef, Subject,
};
use convoke_tools::workspace::Workspace;
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
    // Of several, the strictest decides. There is always one: the defaults.
    let stricter = |first: Explanation, second: Explanation| {
        if second.decision.outcome > first.decision.outcome { second } else { first }
    };
    let explained = policies.iter().map(|policy| policy.explain(&call)).reduce(stricter);
    let Some(explanation) = explained else { return Ok(()) };
    let reached = Reached::of(&policies, &call);
    // What a command names it wants to reach.
    let decision = reached.hosts.iter().cloned().fold(explanation.decision.clone(), Decision::or_stricter);
    let explanation = Explained { decision, explanation, reached };
    if arguments.json {
        return output.json(&as_json(&explanation));
    }
    print(&explanation, output)?;
    for note in unheld(&workspace, &policies, &explanation, &call) {
        output.note(&note);
    }
    if let Some(folders) = policies.bounded() {
        let (theirs, outcome) = (folders.decide(&call).outcome, explanation.explanation.decision.outcome);
        if theirs < outcome {
            let name = text::clean(folders.source());
            output.note(&format!("{name} would say {theirs} instead of {outcome}, {ONLY_THE_USER}"));
        }
    }
    Ok(())
}

/// A decision of all policies together, with what is decided when a command connects.
struct Explained {
    /// The strictest of all.
    decision: Decision,
    explanation: Explanation,
    reached: Reached,
}

/// What is decided about the hosts that a command names.
#[derive(Default)]
struct Reached {
    /// Whether it starts programs that talk to other machines.
    connects: bool,
    hosts: Vec<Decision>,
}

impl Reached {
    fn of(policies: &PolicySet, call: &PolicyCall<'_>) -> Self {
        let all: Vec<Explanation> = policies.iter().map(|policy| policy.explain(call)).collect();
        let named: BTreeSet<&Destination> = all.iter().flat_map(|one| &one.hosts).collect();
        let decide = |host: &Destination| {
            policies.iter().map(|policy| policy.command_host(host)).reduce(Decision::or_stricter)
        };
        Self {
            connects: all.iter().any(|one| one.connects),
            hosts: named.into_iter().filter_map(decide).collect(),
        }
    }
}

/// What of it cannot be held to on this machine.
#[cfg(target_os = "linux")]
fn unheld(
    workspace: &Workspace,
    policies: &PolicySet,
    explained: &Explained,
    call: &PolicyCall<'_>,
) -> Vec<String> {
    let is_about_hosts =
        explained.reached.connects || call.subjects.iter().any(|subject| matches!(subject, Subject::Host(_)));
    if !is_about_hosts || policies.open_sandbox() {
        return Vec::new();
    }
    // Why there is none is for doctor to say.
    let sandbox = convoke_tools::sandbox::Sandbox::new(workspace).ok();
    let sandbox = sandbox.map(|sandbox| sandbox.network(policies.network()));
    sandbox.and_then(|sandbox| sandbox.hosts_unheld()).into_iter().map(str::to_owned).collect()
}

/// There are no commands here.
#[cfg(not(target_os = "linux"))]
fn unheld(_: &Workspace, _: &PolicySet, _: &Explained, _: &PolicyCall<'_>) -> Vec<String> {
    Vec::new()
}

fn call(asked: &Explain) -> Result<PolicyCall<'_>, Failure> {
    if let Some(command) = &asked.command {
        let effects = [ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Spawns, ToolEffect::Irreversible];
        return Ok(PolicyCall::new("bash", effects.into()).about(Subject::Command(command.clone())));
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

fn print(explained: &Explained, output: &mut Output) -> Result<(), Failure> {
    let Explained { decision, explanation, reached } = explained;
    let ink = match decision.outcome {
        PolicyOutcome::Allow => Tone::Good,
        PolicyOutcome::Ask => Tone::Accent,
        PolicyOutcome::Deny => Tone::Bad,
    };
    let because = text::clean(&format!("  {}", decision.because));
    output.line(&Rich::default().with(ink, decision.outcome.name()).with(Tone::Plain, because))?;
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
    if reached.connects {
        output.plain("")?;
        output.plain("what it reaches is decided when it connects:")?;
        for host in &reached.hosts {
            output.line(&Rich::plain(format!("  {}", text::clean(&host.to_string()))))?;
        }
        if reached.hosts.is_empty() {
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
            (true, true) => "is about, and another one goes before it:",
            (false, _) => "is not about",
        };
        let line = format!("  {}  {why} {}", considered.rule, considered.about);
        output.line(&Rich::default().with(Tone::Faint, text::clean(&line)))?;
    }
    Ok(())
}

fn as_json(explained: &Explained) -> Value {
    let Explained { decision, explanation, reached } = explained;
    let hosts: Vec<Value> = reached
        .hosts
        .iter()
        .map(|host| json!({"outcome": host.outcome, "rule": rule(&host.rule), "because": host.because}))
        .collect();
    let commands = explanation.readings.iter().flat_map(|reading| &reading.commands);
    let unclear = explanation.readings.iter().flat_map(|reading| &reading.unclear);
    let considered: Vec<Value> = explanation
        .considered
        .iter()
        .map(|one| json!({"rule": rule(&one.rule), "outcome": one.outcome, "about": one.about, "matched": one.matched}))
        .collect();
    json!({
        "outcome": decision.outcome,
        "rule": rule(&decision.rule),
        "because": decision.because,
        "commands": commands.map(ToString::to_string).collect::<Vec<_>>(),
        "unclear": unclear.map(ToString::to_string).collect::<Vec<_>>(),
        "considered": considered,
        "hosts": hosts,
    })
}

fn rule(rule: &RuleRef) -> Value {
    let (file, line) = match &rule.place {
        RulePlace::File { name, line } => (Some(name.to_string()), Some(*line)),
        RulePlace::BuiltIn => (None, None),
    };
    json!({"key": rule.key, "text": rule.text, "file": file, "line": line})
}
