//! Validation of one state.

use super::unknown_fields;
use crate::finding::Finding;
use crate::workflow::compiled::{Orchestration, Persistence};
use crate::workflow::graph::Graph;
use crate::workflow::spec::pointer;
use crate::workflow::{ArtifactMode, Known, Spec, StateSpec};

const STATE_FIELDS: [&str; 11] = [
    "prompt_task",
    "description",
    "on_event",
    "persistence",
    "orchestration",
    "skills",
    "composition",
    "terminal",
    "max_visits",
    "on_max_visits",
    "artifacts",
];

/// One state, and what it is checked against.
pub(super) struct StateCheck<'a> {
    pub(super) spec: &'a Spec,
    pub(super) known: &'a Known,
    pub(super) name: &'a str,
    pub(super) state: &'a StateSpec,
}

impl<'a> StateCheck<'a> {
    /// Whether everything it names is there.
    pub(super) fn names(&self, findings: &mut Vec<Finding>) {
        self.prompt(findings);
        self.targets(findings);
        self.modes(findings);
    }

    /// Whether what it says makes sense together.
    pub(super) fn rules(&self, graph: &Graph<'a>, findings: &mut Vec<Finding>) {
        self.composition(findings);
        self.ends(findings);
        self.fallback(graph, findings);
        let what = format!("state `{}`", self.name);
        unknown_fields(&self.state.extra, &["states", self.name], &what, &STATE_FIELDS, findings);
    }

    fn place(&self, steps: &[&str]) -> String {
        pointer(&[&["states", self.name], steps].concat())
    }

