//! Decisions about commands.

use std::path::Path;

use super::{PolicyCall, built_in, denied};
use crate::policy::command::CommandPattern;
use crate::policy::explain::Trail;
use crate::policy::pattern::PathName;
use crate::policy::shell::{self, SimpleCommand, Word};
use crate::policy::{
    CommandNetwork, Decision, Policy, PolicyOutcome, RuleRef, Sandboxing, ToolRules, builtin, harmless_forms,
};
use crate::workspace::Workspace;

const INSIDE: &str = "Write to a file in the workspace.";
const OTHER_COMMAND: &str = "Do it with other commands or with the file tools, or say what you need and why.";

impl Policy {
    /// The decisions about everything in a command line. There is at least one.
    pub(super) fn shell(
        &self,
        call: &PolicyCall<'_>,
        rules: Option<&ToolRules>,
        text: &str,
        trail: &mut Trail,
    ) -> Vec<Decision> {
        let reading = shell::read(text);
        let root = call.workspace.map(Workspace::path);
        let unclear = reading.unclear.iter().map(|unclear| {
            let setting = self.commands.unclear;
            let (key, text) = ("commands.unclear".to_owned(), setting.value.name().to_owned());
            let rule = RuleRef { key, text, place: self.place(setting.line) };
            let instead = "Write the command so that it says which programs it starts.";
            Decision { outcome: setting.value, rule, because: unclear.to_string(), instead }
        });
        let mut decisions = Vec::new();
        for command in &reading.commands {
            match self.simple(command, root, trail) {
                Some(decision) => decisions.push(decision),
                None if command.transparent => {}
                None => decisions.push(self.command_default(call, rules, command)),
            }
        }
        decisions.extend(unclear);
        for name in &reading.multiplying {
            let because = format!("`{name}` starts itself beside itself, again and again (a fork bomb)");
            decisions.push(denied(built_in("commands.deny"), because, OTHER_COMMAND));
        }
        if decisions.is_empty() {
            decisions.push(self.base(call, rules));
        }
        decisions
    }

    /// A program that no shell starts.
    pub(super) fn program(
        &self,
        call: &PolicyCall<'_>,
        rules: Option<&ToolRules>,
        command: &SimpleCommand,
        trail: &mut Trail,
    ) -> Decision {
        let decision = self.simple(command, call.workspace.map(Workspace::path), trail);
        decision.unwrap_or_else(|| self.command_default(call, rules, command))
    }

    fn command_default(
        &self,
        call: &PolicyCall<'_>,
        rules: Option<&ToolRules>,
        command: &SimpleCommand,
    ) -> Decision {
        if rules.is_some_and(|rules| rules.decision.is_some()) && self.commands.default.is_none() {
            return self.base(call, rules);
        }
        let (outcome, line, why) = match self.commands.default {
            Some(setting) => (setting.value, setting.line, "no rule is about it"),
            None if self.sandbox.value != Sandboxing::Off => {
                (PolicyOutcome::Allow, None, "no rule is about it, and the sandbox confines it")
            }
            None => (PolicyOutcome::Ask, self.sandbox.line, "no rule is about it, and there is no sandbox"),
        };
        let (key, text) = ("commands.default".to_owned(), outcome.name().to_owned());
        let rule = RuleRef { key, text, place: self.place(line) };
        Decision { outcome, rule, because: format!("`{command}`: {why}"), instead: OTHER_COMMAND }
    }

    /// What rules say about one simple command, if any does.
    fn simple(&self, command: &SimpleCommand, root: Option<&Path>, trail: &mut Trail) -> Option<Decision> {
        let about = format!("`{command}`");
        let possible = shell::possible(command);
        // What it is itself, or else what it may start.
        let caught = |pattern: &CommandPattern| match pattern.catches(&command.words) {
            true => Some(None),
            false => possible.iter().find(|other| pattern.catches(&other.words)).map(Some),
        };
        let mut restricted = self.words_as_paths(command, root, trail);
        let lists = &self.commands.lists;
        for (list, outcome) in [(&lists.deny, PolicyOutcome::Deny), (&lists.ask, PolicyOutcome::Ask)] {
            let key = || format!("commands.{outcome}");
            if let Some(written) =
                trail.find(self, list, key, outcome, &about, |pattern| caught(pattern).is_some())
            {
                let is = if outcome == PolicyOutcome::Deny { "denied" } else { "asked about" };
                let pattern =
                    list.iter().find(|(own, _)| std::ptr::eq(own, written)).map(|(_, pattern)| pattern);
                let because = match pattern.and_then(caught).flatten() {
                    Some(other) => format!("{about} may start `{other}`, which is {is}"),
                    None => format!("{about} is {is}"),
                };
                let own =
                    Decision { outcome, rule: self.rule(key(), written), because, instead: OTHER_COMMAND };
                return Some(match restricted.take() {
                    Some(other) => own.or_stricter(other),
                    None => own,
                });
            }
        }
        if restricted.is_some() {
            return restricted;
        }
        let key = || "commands.allow".to_owned();
        if let Some(written) = trail
            .find(self, &lists.allow, key, PolicyOutcome::Allow, &about, |pattern| pattern.permits(command))
        {
            let because = format!("{about} is allowed");
            return Some(Decision {
                outcome: PolicyOutcome::Allow,
                rule: self.rule(key(), written),
                because,
                instead: "",
            });
        }
        let own = self.built_in_rule(&command.words, true, &about, trail);
        let started = possible.iter().find_map(|other| {
            let rule = self.built_in_rule(&other.words, other.certain, &about, trail)?;
            Some(Decision { because: format!("{about} may start `{other}`: {}", rule.1), ..rule.0 })
        });
        let own = own.map(|(decision, why)| Decision { because: format!("{about}: {why}"), ..decision });
        [own, started].into_iter().flatten().reduce(Decision::or_stricter)
    }

