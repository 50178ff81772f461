//! Explanations of the policies that hold together.

use std::collections::BTreeSet;

use super::{Decision, Explanation, Policy, PolicyCall, PolicyOutcome, PolicySet};
use crate::network::Destination;
#[cfg(target_os = "linux")]
use crate::policy::Subject;
#[cfg(target_os = "linux")]
use crate::workspace::Workspace;

/// A decision of all policies together, with what is decided when a command connects.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SetExplanation<'a> {
    /// The strictest decision of all, about the call and about the hosts that it names.
    pub decision: Decision,
    /// How the strictest policy came to what it says about the call.
    pub explanation: Explanation,
    /// Whether it starts programs whose hosts are decided about when they connect.
    pub connects: bool,
    /// What is decided about the hosts that it names.
    pub hosts: Vec<Decision>,
    /// A policy of the folder that would let through more, if it could, and what it would say.
    pub folders_would: Option<(&'a Policy, PolicyOutcome)>,
}

impl PolicySet {
    /// Decides about a call, and says how that came about. Of several policies, the strictest decides.
    #[must_use]
    pub fn explain(&self, call: &PolicyCall<'_>) -> SetExplanation<'_> {
        let all: Vec<Explanation> = self.iter().map(|policy| policy.explain(call)).collect();
        let named: BTreeSet<&Destination> = all.iter().flat_map(|one| &one.hosts).collect();
        let decide = |host: &Destination| {
            self.iter().map(|policy| policy.command_host(host)).reduce(Decision::or_stricter)
        };
        let hosts: Vec<Decision> = named.into_iter().filter_map(decide).collect();
        let connects = all.iter().any(|one| one.connects);
        let stricter = |first: Explanation, second: Explanation| {
            if second.decision.outcome > first.decision.outcome { second } else { first }
        };
        // There is always one policy: the defaults.
        let explanation = all.into_iter().reduce(stricter).unwrap_or_else(|| Policy::default().explain(call));
        let outcome = explanation.decision.outcome;
        let folders = self.bounded().map(|folders| (folders, folders.decide(call).outcome));
        SetExplanation {
            // What a command names it wants to reach.
            decision: hosts.iter().cloned().fold(explanation.decision.clone(), Decision::or_stricter),
            explanation,
            connects,
            hosts,
            folders_would: folders.filter(|(_, theirs)| *theirs < outcome),
        }
    }

    /// Returns why rules about hosts cannot be held to on this machine, if the call is about hosts and they cannot.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn hosts_unheld(
        &self,
        workspace: &Workspace,
        call: &PolicyCall<'_>,
        explained: &SetExplanation<'_>,
    ) -> Option<&'static str> {
        let is_about_hosts =
            explained.connects || call.subjects.iter().any(|subject| matches!(subject, Subject::Host(_)));
        if !is_about_hosts || self.open_sandbox() {
            return None;
        }
        // Why there is no sandbox is for others to say.
        let sandbox = crate::sandbox::Sandbox::new(workspace).ok()?;
        sandbox.network(self.network()).hosts_unheld()
    }
}
