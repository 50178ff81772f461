//! A pack that can be run: the only thing that can.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::agent::{AGENT, AgentCard, card};
use super::composition::{Action, Step};
use super::document::{Node, parse_strictly};
use super::fragment::Fragments;
use super::model::{Pack, ToolChoice};
use super::prompt::CompiledPrompt;
use super::variables::{Violation, Wrong};
use super::{Compatibility, check};
use crate::finding::{Finding, child};
use crate::workflow::{Compiled, Known};

/// A pack that can be run.
#[derive(Debug, Clone)]
pub struct CompiledPack {
    document: Node,
    pack: Pack,
    prompts: IndexMap<String, CompiledPrompt>,
    workflow: Option<Compiled>,
    compatibility: Compatibility,
    schemas: BTreeMap<String, Value>,
}

impl CompiledPack {
    /// Puts a pack together. Whoever calls this throws it away if an error is among the findings.
    pub(super) fn new(
        document: Node,
        pack: Pack,
        compatibility: Compatibility,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let declared = pack.prompts.values().flat_map(|prompt| &prompt.variables);
        let declared: BTreeSet<String> = declared.map(|variable| variable.name.clone()).collect();
        let fragments = Arc::new(Fragments::new(&pack.fragments, declared, findings));
        let mut prompts = IndexMap::new();
        for (key, prompt) in &pack.prompts {
            let path = child("/prompts", key);
            prompts.insert(key.clone(), CompiledPrompt::new(&pack, prompt, &path, &fragments, findings));
        }
        check::check(&document, &pack, findings);
        let workflow = workflow(&pack, &prompts, findings);
        let pack = Self { document, pack, prompts, workflow, compatibility, schemas: BTreeMap::new() };
        pack.check_inputs(findings);
        pack
    }

    /// Returns what it says.
    #[must_use]
    pub fn model(&self) -> &Pack {
        &self.pack
    }

    /// All that it says, also what nobody knows, in the order in which it was written.
    #[must_use]
    pub fn document(&self) -> &Node {
        &self.document
    }

    /// Returns what the two dialects of the format say about it.
    #[must_use]
    pub fn compatibility(&self) -> &Compatibility {
        &self.compatibility
    }

    /// Its workflow, if it has one.
    #[must_use]
    pub fn workflow(&self) -> Option<&Compiled> {
        self.workflow.as_ref()
    }

    /// The files with JSON Schemas that its compositions name, each with where it is named, as a JSON pointer.
    pub fn schema_files(&self) -> impl Iterator<Item = (String, &str)> {
        self.pack.compositions.iter().flat_map(|(name, composition)| {
            let files = composition.schema_files().into_iter();
            files.map(move |(path, file)| (format!("{}{path}", child("/compositions", name)), file))
        })
    }

    /// Gives it the schema in one of those files, which it cannot be run without.
    ///
    /// # Errors
    /// If the text is not a JSON Schema, in JSON or YAML.
    pub fn add_schema(&mut self, file: &str, text: &str) -> Result<(), String> {
        let schema = parse_strictly(text)?.to_value();
        jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        self.schemas.insert(file.to_owned(), schema);
        Ok(())
    }

    /// The schemas it was given, by their files.
    #[must_use]
    pub fn schemas(&self) -> &BTreeMap<String, Value> {
        &self.schemas
    }

    /// Its prompts, by task.
    #[must_use]
    pub fn prompts(&self) -> &IndexMap<String, CompiledPrompt> {
        &self.prompts
    }

    /// The prompt of a task.
    #[must_use]
    pub fn prompt(&self, task: &str) -> Option<&CompiledPrompt> {
        self.prompts.get(task)
    }

    /// The task that a conversation begins with: that of the workflow's first state, of the first agent, or the only one. A
    /// workflow that begins with a composition begins with no prompt.
    #[must_use]
    pub fn entry(&self) -> Option<&str> {
        if let Some(workflow) = &self.pack.workflow {
            let state = workflow.states.get(&workflow.entry)?;
            return Some(state.prompt_task.as_str()).filter(|task| !task.is_empty());
        }
        if let Some(agents) = &self.pack.agents {
            return Some(&agents.entry);
        }
        let mut tasks = self.prompts.keys();
        tasks.next().filter(|_| self.prompts.len() == 1).map(String::as_str)
    }

    /// The tasks that a conversation can come to.
    #[must_use]
    pub fn tasks_in_use(&self) -> BTreeSet<&str> {
        let mut tasks: BTreeSet<&str> = self.entry().into_iter().collect();
        for state in self.pack.workflow.iter().flat_map(|workflow| workflow.states.values()) {
            tasks.extend(Some(state.prompt_task.as_str()).filter(|task| !task.is_empty()));
        }
        for composition in self.pack.compositions.values() {
            tasks.extend(composition.steps.iter().flat_map(Step::parts).filter_map(prompt_of));
        }
        tasks.extend(self.pack.agents.iter().flat_map(|agents| agents.members.keys().map(String::as_str)));
        if tasks.is_empty() {
            tasks.extend(self.prompts.keys().map(String::as_str));
        }
        tasks
    }

