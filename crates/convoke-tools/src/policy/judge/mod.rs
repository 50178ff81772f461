//! Decides about tool calls.
//!
//! Deny beats ask beats allow. What is said of the thing itself (a path, a host, a command, a tool of a server) takes
//! precedence over what is said of the tool, and that over what is said of effects; only a tool that is denied as such is denied whatever
//! it is called with. A call about several things is decided by the strictest decision about one of them.

mod address;
mod command;
mod path;

pub(super) use address::host;
use convoke_core::{Repeat, ToolEffect, ToolEffects, ToolSpec};
use serde_json::Value;

use super::explain::Trail;
use super::pattern::{Lists, PatternText};
use super::shell::SimpleCommand;
use super::subject::{Subject, subjects};
use super::{Decision, Policy, PolicyOutcome, RulePlace, RuleRef, ToolRules};
use crate::network::Destination;
use crate::workspace::Workspace;

const OTHER_TOOL: &str = "Use another tool, or say what you need and why.";

/// A call that is to be decided about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PolicyCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it does to the world.
    pub effects: ToolEffects,
    /// Whether it is a workflow or an agent, whose own calls are decided about one by one.
    pub is_workflow: bool,
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// Where its paths lead.
    pub workspace: Option<&'a Workspace>,
}

impl<'a> PolicyCall<'a> {
    /// A call of a tool with these effects, about nothing in particular.
    #[must_use]
    pub fn new(tool: &'a str, effects: ToolEffects) -> Self {
        Self { tool, effects, is_workflow: false, subjects: Vec::new(), workspace: None }
    }

    /// Adds a subject.
    #[must_use]
    pub fn about(mut self, subject: Subject) -> Self {
        self.subjects.push(subject);
        self
    }

    /// Its paths are in this workspace, links included.
    #[must_use]
    pub fn within(mut self, workspace: Option<&'a Workspace>) -> Self {
        self.workspace = workspace;
        self
    }
}

