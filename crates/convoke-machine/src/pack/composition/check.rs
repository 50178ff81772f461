//! Validation of a composition.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::order::{said, stuck, texts, waits};
use super::{Action, Composition, Predicate, Step, references};
use crate::finding::{Finding, child};
use crate::pack::check::is_elsewhere;
use crate::workflow::{SET_ARTIFACT, TRANSITION};

/// What else a pack has that its compositions may name.
pub(in crate::pack) struct Surroundings<'a> {
    pub(in crate::pack) prompts: Names<'a>,
    pub(in crate::pack) tools: BTreeSet<&'a str>,
    pub(in crate::pack) evals: Names<'a>,
    /// The events of the states that run a composition, by its name.
    pub(in crate::pack) events: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

/// Names that something can be referred to by.
pub(in crate::pack) struct Names<'a> {
    /// What messages call it.
    what: &'static str,
    /// The code of what is found where a name is none of them.
    code: &'static str,
    names: BTreeSet<&'a str>,
    /// Where they stand, as JSON pointers.
    places: Vec<String>,
}

impl<'a> Names<'a> {
    pub(in crate::pack) fn new(
        what: &'static str,
        names: impl IntoIterator<Item = &'a str>,
        places: impl IntoIterator<Item = String>,
    ) -> Self {
        let (names, places) = (names.into_iter().collect(), places.into_iter().collect());
        Self { what, code: "unknown-name", names, places }
    }

