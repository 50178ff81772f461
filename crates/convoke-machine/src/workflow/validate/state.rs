//! Validation of one state.

use super::declared::DeclaredArtifacts;
use crate::finding::Finding;
use crate::workflow::compiled::{Orchestration, Persistence, named, named_or_usual};
use crate::workflow::graph::Graph;
use crate::workflow::spec::pointer;
use crate::workflow::{ArtifactMode, Known, Spec, StateSpec};

/// One state, what it is checked against, and what was found.
pub(super) struct StateCheck<'a, 'f> {
    pub(super) spec: &'a Spec,
    pub(super) known: &'a Known,
    pub(super) graph: &'f Graph<'a>,
    pub(super) declared: &'f DeclaredArtifacts<'a>,
    pub(super) name: &'a str,
    pub(super) state: &'a StateSpec,
    pub(super) findings: &'f mut Vec<Finding>,
}

impl<'a> StateCheck<'a, '_> {
    /// Whether everything it names is there, and what it says makes sense together.
    pub(super) fn check(&mut self) {
        self.prompt();
        self.targets();
        self.modes();
        self.composition();
        self.ends();
        self.fallback();
        self.artifacts();
    }

    fn place(&self, steps: &[&str]) -> String {
        pointer(&[&["states", self.name], steps].concat())
    }

    fn error(&self, code: &'static str, steps: &[&str], message: String) -> Finding {
        Finding::error(code, self.place(steps), message)
    }

    fn warning(&self, code: &'static str, steps: &[&str], message: String) -> Finding {
        Finding::warning(code, self.place(steps), message)
    }

    fn states(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.spec.states.keys().map(String::as_str)
    }

    fn is_composition(&self) -> bool {
        named(&self.state.orchestration) == Some(Orchestration::Composition)
    }

    fn prompt(&mut self) {
        let (name, task) = (self.name, &self.state.prompt_task);
        if self.is_composition() {
            return;
        }
        if task.is_empty() {
            let message = format!("state `{name}` has no `prompt_task`");
            self.findings.push(self.error("missing-prompt", &["prompt_task"], message));
            return;
        }
        let Some(prompts) = &self.known.prompts else { return };
        let Some(used) = prompts.get(task) else {
            let message = format!("state `{name}` speaks with prompt `{task}`, which is not in the pack");
            let finding = self.error("unknown-prompt", &["prompt_task"], message);
            self.findings.push(finding.suggest_or_list(task, prompts.keys().map(String::as_str)));
            return;
        };
        for used in used.iter().filter(|used| !self.declared.has(task, used)) {
            let message = format!("prompt `{task}` uses artifact `{used}`, which no state with it declares");
            let finding = self.warning("undeclared-artifact", &["prompt_task"], message);
            self.findings.push(finding.help(format!("declare `{used}` under `artifacts` of state `{name}`")));
        }
    }

    fn targets(&mut self) {
        for (event, target) in &self.state.on_event {
            if !self.spec.states.contains_key(target) {
                let name = self.name;
                let message =
                    format!("event `{event}` of state `{name}` leads to `{target}`, which is not a state");
                let finding = self.error("unknown-target", &["on_event", event], message);
                self.findings.push(finding.suggest_or_list(target, self.states()));
            }
            if !is_pascal_case(event) {
                let message = format!("event `{event}` is not written in PascalCase");
                let finding = self.warning("event-name", &["on_event", event], message);
                self.findings.push(finding.help("write it like `NeedsReview`"));
            }
        }
    }

    fn modes(&mut self) {
        let StateSpec { persistence, orchestration, .. } = self.state;
        if !persistence.is_empty() && named::<Persistence>(persistence).is_none() {
            let message = format!("`{persistence}` is not a kind of persistence");
            let finding = self.error("unknown-persistence", &["persistence"], message);
            self.findings.push(finding.help("write `transient` or `persistent`"));
        }
        if named_or_usual::<Orchestration>(orchestration).is_none() {
            let message = format!("`{orchestration}` is not a kind of orchestration");
            let finding = self.error("unknown-orchestration", &["orchestration"], message);
            self.findings.push(finding.help("write `internal`, `external`, `hybrid` or `composition`"));
        }
    }

    fn composition(&mut self) {
        let (name, composition) = (self.name, self.state.composition.as_str());
        let finding = match (self.is_composition(), composition, &self.known.compositions) {
            (true, "", _) => {
                let message = format!("state `{name}` is orchestrated by a composition, and names none");
                self.error("missing-composition", &["composition"], message)
            }
            (true, _, Some(known)) if !known.contains(composition) => {
                let message = format!("there is no composition `{composition}`");
                let finding = self.error("unknown-composition", &["composition"], message);
                finding.suggest_or_list(composition, known.iter().map(String::as_str))
            }
            (true, ..) | (false, "", _) => return,
            (false, ..) => {
                let message = format!("state `{name}` names a composition, and is not orchestrated by one");
                let finding = self.error("unexpected-composition", &["composition"], message);
                finding.help("write `\"orchestration\": \"composition\"`")
            }
        };
        self.findings.push(finding);
    }

    fn ends(&mut self) {
        let (name, state) = (self.name, self.state);
        if state.terminal && !state.on_event.is_empty() {
            let message = format!("state `{name}` is terminal: its events are never taken");
            self.findings.push(self.warning("terminal-with-events", &["on_event"], message));
        }
        if self.spec.version >= 2 && state.ends() && !state.terminal && state.max_visits <= 0 {
            let message =
                format!("state `{name}` is a dead end: no event leads out of it, and it is not terminal");
            let finding = self.warning("dead-end", &[], message);
            self.findings.push(finding.help("write `\"terminal\": true` if it is the end"));
        }
    }

    fn fallback(&mut self) {
        let (name, fallback) = (self.name, self.state.on_max_visits.as_str());
        let has_limit = self.state.max_visits > 0;
        let finding = match self.spec.states.get(fallback) {
            _ if fallback.is_empty() => return,
            None => {
                let message =
                    format!("`on_max_visits` of state `{name}` names `{fallback}`, which is not a state");
                let finding = self.error("unknown-fallback", &["on_max_visits"], message);
                finding.suggest_or_list(fallback, self.states())
            }
            Some(_) if !has_limit => {
                let message =
                    format!("state `{name}` has `on_max_visits` and no `max_visits`: it is never used");
                self.warning("unused-fallback", &["on_max_visits"], message)
            }
            Some(_) if fallback == name => {
                let message =
                    format!("`on_max_visits` of state `{name}` leads back to it, where it cannot go");
                self.warning("self-redirect", &["on_max_visits"], message)
            }
            Some(target) if target.max_visits > 0 => {
                let message =
                    format!("redirect chain: `{fallback}`, where `{name}` leads to, has `max_visits` itself");
                self.warning("redirect-chain", &["on_max_visits"], message)
            }
            Some(_) if self.is_trap(fallback) => {
                let message = format!(
                    "redirect trap: every way from `{fallback}` leads back to `{name}`, and from there to `{fallback}`"
                );
                let finding = self.warning("redirect-trap", &["on_max_visits"], message);
                finding.help("let a budget end it, or let it lead where nothing leads back")
            }
            Some(_) => return,
        };
        self.findings.push(finding);
    }

    /// Whether every way from a state comes by here, and none to an end without.
    fn is_trap(&self, from: &'a str) -> bool {
        let without = self.graph.reachable(from, Some(self.name));
        self.graph.reachable(from, None).contains(self.name)
            && !without.iter().any(|name| self.spec.states[*name].ends())
    }

    /// Whether its artifacts can be, and are what other states take them for.
    fn artifacts(&mut self) {
        for (artifact, declared) in &self.state.artifacts {
            if named_or_usual::<ArtifactMode>(&declared.mode).is_none() {
                let message = format!("`{}` is not a mode of artifacts", declared.mode);
                let finding = self.error("unknown-artifact-mode", &["artifacts", artifact, "mode"], message);
                self.findings.push(finding.help("write `replace` or `append`"));
            }
            if !is_media_type(&declared.media_type) {
                let message = format!("`{}` is not a media type", declared.media_type);
                let finding = self.warning("artifact-type", &["artifacts", artifact, "type"], message);
                self.findings.push(finding.help("write one like `text/plain` or `application/json`"));
            }
            if let Some(other) = self.declared.otherwise(artifact, declared, self.name) {
                let message = format!(
                    "artifact `{artifact}` has another mode or type in state `{other}`: it is one artifact, so write the same in both"
                );
                self.findings.push(self.error("artifact-conflict", &["artifacts", artifact], message));
            }
        }
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
