//! Checks that a scenario fits the file that it is to be run against: what it names is there.

use convoke_text::finding::{Finding, child};
use convoke_text::nearest;

use crate::assertion::{Assertion, Check, Subject};
use crate::evaluate::is_of;
use crate::observation::Vocabulary;
use crate::scenario::{Scenario, TurnInput};

impl Scenario {
    /// Returns what does not fit a file of which scenarios can speak like this, by paths in the scenario.
    #[must_use]
    pub fn misfits(&self, known: &Vocabulary) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(turn) = self.turns.first().filter(|_| !known.turns) {
            let finding = Finding::error("no-turns", &turn.path, "nobody takes turns in a run of this file");
            findings.push(finding.help("give it `inputs`, and assert what it comes to in `assertions`"));
        }
        let is_told = self.task_type.is_some() || self.inputs.contains_key("state");
        let begins = known.entry.as_ref().filter(|_| !is_told);
        let misfit = |assertion: &Assertion| {
            let misfits = misfit(assertion, known);
            let way = misfits.is_empty().then(|| certain(assertion, begins, &known.terminal));
            misfits.into_iter().chain(way.flatten()).collect::<Vec<_>>()
        };
        let events = [&known.events[..], &known.model_events[..]].concat();
        for turn in &self.turns {
            if let TurnInput::Event { event, .. } = &turn.input {
                let path = child(&turn.path, "event");
                findings.extend(unknown("event", event, &events, &path));
            }
            findings.extend(turn.assertions.iter().flat_map(misfit));
        }
        for tool in self.tools.keys() {
            // What is called quite differently may be a tool of the host, which is known once there is one.
            if nearest(tool, known.client_tools.iter().map(String::as_str)).is_some() {
                let path = child("/spec/tools", tool);
                findings.extend(unknown(
                    "tool whose results a client gives",
                    tool,
                    &known.client_tools,
                    &path,
                ));
            }
        }
        findings.extend(self.assertions.iter().flat_map(misfit));
        // What is called quite differently may be a tool of the host here, too.
        let own: Vec<&str> = known.client_tools.iter().chain(&known.tools).map(String::as_str).collect();
        findings.extend(self.unknown_tools(&own).into_iter().filter(|finding| finding.help.is_some()));
        findings
    }

    /// The tools that assertions name and nobody has, if these are all there are.
    #[must_use]
    pub fn unknown_tools(&self, known: &[&str]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let all = self.turns.iter().flat_map(|turn| &turn.assertions).chain(&self.assertions);
        for assertion in all {
            let unknown = |tool: &&str| !known.iter().any(|known| is_of(known, tool));
            findings.extend(assertion.tools().filter(unknown).map(|tool| {
                let message = format!("there is no tool or agent `{tool}` that could be called");
                let finding = Finding::error("unknown-name", &assertion.path, message);
                finding.suggest(tool, known.iter().copied())
            }));
            let pattern = assertion.when.pattern.as_ref();
            if let Some(pattern) = pattern.filter(|pattern| !known.iter().any(|tool| pattern.is_match(tool)))
            {
                let message = format!("no tool that could be called is like `{pattern}`");
                findings.push(Finding::error("unknown-name", child(&assertion.path, "when"), message));
            }
        }
        findings
    }
}

/// What is wrong with an order of states that holds, or does not, whatever happens in a workflow that begins and ends so.
fn certain(assertion: &Assertion, begins: Option<&String>, ends: &[String]) -> Option<Finding> {
    let (states, is_path) = match &assertion.check {
        Check::Order(states) => (states, false),
        Check::Path(states) => (states, true),
        _ => return None,
    };
    let cannot_hold = |why: String| {
        let message = format!("this cannot hold: {why}");
        Some(Finding::error("cannot-hold", &assertion.path, message))
    };
    if !is_path && states.iter().eq(begins) && assertion.threshold.holds(1.0) {
        let message = format!("this cannot fail: the workflow begins in `{}`", states[0]);
        let finding = Finding::error("cannot-fail", &assertion.path, message);
        return Some(finding.help("name the states that come after it"));
    }
    if let Some(first) = begins.filter(|first| is_path && states.first() != Some(*first)) {
        return cannot_hold(format!("the workflow begins in `{first}`"));
    }
    let (end, next) = states.iter().zip(states.iter().skip(1)).find(|(end, _)| ends.contains(end))?;
    // Where a part of the order is good enough, the rest need not come.
    let parts = u32::try_from(states.len()).unwrap_or(u32::MAX);
    let is_needed = is_path || !assertion.threshold.holds(f64::from(parts - 1) / f64::from(parts));
    if is_needed { cannot_hold(format!("nothing comes after `{end}`, so `{next}` does not")) } else { None }
}

/// What scenarios say of a branch that leads to no step.
pub(crate) const NOWHERE: &str = "nothing";

fn misfit(assertion: &Assertion, known: &Vocabulary) -> Vec<Finding> {
    let states: Vec<&String> = match &assertion.check {
        Check::State(state) | Check::TransitionedTo(state) | Check::SpokeIn(state) => vec![state],
        Check::Order(states) | Check::Path(states) => states.iter().collect(),
        Check::ToolAccess(rules) => rules.iter().map(|(state, _)| state).collect(),
        Check::Complete if known.states.is_empty() => {
            return vec![Finding::error(
                "no-workflow",
                &assertion.path,
                "a run of this file has no workflow",
            )];
        }
        _ => Vec::new(),
    };
    let path = &assertion.path;
    let of = || child(path, "of");
    let mut findings: Vec<Finding> =
        states.iter().filter_map(|state| unknown("state", state, &known.states, path)).collect();
    let names: Vec<(&str, &String, &[String])> = match &assertion.check {
        Check::RuleBroken { rule, .. } => vec![("validator", rule, &known.rules)],
        Check::StepOutput { step, .. } => vec![("step", step, &known.steps)],
        Check::ParallelComplete(step) => vec![("parallel step", step, &known.parallels)],
        Check::BranchTaken { branch, target } => {
            // A branch may lead nowhere.
            let target = Some(("step", target, &known.steps[..])).filter(|(_, name, _)| *name != NOWHERE);
            [("branch", branch, &known.branches[..])].into_iter().chain(target).collect()
        }
        Check::SkillsUsed { skills, .. } | Check::SkillsNotUsed(skills) => {
            let known = known.skills.as_deref();
            known
                .into_iter()
                .flat_map(|known| skills.iter().map(move |skill| ("skill", skill, known)))
                .collect()
        }
        Check::CompositionOutput(_) if known.steps.is_empty() => {
            let finding = Finding::error("no-composition", path, "a run of this file has no composition");
            findings.push(finding);
            Vec::new()
        }
        _ => Vec::new(),
    };
    findings.extend(names.into_iter().filter_map(|(what, name, known)| unknown(what, name, known, path)));
    match (&assertion.subject, &known.outputs) {
        (Subject::Artifact(name), _) => findings.extend(unknown("artifact", name, &known.artifacts, &of())),
        (Subject::Output(name), Some(outputs)) => findings.extend(unknown("output", name, outputs, &of())),
        _ => {}
    }
    findings
}

/// A finding about a name that is none of those there are.
fn unknown(what: &str, name: &str, known: &[String], path: &str) -> Option<Finding> {
    if known.iter().any(|known| known == name) {
        return None;
    }
    let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let message = format!("there is no {what} `{name}`; there are: {there}");
    Some(Finding::error("unknown-name", path, message).suggest(name, known.iter().map(String::as_str)))
}