    pub(in crate::pack) fn coded(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    pub(in crate::pack) fn unknown(&self, name: &str, path: &str) -> Option<Finding> {
        // What is close is looked for where something is wrong only: that takes as long as there are names.
        (!self.names.contains(name)).then(|| {
            let message = format!("there is no {} `{name}`", self.what);
            let finding = Finding::error(self.code, path, message);
            let finding = finding.suggest_or_list(name, self.names.iter().copied());
            self.places.iter().fold(finding, Finding::sought_in)
        })
    }
}

/// Finds what is wrong with a composition.
pub(in crate::pack) fn check(
    name: &str,
    composition: &Composition,
    around: &Surroundings<'_>,
    findings: &mut Vec<Finding>,
) {
    let path = child("/compositions", name);
    if composition.version != 1 {
        let message = format!("compositions of version {} are not known", composition.version);
        findings.push(Finding::error("unknown-version", child(&path, "version"), message).help("write 1"));
    }
    if [TRANSITION, SET_ARTIFACT].contains(&name) {
        let message = format!("`{name}` is the name of a tool of the workflow");
        findings.push(Finding::error("taken-name", &path, message).help("give the composition another name"));
    }
    let place = child(&path, "steps");
    let top = Names::new("step", composition.steps.iter().map(|step| step.id.as_str()), [place.clone()]);
    let mut check = Check { around, top, seen: BTreeSet::new(), findings };
    for (index, step) in composition.steps.iter().enumerate() {
        check.step(step, &child(&place, index), Level::Top);
    }
    check.engine(name, composition, &child(&path, "engine"));
    check.gaps(composition, &place);
    check.circle(stuck(&composition.steps, &waits(&composition.steps)), &place);
    if let Some(output) = &composition.output {
        let output_path = child(&path, "output");
        check.findings.extend(check.top.unknown(output, &output_path));
        let is_branch = composition
            .steps
            .iter()
            .any(|step| step.id == *output && matches!(step.action, Action::Branch { .. }));
        if is_branch {
            let message = format!("`{output}` is a branch, which gives nothing");
            check.findings.push(Finding::error("no-output", output_path, message));
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Top,
    Nested,
}

struct Check<'a, 'f> {
    around: &'a Surroundings<'a>,
    /// The steps that can be referred to.
    top: Names<'a>,
    seen: BTreeSet<&'a str>,
    findings: &'f mut Vec<Finding>,
}

impl<'a> Check<'a, '_> {
    fn step(&mut self, step: &'a Step, path: &str, level: Level) {
        if !self.seen.insert(&step.id) {
            let message = format!("there is another step `{}`", step.id);
            self.findings.push(Finding::error("duplicate-name", child(path, "id"), message));
        }
        if step.id == "input" {
            let message = "`input` is what the composition is given, so no step can be called that";
            self.findings.push(Finding::error("taken-name", child(path, "id"), message));
        }
        for (index, eval) in step.modifiers.eval.iter().enumerate() {
            let place = format!("{path}/modifiers/eval/{index}");
            self.findings.extend(self.around.evals.unknown(eval, &place));
        }
        if level == Level::Top {
            for (index, before) in step.depends_on.iter().flatten().enumerate() {
                self.findings.extend(self.top.unknown(before, &format!("{path}/depends_on/{index}")));
            }
        }
        self.action(step, path, level);
    }

    fn action(&mut self, step: &'a Step, path: &str, level: Level) {
        match &step.action {
            Action::Prompt { prompt_task, input, .. } | Action::Agent { prompt_task, input, .. } => {
                self.findings.extend(self.around.prompts.unknown(prompt_task, &child(path, "prompt_task")));
                input.iter().for_each(|input| self.references(input, &child(path, "input")));
                let tools =
                    if let Action::Agent { tools, .. } = &step.action { tools.as_deref() } else { None };
                for (index, tool) in tools.into_iter().flatten().enumerate() {
                    self.tool(tool, &format!("{path}/tools/{index}"));
                }
            }
            Action::Tool { tool, args } => {
                self.tool(tool, &child(path, "tool"));
                for (name, value) in args {
                    self.references(value, &child(&child(path, "args"), name));
                }
            }
            Action::Branch { .. } | Action::Parallel { .. } if level == Level::Nested => {
                let message = format!("a {} cannot be in a parallel step", step.action.kind());
                let finding = Finding::error("nested-step", path, message);
                self.findings.push(finding.help("make it a step of its own"));
            }
            Action::Branch { predicate, then, otherwise } => {
                self.predicate(predicate, &child(path, "predicate"));
                self.findings.extend(self.top.unknown(then, &child(path, "then")));
                let unknown = |target| self.top.unknown(target, &child(path, "else"));
                self.findings.extend(otherwise.as_deref().and_then(unknown));
            }
            Action::Parallel { branches, .. } => {
                let place = child(path, "branches");
                for (index, branch) in branches.iter().enumerate() {
                    self.step(branch, &child(&place, index), Level::Nested);
                    let ids = branches.iter().map(|branch| branch.id.as_str());
                    let known = Names::new("branch beside it", ids, [place.clone()]);
                    for (number, before) in branch.depends_on.iter().flatten().enumerate() {
                        let place = format!("{place}/{index}/depends_on/{number}");
                        self.findings.extend(known.unknown(before, &place));
                    }
                }
                self.circle(stuck(branches, &said(branches)), &place);
            }
        }
    }

    /// A tool of a server is known where that is; any other has to be declared, also one of this host.
    fn tool(&mut self, name: &str, path: &str) {
        let known = &self.around.tools;
        if !known.contains(name) && !is_elsewhere(name) {
            let finding = Finding::error("unknown-name", path, format!("there is no tool `{name}`"))
                .help(format!(
                    "declare it in `tools` of the pack: if this host has a `{name}`, that is called"
                ))
                .suggest(name, known.iter().copied());
            self.findings.push(finding.sought_in("/tools"));
        }
    }

    fn predicate(&mut self, predicate: &Value, path: &str) {
        match Predicate::parse(predicate) {
            Ok(_) => self.references(predicate, path),
            Err(errors) => self.findings.extend(errors.into_iter().map(|error| error.within(path))),
        }
    }

    fn references(&mut self, value: &Value, path: &str) {
        let mut found = Vec::new();
        texts(value, &mut |text| found.extend(references(text)));
        for reference in found {
            match reference {
                Err(error) => self.findings.push(Finding::error("bad-reference", path, error.to_string())),
                Ok(reference) if reference.root() == "input" => {}
                Ok(reference) => {
                    self.findings.extend(self.top.unknown(reference.root(), path));
                    if !reference.continues_with("output") {
                        let message = format!("`${{{reference}}}` refers to nothing that a step gives");
                        let finding = Finding::error("bad-reference", path, message);
                        self.findings.push(finding.help(format!("write `${{{}.output}}`", reference.root())));
                    }
                }
            }
        }
    }

    fn engine(&mut self, name: &str, composition: &Composition, path: &str) {
        let events = self.around.events.get(name).into_iter().flatten().copied();
        let known = Names::new("state that runs this and has the event", events, []);
        for (index, rule) in composition.engine.on_output.iter().enumerate() {
            let place = format!("{path}/on_output/{index}");
            rule.predicate
                .iter()
                .for_each(|predicate| self.predicate(predicate, &child(&place, "predicate")));
            let unknown = known.unknown(&rule.event, &child(&place, "event"));
            self.findings.extend(unknown.map(|finding| finding.needs("/workflow")));
        }
    }

    fn circle(&mut self, steps: Vec<&str>, path: &str) {
        if !steps.is_empty() {
            let message =
                format!("these steps wait for each other, so none is ever run: {}", steps.join(", "));
            self.findings.push(Finding::error("cycle", path, message).sought_in(path));
        }
    }

    /// A step right after a branch or a parallel one that does not say what it waits for may not be what was meant.
    fn gaps(&mut self, composition: &Composition, path: &str) {
        for (index, pair) in composition.steps.windows(2).enumerate() {
            let forks = matches!(pair[0].action, Action::Branch { .. } | Action::Parallel { .. });
            if forks && pair[1].depends_on.is_none() {
                let message = format!(
                    "`{}` follows the {} `{}` and does not say what it waits for",
                    pair[1].id,
                    pair[0].action.kind(),
                    pair[0].id
                );
                let finding = Finding::warning("implicit-order", child(path, index + 1), message);
                let waits = child(&child(path, index + 1), "depends_on");
                self.findings.push(finding.help("write \"depends_on\"").needs(waits));
            }
        }
    }
}