    /// What the built-in rules say about a command, and why. Where it is not certain that it is one, they ask at most.
    fn built_in_rule(
        &self,
        words: &[Word],
        certain: bool,
        about: &str,
        trail: &mut Trail,
    ) -> Option<(Decision, &'static str)> {
        let mut rules = builtin::about(words).filter(|rule| certain || !rule.is_ordinary_word()).peekable();
        rules.peek()?;
        let harmless = harmless_forms::only_looks(words);
        // What a rule comes to here, if it holds.
        let comes_to = |rule: &builtin::BuiltIn| match (rule.why, self.commands.network.value) {
            // Whoever lets commands reach the network is asked, not refused.
            (builtin::BuiltInReason::Network, CommandNetwork::Open) => Some(PolicyOutcome::Ask),
            // What such a program reaches is decided about host by host.
            (builtin::BuiltInReason::Network, CommandNetwork::Hosts) => None,
            _ if !certain => Some(PolicyOutcome::Ask),
            _ => Some(rule.outcome),
        };
        let found = rules.find_map(|rule| {
            let is_caught = !harmless && rule.pattern.catches(words);
            let outcome = comes_to(rule);
            let matched = is_caught && outcome.is_some();
            let noted = outcome.unwrap_or(rule.outcome);
            let key = || format!("commands.{noted}");
            // Whoever asks about `make` does not want to read about `mkfs.*`.
            if matched || (certain && rule.pattern.name().is_some()) {
                trail.note(self, &rule.written, key, noted, about, matched);
            }
            is_caught.then_some((rule, outcome))
        });
        let (found, outcome) = found?;
        let outcome = outcome?;
        let rule = self.rule(format!("commands.{outcome}"), &found.written);
        Some((Decision { outcome, rule, because: String::new(), instead: OTHER_COMMAND }, found.why.text()))
    }

    /// What the lists of paths for all tools say about the words of a command, as far as they can be told.
    fn words_as_paths(
        &self,
        command: &SimpleCommand,
        root: Option<&Path>,
        trail: &mut Trail,
    ) -> Option<Decision> {
        let is_touch = matches!(command.program(), Some(">" | "<"));
        if self.paths.is_empty() && !is_touch {
            return None;
        }
        for word in command.arguments() {
            let known = word.known();
            let value = known.split_once('=').map(|(_, value)| value);
            for text in [Some(known), value].into_iter().flatten().filter(|text| !text.is_empty()) {
                let names = [PathName::of(Path::new(text), root)];
                let changes = command.program() == Some(">");
                if is_touch && let Some(decision) = self.protects(&names, text, changes, None) {
                    return Some(decision);
                }
                // What is only known when it runs, such as `$TMPDIR`, could lead anywhere.
                let leads_out = changes && word.fixed().is_some_and(|path| leads_out(path, root));
                if leads_out && self.sandbox.value != Sandboxing::Off {
                    let because =
                        format!("`> {text}` is outside of the workspace, where commands write nothing");
                    return Some(denied(built_in("sandbox"), because, INSIDE));
                }
                let decision = self.restricted_path(&names, text, None, trail);
                // A word that is no path is not outside of anything.
                let counts = |decision: &Decision| is_touch || decision.rule.key != "paths.within";
                if let Some(decision) = decision.filter(counts) {
                    return Some(decision);
                }
            }
        }
        None
    }
}

/// Whether a file that a command writes is elsewhere for certain. Devices and temporary files are none of this, and neither
/// are paths that begin where the command is: nobody knows where that will be.
fn leads_out(text: &str, root: Option<&Path>) -> bool {
    let Some(root) = root else { return false };
    let path = PathName::of(Path::new(text), None).absolute;
    let Some(path) = path.filter(|_| text.starts_with('/')) else { return false };
    let temporary = std::env::temp_dir();
    let known = [root, &temporary].into_iter().chain(["/dev", "/proc/self/fd", "/tmp"].map(Path::new));
    if known.into_iter().any(|known| path.starts_with(known)) {
        return false;
    }
    // The workspace may be known by another name. This is about to be denied, so there is time to look.
    let there = path.ancestors().find_map(|folder| folder.canonicalize().ok());
    there.is_none_or(|there| !there.starts_with(root))
}
