//! `convoke policy explain`

use convoke_core::{ToolEffect, ToolEffects};
use convoke_tools::policy::{Call, Considered, Explanation, Outcome, Policy, RulePlace, RuleRef, Subject};
use serde_json::{Value, json};

use super::Explain;
use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::policies::{ONLY_YOU, Policies};
use crate::run::workspace;
use crate::terminal::{Ink, Output, Rich, text};

pub(super) fn run(arguments: &Arguments, asked: &Explain, output: &mut Output) -> Result<(), Failure> {
    let policies = Policies::load(arguments, asked.which.policy.as_deref(), output)?;
    let workspace = workspace(&configuration::load(arguments)?, &arguments.store, &policies)?;
    let call = call(asked)?.within(Some(&workspace));
    // Of several, the strictest decides. There is always one: the defaults.
    let stricter = |first: Explanation, second: Explanation| {
        if second.decision.outcome > first.decision.outcome { second } else { first }
    };
    let explained = policies.iter().map(|policy| policy.explain(&call)).reduce(stricter);
    let Some(explanation) = explained else { return Ok(()) };
    if arguments.json {
        return output.json(&as_json(&explanation));
    }
    print(&explanation, output)?;
    if let Some(folders) = policies.bounded() {
        let (theirs, outcome) = (folders.decide(&call).outcome, explanation.decision.outcome);
        if theirs < outcome {
            let name = text::clean(folders.source());
            output.note(&format!("{name} would say {theirs} instead of {outcome}, {ONLY_YOU}"));
        }
    }
    Ok(())
}

fn call(asked: &Explain) -> Result<Call<'_>, Failure> {
    if let Some(command) = &asked.command {
        let effects = [ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Spawns, ToolEffect::Irreversible];
        return Ok(Call::new("bash", effects.into()).about(Subject::Command(command.clone())));
    }
    if let Some(name) = &asked.mcp {
        let Some((server, tool)) = name.split_once(':') else {
            return Err(Failure::usage(format!("`{name}` does not name a tool of a server"))
                .hint("write it as server:tool"));
        };
        let subject = Subject::Mcp { server: server.to_owned(), tool: tool.to_owned() };
        return Ok(Call::new(tool, ToolEffects::NONE).about(subject));
    }
    let tool = asked.tool.as_deref().unwrap_or_default();
    let Some(effects) = Policy::effects_of(tool) else {
        return Err(Failure::usage(format!("there is no built-in tool `{tool}`"))
            .hint("what others do is known when they run; tools of MCP servers are asked about with --mcp server:tool"));
    };
    let paths = asked.path.iter().map(|path| Subject::Path(path.clone()));
    let urls = asked.url.iter().map(|url| Subject::Url(url.clone()));
    Ok(paths.chain(urls).fold(Call::new(tool, effects), Call::about))
}

fn print(explanation: &Explanation, output: &mut Output) -> Result<(), Failure> {
    let decision = &explanation.decision;
    let ink = match decision.outcome {
        Outcome::Allow => Ink::Good,
        Outcome::Ask => Ink::Accent,
        Outcome::Deny => Ink::Bad,
    };
    let because = text::clean(&format!("  {}", decision.because));
    output.line(&Rich::default().with(ink, decision.outcome.name()).with(Ink::Plain, because))?;
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
    // That a rule denies or asks about something else has nothing to do with this call; that no rule allows it has.
    let matters = |rule: &&Considered| rule.matched || rule.outcome == Outcome::Allow;
    let others = explanation.considered.iter().filter(|rule| rule.rule != decision.rule).filter(matters);
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        output.plain("")?;
        output.plain("rules that did not decide:")?;
    }
    for considered in others {
        let why = if considered.matched {
            "is about, and is not stricter than the one above:"
        } else {
            "is not about"
        };
        let line = format!("  {}  {why} {}", considered.rule, considered.about);
        output.line(&Rich::default().with(Ink::Faint, text::clean(&line)))?;
    }
    Ok(())
}

fn as_json(explanation: &Explanation) -> Value {
    let decision = &explanation.decision;
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
    })
}

fn rule(rule: &RuleRef) -> Value {
    let (file, line) = match &rule.place {
        RulePlace::File { name, line } => (Some(name.to_string()), Some(*line)),
        RulePlace::BuiltIn => (None, None),
    };
    json!({"key": rule.key, "text": rule.text, "file": file, "line": line})
}
