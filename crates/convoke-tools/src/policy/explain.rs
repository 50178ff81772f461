//! Explains a decision: the rule that made it, and the rules that were considered.

use serde::Serialize;

use super::pattern::PatternText;
use super::{CommandNetwork, Decision, Policy, PolicyCall, PolicyOutcome, RuleRef, command_hosts, shell};
use crate::network::Destination;
use crate::policy::Subject;

/// A rule that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConsideredRule {
    /// The rule.
    pub rule: RuleRef,
    /// What it would decide.
    pub outcome: PolicyOutcome,
    /// What it was held against.
    pub about: String,
    /// Whether it is about that.
    pub matched: bool,
}

/// A decision with everything that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// What was decided.
    pub decision: Decision,
    /// What was read of the command lines that the call has.
    pub readings: Vec<shell::ParsedCommandLine>,
    /// The rules that were looked at, in their order, up to the one that decided about each thing.
    pub considered: Vec<ConsideredRule>,
    /// Whether it starts programs whose hosts are decided about when they connect.
    pub connects: bool,
    /// The hosts that are named to those, as far as the text says.
    pub hosts: Vec<Destination>,
}

impl Policy {
    /// Decides about a call, and says how that came about.
    #[must_use]
    pub fn explain(&self, call: &PolicyCall<'_>) -> Explanation {
        let mut trail = Trail(Some(Vec::new()));
        let decision = self.decided(call, &mut trail);
        let readings = call.subjects.iter().filter_map(|subject| match subject {
            Subject::Command(text) => Some(shell::read(text)),
            _ => None,
        });
        let readings: Vec<shell::ParsedCommandLine> = readings.collect();
        let mut considered = trail.0.unwrap_or_default();
        considered.dedup();
        let is_by_host = self.command_network() == CommandNetwork::Hosts;
        let commands = readings.iter().flat_map(|reading| &reading.commands);
        let connecting: Vec<_> =
            commands.filter(|command| is_by_host && command_hosts::talks(command)).collect();
        let mut hosts: Vec<Destination> =
            connecting.iter().flat_map(|command| command_hosts::hosts(command)).collect();
        hosts.sort();
        hosts.dedup();
        let connects = !connecting.is_empty();
        Explanation { decision, readings, considered, connects, hosts }
    }
}

/// Keeps what was looked at, if anybody wants to know.
pub(super) struct Trail(Option<Vec<ConsideredRule>>);

impl Trail {
    pub(super) const fn off() -> Self {
        Self(None)
    }

    /// The first pattern of a list that matches.
    pub(super) fn find<'l, P>(
        &mut self,
        policy: &Policy,
        list: &'l [(PatternText, P)],
        key: impl Fn() -> String,
        outcome: PolicyOutcome,
        about: &str,
        matches: impl Fn(&P) -> bool,
    ) -> Option<&'l PatternText> {
        for (written, pattern) in list {
            let matched = matches(pattern);
            self.note(policy, written, &key, outcome, about, matched);
            if matched {
                return Some(written);
            }
        }
        None
    }

    pub(super) fn note(
        &mut self,
        policy: &Policy,
        written: &PatternText,
        key: impl Fn() -> String,
        outcome: PolicyOutcome,
        about: &str,
        matched: bool,
    ) {
        if let Some(all) = &mut self.0 {
            all.push(ConsideredRule {
                rule: policy.rule(key(), written),
                outcome,
                about: about.to_owned(),
                matched,
            });
        }
    }
}