    /// Checks what all prompts that are used are given, as they are written for a model.
    ///
    /// # Errors
    /// Everything that is wrong, also values that no prompt has a place for.
    pub fn check_values(&self, given: &Map<String, Value>, model: &str) -> Result<(), Vec<Violation>> {
        let mut violations: Vec<Violation> = Vec::new();
        let mut names = BTreeSet::new();
        for prompt in self.tasks_in_use().iter().filter_map(|task| self.prompt(task)) {
            names.extend(prompt.variables.iter().map(|variable| variable.declaration.name.as_str()));
            names.extend(prompt.undeclared());
            for violation in prompt.violations(given, model) {
                if !violations.contains(&violation) {
                    violations.push(violation);
                }
            }
        }
        for name in given.keys().filter(|name| !names.contains(name.as_str())) {
            let meant = convoke_text::nearest(name, names.iter().copied()).map(str::to_owned);
            violations.push(Violation::new(name, Wrong::Unknown { meant }));
        }
        if violations.is_empty() { Ok(()) } else { Err(violations) }
    }

    /// Returns how its agents present themselves, by their names.
    #[must_use]
    pub fn agent_cards(&self) -> IndexMap<String, AgentCard> {
        let agents = self.pack.agents.iter().flat_map(|agents| &agents.members);
        agents.map(|(key, agent)| (key.clone(), card(self, key, agent))).collect()
    }

    /// The agents that a task's prompt may turn to: those among its tools, by their names or as `a2a__NAME`, without what is blocked.
    #[must_use]
    pub fn delegates_of(&self, task: &str) -> Vec<&str> {
        let members = self.pack.agents.iter().flat_map(|agents| agents.members.keys().map(String::as_str));
        let is_allowed = |member: &&str| {
            let qualified = format!("{AGENT}{member}");
            *member != task && !self.allowed_tools(task, [*member, qualified.as_str()]).is_empty()
        };
        members.filter(is_allowed).collect()
    }

    /// The composition of a pack that has one and nothing else that says what comes first.
    #[must_use]
    pub fn only_composition(&self) -> Option<&str> {
        let mut names = self.pack.compositions.keys().map(String::as_str);
        let is_alone = self.pack.workflow.is_none() && self.pack.agents.is_none();
        names.next().filter(|_| is_alone && names.next().is_none())
    }

    /// The tools that a task's prompt may use of those that there are, in the order of their names: what its entries name, with
    /// `*` at the end for all that begin so, without what is blocked. None if its policy says so.
    #[must_use]
    pub fn allowed_tools<'a>(
        &self,
        task: &str,
        available: impl IntoIterator<Item = &'a str>,
    ) -> Vec<&'a str> {
        let Some(prompt) = self.prompt(task).map(|prompt| &prompt.declared) else { return Vec::new() };
        let policy = prompt.tool_policy.as_ref();
        if policy.is_some_and(|policy| policy.tool_choice == ToolChoice::None) {
            return Vec::new();
        }
        let blocked = policy.map(|policy| &*policy.blocklist).unwrap_or_default();
        let names = |entries: &[String], tool: &str| entries.iter().any(|entry| means(entry, tool));
        let is_allowed = |tool: &&str| names(&prompt.tools, tool) && !names(blocked, tool);
        let tools: BTreeSet<&str> = available.into_iter().filter(is_allowed).collect();
        tools.into_iter().collect()
    }
}

/// Whether an entry of a list of tools means a tool: one that ends with `*` all that begin so.
pub(super) fn means(entry: &str, tool: &str) -> bool {
    entry.strip_suffix('*').map_or(entry == tool, |beginning| tool.starts_with(beginning))
}

fn prompt_of(step: &Step) -> Option<&str> {
    match &step.action {
        Action::Prompt { prompt_task, .. } | Action::Agent { prompt_task, .. } => Some(prompt_task),
        _ => None,
    }
}

/// The workflow, if there is one that can be run.
fn workflow(
    pack: &Pack,
    prompts: &IndexMap<String, CompiledPrompt>,
    findings: &mut Vec<Finding>,
) -> Option<Compiled> {
    let spec = pack.workflow.as_ref()?;
    let mut known = Known::anything().prompts(prompts.keys()).compositions(pack.compositions.keys());
    let members = pack.agents.iter().flat_map(|agents| agents.members.values());
    known.entries.extend(members.filter_map(|member| member.state.clone()));
    for (task, prompt) in prompts {
        known = prompt.artifacts().fold(known, |known, artifact| known.template_uses(task, artifact));
    }
    let compiled = Compiled::new(spec, &known);
    let found = match &compiled {
        Ok(compiled) => compiled.warnings(),
        Err(invalid) => &invalid.findings,
    };
    findings.extend(found.iter().cloned().map(sought));
    compiled.ok()
}

/// What was found in a workflow, with what it depends on in the rest of the pack. Nobody knows the ways through a workflow of which
/// a part cannot be read.
fn sought(finding: Finding) -> Finding {
    let state = finding.path.rsplit_once('/').map_or("", |(state, _)| state);
    match finding.code {
        "unknown-prompt" => finding.sought_in("/prompts"),
        "unknown-composition" => finding.sought_in("/compositions"),
        "unknown-entry" => finding.sought_in("/workflow/states"),
        "missing-prompt" | "missing-composition" | "unexpected-composition" => {
            let orchestration = child(state, "orchestration");
            finding.needs(orchestration)
        }
        _ if finding.is_error() => finding,
        _ => finding.needs("/workflow"),
    }
}
