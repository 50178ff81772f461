//! Checks that a scenario fits the file that it is to be run against: what it names is there.

use convoke_text::finding::{Finding, child};
use convoke_text::nearest;

use crate::assertion::{Assertion, Check, Subject};
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
        for turn in &self.turns {
            if let TurnInput::Event { event, .. } = &turn.input {
                let path = child(&turn.path, "event");
                findings.extend(unknown("event that is waited for", event, &known.events, &path));
            }
            findings.extend(turn.assertions.iter().flat_map(|assertion| misfit(assertion, known)));
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
        findings.extend(self.assertions.iter().flat_map(|assertion| misfit(assertion, known)));
        findings
    }
}

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
