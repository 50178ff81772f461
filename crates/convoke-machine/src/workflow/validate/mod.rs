//! Validation of a workflow section. What its fields are is looked at with the rest of the pack.

mod declared;
mod state;

use std::collections::{BTreeSet, HashSet};

use self::declared::DeclaredArtifacts;
use self::state::StateCheck;
pub(crate) use self::state::is_media_type;
use super::graph::Graph;
use super::spec::pointer;
use super::{Budget, Known, Spec};
use crate::finding::{Finding, child};

/// Everything that is wrong with a workflow, in the order of places: the same whatever the order of the file.
#[must_use]
pub fn validate(spec: &Spec, known: &Known) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !matches!(spec.version, 1 | 2) {
        let message = format!("workflow version {} is not supported: it must be 1 or 2", spec.version);
        findings.push(Finding::error("unknown-version", pointer(&["version"]), message).help("write 2"));
    }
    if spec.states.is_empty() {
        findings.push(Finding::error("no-states", pointer(&["states"]), "the workflow has no states"));
        return findings;
    }
    let graph = Graph::of(spec);
    let from_entry = graph.reachable(&spec.entry, None);
    entry(spec, &from_entry, &mut findings);
    budget(spec, &from_entry, &mut findings);
    compositions_unused(spec, known, &mut findings);
    cycles(spec, &graph, &mut findings);
    let others = known.entries.iter().flat_map(|entry| graph.reachable(entry, None));
    let reachable: HashSet<&str> = from_entry.iter().copied().chain(others).collect();
    let declared = DeclaredArtifacts::of(spec);
    for (name, state) in &spec.states {
        let (graph, declared, findings) = (&graph, &declared, &mut findings);
        StateCheck { spec, known, graph, declared, name, state, findings }.check();
        if !from_entry.is_empty() && !reachable.contains(name.as_str()) {
            let message = format!("nothing leads to state `{name}`");
            findings.push(Finding::warning("unreachable-state", pointer(&["states", name]), message));
        }
    }
    findings.sort_by(|one, other| one.path.cmp(&other.path));
    findings
}

fn entry(spec: &Spec, reachable: &BTreeSet<&str>, findings: &mut Vec<Finding>) {
    let place = pointer(&["entry"]);
    if !spec.states.contains_key(&spec.entry) {
        let message = format!("the entry `{}` is not a state", spec.entry);
        let finding = Finding::error("unknown-entry", place, message);
        findings.push(finding.suggest_or_list(&spec.entry, spec.states.keys().map(String::as_str)));
        return;
    }
    if !reachable.iter().any(|name| spec.states[*name].ends()) {
        let message = "no terminal state can be reached from the entry";
        findings.push(Finding::warning("no-terminal-state", place, message));
    }
}

fn budget(spec: &Spec, reachable: &BTreeSet<&str>, findings: &mut Vec<Finding>) {
    let (budget, unreadable) = Budget::of(spec);
    findings.extend(unreadable);
    let Some(max) = budget.max_total_visits else { return };
    let caps = reachable.iter().map(|state| u64::try_from(spec.states[*state].max_visits).unwrap_or(0));
    let sum = caps.fold(0, u64::saturating_add);
    if max < sum {
        let message = format!(
            "`max_total_visits` is {max}, less than `max_visits` of the states allow together ({sum})"
        );
        let place = pointer(&["engine", "budget", "max_total_visits"]);
        findings.push(Finding::warning("budget-below-visits", place, message));
    }
}

fn compositions_unused(spec: &Spec, known: &Known, findings: &mut Vec<Finding>) {
    let used: HashSet<&String> = spec.states.values().map(|state| &state.composition).collect();
    for name in known.compositions.iter().flatten() {
        if !used.contains(name) {
            let message = format!("no state runs composition `{name}`");
            findings.push(Finding::warning("unused-composition", child("/compositions", name), message));
        }
    }
}

/// What leads back without a bound.
fn cycles<'a>(spec: &'a Spec, graph: &Graph<'a>, findings: &mut Vec<Finding>) {
    let is_limited = |state: &str| spec.states.get(state).is_some_and(|state| state.max_visits > 0);
    for (from, event, to) in graph.back_edges(&spec.entry) {
        // Whoever bounds it means it.
        if !is_limited(from) && !is_limited(to) {
            let message = format!("this event closes a cycle: {from} -> {to}");
            let finding = Finding::warning("cycle", pointer(&["states", from, "on_event", event]), message);
            findings.push(finding.help("let `max_visits` of one of its states bound it, if it is meant"));
        }
    }
}