impl Policy {
    /// The call of a tool with these arguments, as this policy sees it.
    #[must_use]
    pub fn call<'a>(&self, spec: &'a ToolSpec, arguments: &Value) -> PolicyCall<'a> {
        let declared = self.tools.get(spec.name()).map(|rules| &rules.arguments);
        PolicyCall {
            tool: spec.name(),
            effects: spec.effects,
            is_workflow: spec.repeat == Repeat::Reenter,
            subjects: subjects(spec.name(), declared, arguments),
            workspace: None,
        }
    }

    /// Decides about a call.
    #[must_use]
    pub fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        self.decided(call, &mut Trail::off())
    }

    /// Decides about a command line.
    #[must_use]
    pub fn command(&self, command: &str) -> Decision {
        self.decide(&PolicyCall::new("bash", BASH.into()).about(Subject::Command(command.to_owned())))
    }

    /// Decides whether a tool may reach a host. Whoever follows redirections asks for every one of them.
    #[must_use]
    pub fn address(&self, tool: &str, url: &str) -> Decision {
        self.decide(&PolicyCall::new(tool, ToolEffect::Network.into()).about(Subject::Url(url.to_owned())))
    }

    /// Decides whether commands may reach a host.
    #[must_use]
    pub fn command_host(&self, destination: &Destination) -> Decision {
        self.host(destination, &mut Trail::off())
    }

    /// Decides about a tool of an MCP server.
    #[must_use]
    pub fn mcp_tool(&self, server: &str, tool: &str) -> Decision {
        let subject = Subject::Mcp { server: server.to_owned(), tool: tool.to_owned() };
        self.decide(&PolicyCall::new(tool, ToolEffects::NONE).about(subject))
    }

    pub(in crate::policy) fn decided(&self, call: &PolicyCall<'_>, trail: &mut Trail) -> Decision {
        let strictest = self.decisions(call, trail).into_iter().reduce(Decision::or_stricter);
        strictest.unwrap_or_else(|| self.base(call, self.tools.get(call.tool)))
    }

    /// Everything of a call that is asked about. Whoever approves the call approves all of it.
    pub(in crate::policy) fn asks(&self, call: &PolicyCall<'_>) -> impl Iterator<Item = Decision> {
        let decisions = self.decisions(call, &mut Trail::off()).into_iter();
        decisions.filter(|decision| decision.outcome == PolicyOutcome::Ask)
    }

    /// The decisions about all that a call is about.
    fn decisions(&self, call: &PolicyCall<'_>, trail: &mut Trail) -> Vec<Decision> {
        let rules = self.tools.get(call.tool);
        if let Some(decision) =
            rules.and_then(|rules| rules.decision).filter(|own| own.value == PolicyOutcome::Deny)
        {
            let rule = self.tool_rule(call.tool, decision.line, PolicyOutcome::Deny);
            return vec![denied(rule, format!("the tool `{}` is not allowed here", call.tool), OTHER_TOOL)];
        }
        let about = |subject: &Subject| match subject {
            Subject::Path(path) => vec![self.path(call, rules, path, trail)],
            Subject::Folder(path) => self.folder(call, path, trail).into_iter().collect(),
            Subject::Url(url) => vec![self.url(call, rules, url, trail)],
            Subject::Host(destination) => vec![self.host(destination, trail)],
            Subject::Command(text) => self.shell(call, rules, text, trail),
            Subject::Program(words) => vec![self.program(call, rules, &SimpleCommand::of(words), trail)],
            Subject::Mcp { server, tool } => vec![self.mcp(server, tool, trail)],
            Subject::EveryWorkspace => vec![self.every_workspace(call, rules)],
        };
        let mut decisions: Vec<Decision> = call.subjects.iter().flat_map(about).collect();
        if decisions.is_empty() {
            decisions.push(self.base(call, rules));
        }
        decisions
    }

    /// What is kept for every workspace is asked about, unless the file says otherwise of the tool: one folder's text would come up
    /// wherever the user works.
    fn every_workspace(&self, call: &PolicyCall<'_>, rules: Option<&ToolRules>) -> Decision {
        if rules.is_some_and(|rules| rules.decision.is_some()) {
            return self.base(call, rules);
        }
        let because = format!("what the tool `{}` keeps for the user comes up in every workspace", call.tool);
        let rule = self.tool_rule(call.tool, None, PolicyOutcome::Ask);
        Decision { outcome: PolicyOutcome::Ask, rule, because, instead: OTHER_TOOL }
    }

    /// What holds for a tool as such.
    pub(super) fn base(&self, call: &PolicyCall<'_>, rules: Option<&ToolRules>) -> Decision {
        if let Some(decision) = rules.and_then(|rules| rules.decision) {
            let rule = self.tool_rule(call.tool, decision.line, decision.value);
            let because = format!("that is what holds for the tool `{}`", call.tool);
            return Decision { outcome: decision.value, rule, because, instead: OTHER_TOOL };
        }
        if call.is_workflow {
            let because = "it is a workflow, and everything it does is decided about by itself".to_owned();
            return Decision { outcome: PolicyOutcome::Allow, rule: built_in("tools"), because, instead: "" };
        }
        let all = self.defaults.by_effect().into_iter().filter(|(effect, ..)| call.effects.contains(*effect));
        let decisions = all.map(|(_, name, does, setting)| {
            let key = format!("defaults.{name}");
            let rule =
                RuleRef { key, text: setting.value.name().to_owned(), place: self.place(setting.line) };
            let because = format!("the tool `{}` {does}", call.tool);
            Decision { outcome: setting.value, rule, because, instead: OTHER_TOOL }
        });
        decisions.reduce(Decision::or_stricter).unwrap_or_else(|| {
            let because = format!("the tool `{}` touches nothing outside of itself", call.tool);
            Decision { outcome: PolicyOutcome::Allow, rule: built_in("defaults"), because, instead: "" }
        })
    }

    fn tool_rule(&self, tool: &str, line: Option<usize>, outcome: PolicyOutcome) -> RuleRef {
        let key = format!("tools.{tool}.decision");
        RuleRef { key, text: outcome.name().to_owned(), place: self.place(line) }
    }

    /// What an allow list says: yes; or, if there is one and the thing is not on it, what holds for the tool, or no.
    #[expect(clippy::too_many_arguments, reason = "one place for paths and hosts alike")]
    pub(super) fn permitted<P>(
        &self,
        call: &PolicyCall<'_>,
        rules: Option<&ToolRules>,
        lists: &Lists<P>,
        key: &str,
        about: &str,
        instead: &'static str,
        matches: &dyn Fn(&P) -> bool,
        trail: &mut Trail,
    ) -> Decision {
        let key = || format!("{key}.allow");
        if let Some(written) = trail.find(self, &lists.allow, key, PolicyOutcome::Allow, about, matches) {
            let rule = self.rule(key(), written);
            return Decision {
                outcome: PolicyOutcome::Allow,
                rule,
                because: format!("{about} is allowed"),
                instead: "",
            };
        }
        match lists.allow.first() {
            Some((first, _)) if rules.is_none_or(|rules| rules.decision.is_none()) => {
                let rule = RuleRef { key: key(), text: String::new(), place: self.place(first.line) };
                denied(rule, format!("{about} is not on the list of what is allowed"), instead)
            }
            _ => self.base(call, rules),
        }
    }

    pub(in crate::policy) fn rule(&self, key: String, written: &PatternText) -> RuleRef {
        RuleRef { key, text: written.text.clone(), place: self.place(written.line) }
    }
}

/// What the tool `bash` does to the world.
pub(in crate::policy) const BASH: [ToolEffect; 4] =
    [ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Spawns, ToolEffect::Irreversible];

pub(super) fn denied(rule: RuleRef, because: String, instead: &'static str) -> Decision {
    Decision { outcome: PolicyOutcome::Deny, rule, because, instead }
}

pub(super) fn built_in(key: &str) -> RuleRef {
    RuleRef { key: key.to_owned(), text: String::new(), place: RulePlace::BuiltIn }
}
