//! Decisions about commands.

use std::path::Path;

use super::{Call, built_in, denied};
use crate::policy::explain::Trail;
use crate::policy::pattern::PathName;
use crate::policy::shell::{self, SimpleCommand};
use crate::policy::{Decision, Outcome, Policy, RuleRef, Sandboxing, ToolRules, builtin};
use crate::workspace::Workspace;

const INSIDE: &str = "Write to a file in the workspace.";
const OTHER_COMMAND: &str = "Do it with other commands or with the file tools, or say what you need and why.";

impl Policy {
    pub(super) fn shell(
        &self,
        call: &Call<'_>,
        rules: Option<&ToolRules>,
        text: &str,
        trail: &mut Trail,
    ) -> Decision {
        let reading = shell::read(text);
        let root = call.workspace.map(Workspace::path);
        let unclear = reading.unclear.iter().map(|unclear| {
            let setting = self.commands.unclear;
            let (key, text) = ("commands.unclear".to_owned(), setting.value.name().to_owned());
            let rule = RuleRef { key, text, place: self.place(setting.line) };
            let instead = "Write the command so that it says which programs it starts.";
            Decision { outcome: setting.value, rule, because: unclear.to_string(), instead }
        });
        let mut strictest: Option<Decision> = None;
        let mut weigh = |decision: Decision| {
            strictest = Some(match strictest.take() {
                Some(other) => other.or_stricter(decision),
                None => decision,
            });
        };
        for command in &reading.commands {
            match self.simple(command, root, trail) {
                Some(decision) => weigh(decision),
                None if command.transparent => {}
                None => weigh(self.command_default(call, rules, command)),
            }
        }
        unclear.for_each(&mut weigh);
        for name in &reading.multiplying {
            let because = format!("`{name}` starts itself beside itself, again and again (a fork bomb)");
            weigh(denied(built_in("commands.deny"), because, OTHER_COMMAND));
        }
        strictest.unwrap_or_else(|| self.base(call, rules))
    }

    /// A program that no shell starts.
    pub(super) fn program(
        &self,
        call: &Call<'_>,
        rules: Option<&ToolRules>,
        command: &SimpleCommand,
        trail: &mut Trail,
    ) -> Decision {
        let decision = self.simple(command, call.workspace.map(Workspace::path), trail);
        decision.unwrap_or_else(|| self.command_default(call, rules, command))
    }

    fn command_default(
        &self,
        call: &Call<'_>,
        rules: Option<&ToolRules>,
        command: &SimpleCommand,
    ) -> Decision {
        if rules.is_some_and(|rules| rules.decision.is_some()) && self.commands.default.is_none() {
            return self.base(call, rules);
        }
        let (outcome, line, why) = match self.commands.default {
            Some(setting) => (setting.value, setting.line, "no rule is about it"),
            None if self.sandbox.value == Sandboxing::Required => {
                (Outcome::Allow, None, "no rule is about it, and the sandbox confines it")
            }
            None => (Outcome::Ask, self.sandbox.line, "no rule is about it, and there is no sandbox"),
        };
        let (key, text) = ("commands.default".to_owned(), outcome.name().to_owned());
        let rule = RuleRef { key, text, place: self.place(line) };
        Decision { outcome, rule, because: format!("`{command}`: {why}"), instead: OTHER_COMMAND }
    }

    /// What rules say about one simple command, if any does.
    fn simple(&self, command: &SimpleCommand, root: Option<&Path>, trail: &mut Trail) -> Option<Decision> {
        let about = format!("`{command}`");
        let mut restricted = self.words_as_paths(command, root, trail);
        let lists = &self.commands.lists;
        for (list, outcome) in [(&lists.deny, Outcome::Deny), (&lists.ask, Outcome::Ask)] {
            let key = || format!("commands.{outcome}");
            if let Some(written) =
                trail.find(self, list, key, outcome, &about, |pattern| pattern.catches(command))
            {
                let because =
                    format!("{about} is {}", if outcome == Outcome::Deny { "denied" } else { "asked about" });
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
        if let Some(written) =
            trail.find(self, &lists.allow, key, Outcome::Allow, &about, |pattern| pattern.permits(command))
        {
            let because = format!("{about} is allowed");
            return Some(Decision {
                outcome: Outcome::Allow,
                rule: self.rule(key(), written),
                because,
                instead: "",
            });
        }
        let found = builtin::about(command).find(|rule| {
            let matched = rule.pattern.catches(command);
            let key = || format!("commands.{}", rule.outcome);
            // Whoever asks about `make` does not want to read about `mkfs.*`.
            if matched || rule.pattern.name().is_some() {
                trail.note(self, &rule.written, key, rule.outcome, &about, matched);
            }
            matched
        })?;
        // Whoever lets commands reach the network is asked, not refused.
        let opened = found.why == builtin::Why::Network && self.commands.network.value;
        let outcome = if opened { Outcome::Ask } else { found.outcome };
        let rule = self.rule(format!("commands.{outcome}"), &found.written);
        Some(Decision {
            outcome,
            rule,
            because: format!("{about}: {}", found.why.text()),
            instead: OTHER_COMMAND,
        })
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
                if leads_out && self.sandbox.value == Sandboxing::Required {
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