    fn states(&self) -> impl Iterator<Item = &'a str> {
        self.spec.states.keys().map(String::as_str)
    }

    fn is_composition(&self) -> bool {
        Orchestration::named(&self.state.orchestration) == Some(Orchestration::Composition)
    }

    fn prompt(&self, findings: &mut Vec<Finding>) {
        let (name, task) = (self.name, &self.state.prompt_task);
        if self.is_composition() {
            return;
        }
        let place = self.place(&["prompt_task"]);
        if task.is_empty() {
            let message = format!("state `{name}` has no `prompt_task`");
            findings.push(Finding::error("missing-prompt", place, message));
            return;
        }
        let Some(prompts) = &self.known.prompts else { return };
        let Some(used) = prompts.get(task) else {
            let message = format!("state `{name}` speaks with prompt `{task}`, which is not in the pack");
            let finding = Finding::error("unknown-prompt", place, message);
            findings.push(finding.suggest_or_list(task, prompts.keys().map(String::as_str)));
            return;
        };
        for used in used.iter().filter(|used| !self.declared_with_prompt(used)) {
            let message = format!("prompt `{task}` uses artifact `{used}`, which no state with it declares");
            let finding = Finding::warning("undeclared-artifact", place.clone(), message);
            findings.push(finding.help(format!("declare `{used}` under `artifacts` of state `{name}`")));
        }
    }

    fn declared_with_prompt(&self, artifact: &str) -> bool {
        let mut same_prompt =
            self.spec.states.values().filter(|other| other.prompt_task == self.state.prompt_task);
        same_prompt.any(|other| other.artifacts.contains_key(artifact))
    }

    fn targets(&self, findings: &mut Vec<Finding>) {
        let mut events: Vec<_> = self.state.on_event.iter().collect();
        events.sort();
        for (event, target) in events {
            let place = self.place(&["on_event", event]);
            if !self.spec.states.contains_key(target) {
                let name = self.name;
                let message =
                    format!("event `{event}` of state `{name}` leads to `{target}`, which is not a state");
                let finding = Finding::error("unknown-target", place.clone(), message);
                findings.push(finding.suggest_or_list(target, self.states()));
            }
            if !is_pascal_case(event) {
                let message = format!("event `{event}` is not written in PascalCase");
                findings
                    .push(Finding::warning("event-name", place, message).help("write it like `NeedsReview`"));
            }
        }
    }

    fn modes(&self, findings: &mut Vec<Finding>) {
        let StateSpec { persistence, orchestration, .. } = self.state;
        if !persistence.is_empty() && Persistence::named(persistence).is_none() {
            let message = format!("`{persistence}` is not a kind of persistence");
            let finding = Finding::error("unknown-persistence", self.place(&["persistence"]), message);
            findings.push(finding.help("write `transient` or `persistent`"));
        }
        if Orchestration::named(orchestration).is_none() {
            let message = format!("`{orchestration}` is not a kind of orchestration");
            let finding = Finding::error("unknown-orchestration", self.place(&["orchestration"]), message);
            findings.push(finding.help("write `internal`, `external`, `hybrid` or `composition`"));
        }
    }

    fn composition(&self, findings: &mut Vec<Finding>) {
        let (name, composition) = (self.name, &self.state.composition);
        let place = self.place(&["composition"]);
        match (self.is_composition(), composition.as_str()) {
            (true, "") => {
                let message = format!("state `{name}` is orchestrated by a composition, and names none");
                findings.push(Finding::error("missing-composition", place, message));
            }
            (true, composition) => {
                let Some(known) = &self.known.compositions else { return };
                if !known.contains(composition) {
                    let message = format!("there is no composition `{composition}`");
                    let finding = Finding::error("unknown-composition", place, message);
                    findings.push(finding.suggest_or_list(composition, known.iter().map(String::as_str)));
                }
            }
            (false, "") => {}
            (false, _) => {
                let message = format!("state `{name}` names a composition, and is not orchestrated by one");
                let finding = Finding::error("unexpected-composition", place, message);
                findings.push(finding.help("write `\"orchestration\": \"composition\"`"));
            }
        }
    }

    fn ends(&self, findings: &mut Vec<Finding>) {
        let (name, state) = (self.name, self.state);
        if state.terminal && !state.on_event.is_empty() {
            let message = format!("state `{name}` is terminal: its events are never taken");
            findings.push(Finding::warning("terminal-with-events", self.place(&["on_event"]), message));
        }
        if self.spec.version >= 2 && !state.terminal && state.on_event.is_empty() && state.max_visits <= 0 {
            let message =
                format!("state `{name}` is a dead end: no event leads out of it, and it is not terminal");
            let finding = Finding::warning("dead-end", self.place(&[]), message);
            findings.push(finding.help("write `\"terminal\": true` if it is the end"));
        }
    }

    fn fallback(&self, graph: &Graph<'a>, findings: &mut Vec<Finding>) {
        let (name, state) = (self.name, self.state);
        let fallback = state.on_max_visits.as_str();
        if fallback.is_empty() {
            return;
        }
        let place = self.place(&["on_max_visits"]);
        let Some(target) = self.spec.states.get(fallback) else {
            let message =
                format!("`on_max_visits` of state `{name}` names `{fallback}`, which is not a state");
            let finding = Finding::error("unknown-fallback", place, message);
            findings.push(finding.suggest_or_list(fallback, self.states()));
            return;
        };
        if state.max_visits <= 0 {
            let message = format!("state `{name}` has `on_max_visits` and no `max_visits`: it is never used");
            findings.push(Finding::warning("unused-fallback", place, message));
        } else if fallback == name {
            let message = format!("`on_max_visits` of state `{name}` leads back to it, where it cannot go");
            findings.push(Finding::warning("self-redirect", place, message));
        } else if target.max_visits > 0 {
            let message =
                format!("redirect chain: `{fallback}`, where `{name}` leads to, has `max_visits` itself");
            findings.push(Finding::warning("redirect-chain", place, message));
        } else if graph.reachable(fallback).contains(name) && !self.ends_without(graph, fallback) {
            let message = format!(
                "redirect trap: every way from `{fallback}` leads back to `{name}`, and from there to `{fallback}`"
            );
            let finding = Finding::warning("redirect-trap", place, message);
            findings.push(finding.help("let a budget end it, or let it lead where nothing leads back"));
        }
    }

    /// Whether some way from a state comes to an end without coming by here.
    fn ends_without(&self, graph: &Graph<'a>, from: &'a str) -> bool {
        graph.reachable_without(from, Some(self.name)).iter().any(|name| self.spec.states[*name].ends())
    }

    /// Whether its artifacts can be, and are what other states take them for.
    pub(super) fn artifacts(&self, findings: &mut Vec<Finding>) {
        let mut artifacts: Vec<_> = self.state.artifacts.iter().collect();
        artifacts.sort_by_key(|(artifact, _)| *artifact);
        for (artifact, declared) in artifacts {
            let place = |step: &str| self.place(&["artifacts", artifact, step]);
            if ArtifactMode::named(&declared.mode).is_none() {
                let message = format!("`{}` is not a mode of artifacts", declared.mode);
                let finding = Finding::error("unknown-artifact-mode", place("mode"), message);
                findings.push(finding.help("write `replace` or `append`"));
            }
            if !is_media_type(&declared.media_type) {
                let message = format!("`{}` is not a media type", declared.media_type);
                let finding = Finding::warning("artifact-type", place("type"), message);
                findings.push(finding.help("write one like `text/plain` or `application/json`"));
            }
            if let Some(other) = self.declared_otherwise(artifact) {
                let message = format!(
                    "artifact `{artifact}` has another mode or type in state `{other}`: it is one artifact, so write the same in both"
                );
                let place = self.place(&["artifacts", artifact]);
                findings.push(Finding::error("artifact-conflict", place, message));
            }
        }
    }

    /// The first state before this one, by name, that declares an artifact in another way.
    fn declared_otherwise(&self, artifact: &str) -> Option<&'a String> {
        let declared = self.state.artifacts.get(artifact)?;
        let before = self.spec.states.iter().filter(|(other, _)| other.as_str() < self.name);
        let differs = before.filter(|(_, state)| {
            state.artifacts.get(artifact).is_some_and(|other| {
                ArtifactMode::named(&other.mode) != ArtifactMode::named(&declared.mode)
                    || other.media_type != declared.media_type
            })
        });
        differs.map(|(other, _)| other).min()
    }
}

fn is_pascal_case(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
        && event.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// Whether a text is two words with a slash between them, whatever parameters follow.
pub(crate) fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    matches!(essence.split('/').collect::<Vec<_>>()[..], [kind, name] if !kind.is_empty() && !name.is_empty())
}
