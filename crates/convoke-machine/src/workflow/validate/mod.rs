//! Validation of a workflow section: first as a whole, then state by state in the order of names.

mod state;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::state::StateCheck;
pub(crate) use self::state::is_media_type;
use super::graph::Graph;
use super::spec::pointer;
use super::{Budget, Known, Spec};
use crate::finding::{Finding, child};

const SPEC_FIELDS: [&str; 4] = ["version", "entry", "states", "engine"];

/// Everything that is wrong with a workflow, always in the same order.
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
    unknown_fields(&spec.extra, &[], "the workflow", &SPEC_FIELDS, &mut findings);
    let graph = Graph::of(spec);
    entry(spec, &graph, &mut findings);
    budget(spec, &graph, &mut findings);
    compositions_unused(spec, known, &mut findings);
    let mut cycles = cycles(spec, &graph);
    let reachable = graph.reachable(&spec.entry);
    let mut states: Vec<_> = spec.states.iter().collect();
    states.sort_by_key(|(name, _)| *name);
    for (name, state) in states {
        let check = StateCheck { spec, known, name, state };
        check.names(&mut findings);
        findings.extend(cycles.remove(name.as_str()).unwrap_or_default());
        check.rules(&graph, &mut findings);
        if !reachable.is_empty() && !reachable.contains(name.as_str()) {
            let message = format!("nothing leads to state `{name}`");
            findings.push(Finding::warning("unreachable-state", pointer(&["states", name]), message));
        }
        check.artifacts(&mut findings);
    }
    findings
}

fn entry<'a>(spec: &'a Spec, graph: &Graph<'a>, findings: &mut Vec<Finding>) {
    let place = pointer(&["entry"]);
    if !spec.states.contains_key(&spec.entry) {
        let message = format!("the entry `{}` is not a state", spec.entry);
        let finding = Finding::error("unknown-entry", place, message);
        findings.push(finding.suggest_or_list(&spec.entry, spec.states.keys().map(String::as_str)));
        return;
    }
    if !graph.reachable(&spec.entry).iter().any(|name| spec.states[*name].ends()) {
        let message = "no terminal state can be reached from the entry";
        findings.push(Finding::warning("no-terminal-state", place, message));
    }
}

fn budget<'a>(spec: &'a Spec, graph: &Graph<'a>, findings: &mut Vec<Finding>) {
    let (budget, unreadable) = Budget::of(spec);
    findings.extend(unreadable);
    let Some(max) = budget.max_total_visits else { return };
    let reachable = graph.reachable(&spec.entry).into_iter();
    let caps = reachable.map(|state| u64::try_from(spec.states[state].max_visits).unwrap_or(0));
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
    for name in known.compositions.iter().flatten() {
        if !spec.states.values().any(|state| state.composition == *name) {
            let message = format!("no state runs composition `{name}`");
            findings.push(Finding::warning("unused-composition", child("/compositions", name), message));
        }
    }
}

/// What leads back without a bound, by the state it leads back from.
fn cycles<'a>(spec: &'a Spec, graph: &Graph<'a>) -> BTreeMap<&'a str, Vec<Finding>> {
    let mut cycles: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    let is_limited = |state: &str| spec.states.get(state).is_some_and(|state| state.max_visits > 0);
    for edge in graph.back_edges(&spec.entry) {
        // Whoever bounds it means it.
        if is_limited(edge.from) || is_limited(edge.to) {
            continue;
        }
        let message = format!("this event closes a cycle: {} -> {}", edge.from, edge.to);
        let place = pointer(&["states", edge.from, "on_event", edge.event]);
        let help = "let `max_visits` of one of its states bound it, if it is meant";
        cycles.entry(edge.from).or_default().push(Finding::warning("cycle", place, message).help(help));
    }
    cycles
}

fn unknown_fields(
    extra: &Map<String, Value>,
    place: &[&str],
    what: &str,
    fields: &[&str],
    findings: &mut Vec<Finding>,
) {
    for field in extra.keys() {
        let message = format!("{what} has an unknown field `{field}`");
        let finding = Finding::warning("unknown-field", pointer(&[place, &[field]].concat()), message);
        findings.push(finding.suggest_or_list(field, fields.iter().copied()));
    }
}
