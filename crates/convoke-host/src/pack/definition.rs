//! A pack that can be run.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{Runner, Tool, Toolset};
use convoke_diagram::Diagram;
use convoke_eval::{Facts, Vocabulary};
use convoke_goals::agentfile::model::{Input, Type};
use convoke_goals::{Equipment, Problem, Secrets, Values};
use convoke_history::History;
use convoke_machine::conversation::{Machine, MachineState, Way};
use convoke_machine::finding::Finding;
use convoke_machine::pack::model::Eval;
use convoke_machine::pack::{
    BAD_VALIDATOR, CompiledPack, CompiledPrompt, Violation, Wrong, outline, to_diagram,
};
use convoke_machine::stage::PackStage;
use serde_json::{Map, Value, json};

use super::beside::ToolWorkflow;
use super::skills::PackSkills;
use super::{COMPOSITION, EVERY_EVENT, MEMORY, MESSAGE, PROMPT, STATE, evaluated, way};
use crate::definition::{Definition, EquippedDefinition};
use crate::nested::tool_of;

pub(super) struct PackDefinition {
    pack: Arc<CompiledPack>,
    workflows: Vec<ToolWorkflow>,
    skills: Arc<PackSkills>,
    inputs: Vec<Input>,
    /// The inputs that are no variables of the pack, or of some of the prompts of which one is talked with.
    reserved: Vec<&'static str>,
    rules_left_out: Vec<String>,
}

impl PackDefinition {
    pub(super) fn new(
        pack: CompiledPack,
        workflows: Vec<ToolWorkflow>,
        skills: PackSkills,
        findings: &[Finding],
    ) -> Self {
        let chooses = pack.chooses_prompt();
        let inputs = pack.inputs().into_iter().map(|input| {
            let ty = match input.ty {
                "number" => Type::Number,
                "integer" => Type::Int,
                "boolean" => Type::Bool,
                "object" | "array" => Type::Json,
                _ => Type::String,
            };
            // Which of them there must be depends on the prompt.
            let default = if chooses { input.default.or(Some(Value::Null)) } else { input.default };
            Input::new(input.name, ty, default)
        });
        let mut inputs: Vec<Input> = inputs.collect();
        let own = inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>();
        let lacks = |name: &str| pack.prompts().values().any(|prompt| !uses(prompt, name));
        let is_own = |name: &str| own.iter().any(|own| own == name);
        let offered = |name: &str| if chooses && name != PROMPT { lacks(name) } else { !is_own(name) };
        let functions = !pack.model().compositions.is_empty();
        let states = pack.workflow().is_some();
        let reserved = [
            (MESSAGE, offered(MESSAGE)),
            (COMPOSITION, functions && offered(COMPOSITION)),
            (STATE, states && offered(STATE)),
            (MEMORY, offered(MEMORY)),
            (PROMPT, chooses && offered(PROMPT)),
        ];
        let reserved: Vec<&'static str> =
            reserved.into_iter().filter(|(_, is_offered)| *is_offered).map(|(name, _)| name).collect();
        let added = reserved.iter().filter(|name| !is_own(name));
        inputs.extend(added.map(|name| Input::new(*name, Type::String, Some(Value::Null))));
        let left_out = findings.iter().filter(|finding| finding.code == BAD_VALIDATOR);
        let rules_left_out = left_out
            .map(|finding| format!("a validator is left out: {} ({})", finding.message, finding.path));
        Self {
            inputs,
            reserved,
            workflows,
            skills: Arc::new(skills),
            pack: Arc::new(pack),
            rules_left_out: rules_left_out.collect(),
        }
    }
}

impl PackDefinition {
    /// What is to be had here, with the tools of the pack that are workflows.
    fn tools(&self, equipment: &Equipment) -> Result<Toolset, Vec<String>> {
        let mut tools = equipment.tools.clone();
        for ToolWorkflow { tool: name, definition } in &self.workflows {
            let Some(described) = self.pack.model().tools.get(name) else { continue };
            let tool = tool_of(definition, equipment, described.parameters.clone())?;
            // The pack says what it means by the name.
            tools.remove(name);
            let tool = tool.named(name).description(described.description.as_str());
            let tool: Arc<dyn Tool> = Arc::new(tool);
            let stand_in = equipment.stand_in.as_ref().and_then(|stand_in| stand_in(&tool));
            tools.add(stand_in.unwrap_or(tool)).map_err(|error| vec![error.to_string()])?;
        }
        Ok(tools)
    }

    /// Whether a model is told what is said first. Compositions may do without it.
    fn is_for_a_model(&self, chosen: &Map<String, Value>) -> bool {
        let is_chosen = |name: &str| chosen.get(name).is_some_and(|value| !value.is_null());
        let entered = chosen.get(STATE).and_then(Value::as_str);
        let composes = match &self.pack.model().workflow {
            Some(workflow) => {
                let state = workflow.states.get(entered.unwrap_or(&workflow.entry));
                state.is_some_and(|state| !state.composition.is_empty())
            }
            None => {
                !is_chosen(PROMPT) && self.pack.entry().is_none() && self.pack.only_composition().is_some()
            }
        };
        !composes && !is_chosen(COMPOSITION)
    }

    /// The value of an artifact: those that are JSON are values.
    fn artifact(&self, name: &str, value: &str) -> Value {
        let mut declared = self.pack.workflow().into_iter().flat_map(|workflow| workflow.artifacts());
        let is_json = declared.any(|artifact| *artifact.name == *name && artifact.is_json);
        let parsed = is_json.then(|| serde_json::from_str(value).ok()).flatten();
        parsed.unwrap_or_else(|| value.into())
    }
}

impl Definition for PackDefinition {
    fn name(&self) -> &str {
        let model = self.pack.model();
        &model.id
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn inputs_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.inputs.iter().map(|input| (input.name.clone(), input.ty.schema())).collect();
        let required = self.inputs.iter().filter(|input| input.default.is_none()).map(|input| &input.name);
        json!({
            "type": "object",
            "properties": properties,
            "required": required.collect::<Vec<_>>(),
            "additionalProperties": false,
        })
    }

    fn outline(&self) -> Value {
        let mut outline = outline::to_json(&self.pack);
        let workflow = |tool: &ToolWorkflow| (tool.tool.clone(), Value::from(tool.definition.name()));
        outline["workflows"] = self.workflows.iter().map(workflow).collect::<Map<_, _>>().into();
        outline["skills"] = self.skills.names().collect();
        outline
    }

    fn outline_text(&self) -> String {
        let mut text = outline::to_text(&self.pack);
        let tools =
            self.workflows.iter().map(|tool| format!("{}: workflow {}", tool.tool, tool.definition.name()));
        let skills = self.skills.names().map(str::to_owned);
        for (title, lines) in [("tools", tools.collect::<Vec<_>>()), ("skills", skills.collect())] {
            if !lines.is_empty() {
                text.push_str(&format!("\n{title}\n  {}\n", lines.join("\n  ")));
            }
        }
        text
    }

    fn diagram(&self) -> Option<Diagram> {
        to_diagram(&self.pack, None)
    }

    fn diagram_of(&self, history: &History) -> Option<Diagram> {
        let mut diagram = to_diagram(&self.pack, self.way(history).as_ref())?;
        history.mark(&mut diagram);
        Some(diagram)
    }

    fn way(&self, history: &History) -> Option<Way> {
        way::taken(self.pack.workflow()?, history)
    }

    fn names_model(&self) -> bool {
        false
    }

    fn separate_secrets(&self, values: Values) -> (Secrets, Values) {
        (Secrets::default(), values)
    }

    fn equip(&self, equipment: &Equipment) -> Result<Box<dyn EquippedDefinition>, Vec<String>> {
        let tools = self.tools(equipment)?;
        let stage = PackStage::new(Arc::clone(&self.pack), tools, equipment.model.clone());
        let stage = stage.with_skills(Arc::clone(&self.skills) as _);
        let first = self.pack.model().prompts.keys().next().filter(|_| self.reserved.contains(&PROMPT));
        let machine = match first {
            // Which one it is in truth is said when the run begins.
            Some(first) => stage.clone().talking(first),
            None => stage.clone().machine(),
        };
        let mut machine = machine.map_err(|error| vec![error.to_string()])?;
        if let Some(memories) = &equipment.memories {
            machine = machine.remembering(Arc::clone(memories));
        }
        Ok(Box::new(EquippedPack {
            pack: Arc::clone(&self.pack),
            machine,
            stage,
            reserved: self.reserved.clone(),
        }))
    }

    fn is_conversation(&self) -> bool {
        true
    }

    fn task(&self) -> Option<&str> {
        self.reserved.iter().copied().find(|name| *name == MESSAGE)
    }

    fn outputs(&self) -> Vec<String> {
        let artifacts = self.pack.workflow().into_iter().flat_map(|workflow| workflow.artifacts());
        artifacts.map(|artifact| artifact.name.to_string()).collect()
    }

    fn values(&self, state: &Value) -> Values {
        let state = serde_json::from_value::<MachineState>(state.clone()).unwrap_or_default();
        let filled = state.context.iter().flat_map(|context| context.artifacts());
        filled.map(|(name, value)| (name, self.artifact(name, value))).collect()
    }

    fn misfits(&self, values: &Values) -> Vec<String> {
        let mut given: Map<String, Value> =
            values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let reserved = reserved_with(&self.pack, &self.reserved, values.get(PROMPT).and_then(Value::as_str));
        let chosen = reserved.iter().filter_map(|name| Some((*name, given.remove(*name)?)));
        let chosen: Map<String, Value> = chosen.map(|(name, value)| (name.to_owned(), value)).collect();
        let violations = violations(&self.pack, &given, chosen.get(PROMPT).and_then(Value::as_str), "");
        // What is not given, or of another name, is told by whoever knows the inputs; what is empty or of another JSON type is not.
        let is_own = |violation: &Violation| {
            let is_given = given.contains_key(&violation.variable);
            violation.is_about_value() || is_given && !matches!(violation.wrong, Wrong::Unknown { .. })
        };
        let own = violations.into_iter().filter(is_own);
        let is_silent = |words: &&str| words.trim().is_empty() && self.is_for_a_model(&chosen);
        let silent = chosen.get(MESSAGE).and_then(Value::as_str).filter(is_silent);
        let silent = silent.map(|_| format!("`{MESSAGE}` says nothing: leave it out to be asked for it"));
        own.map(|violation| violation.to_string()).chain(silent).collect()
    }

    fn rules_left_out(&self) -> &[String] {
        &self.rules_left_out
    }

    fn result(&self, state: &Value) -> Option<String> {
        serde_json::from_value::<MachineState>(state.clone()).ok()?.last
    }

    fn cut_short(&self, state: &Value) -> BTreeMap<String, String> {
        let state = serde_json::from_value::<MachineState>(state.clone()).unwrap_or_default();
        let why = evaluated::exhausted(&self.pack, &state).map(|why| (self.name().to_owned(), why));
        state.cut_short.into_iter().chain(why).collect()
    }

    fn vocabulary(&self) -> Vocabulary {
        let skills = self.skills.names().map(str::to_owned);
        Vocabulary { skills: Some(skills.collect()), ..evaluated::vocabulary(&self.pack) }
    }

    fn hearing(&self, events: &[&str], values: &mut Values) {
        if evaluated::vocabulary(&self.pack).model_events.iter().any(|own| events.contains(&&**own)) {
            values.set(EVERY_EVENT, true);
        }
    }

    fn beginning_with(&self, task: &str) -> Result<Map<String, Value>, String> {
        if self.reserved.contains(&PROMPT) && self.pack.prompt(task).is_some() {
            return Ok(Map::from_iter([(PROMPT.to_owned(), Value::from(task))]));
        }
        evaluated::beginning_with(&self.pack, task, self.reserved.contains(&STATE))
    }

    fn facts(&self, state: &Value) -> Facts {
        evaluated::facts(state)
    }

    fn step_evals(&self, step: &str) -> Vec<Eval> {
        evaluated::step_evals(&self.pack, step)
    }

    fn evals(&self, state: &str) -> Vec<Eval> {
        evaluated::evals(&self.pack, state)
    }
}

struct EquippedPack {
    pack: Arc<CompiledPack>,
    machine: Machine,
    stage: PackStage,
    reserved: Vec<&'static str>,
}

impl EquippedDefinition for EquippedPack {
    fn runner(&self) -> Runner {
        Runner::new(&self.machine.clone().workflow())
    }

    fn undivided(&self) -> Runner {
        Runner::new(&self.machine.clone().undivided())
    }

    fn part(&self) -> Runner {
        Runner::new(&self.machine.clone().part())
    }

    fn warnings(&self) -> &[Problem] {
        &[]
    }

    fn bind(&self, values: Values) -> Result<Vec<u8>, Vec<String>> {
        let mut variables: Map<String, Value> =
            values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let chosen = values.get(PROMPT).and_then(Value::as_str);
        let reserved = reserved_with(&self.pack, &self.reserved, chosen);
        let mut taken = |name: &str| {
            let given = if reserved.contains(&name) { variables.remove(name) } else { None };
            given.and_then(|given| given.as_str().map(str::to_owned))
        };
        let (opening, function) = (taken(MESSAGE), taken(COMPOSITION));
        let (entry, memory) = (taken(STATE), taken(MEMORY));
        let prompt = taken(PROMPT);
        let hears_every_event = variables.remove(EVERY_EVENT).is_some();
        if let Some(name) = &function {
            self.stage.check_function(name).map_err(|error| vec![error.to_string()])?;
        }
        if self.reserved.contains(&PROMPT) {
            // Nobody gave it: which variables there must be depends on the prompt.
            variables.retain(|_, value| !value.is_null());
        }
        match &prompt {
            Some(task) => {
                self.stage.clone().talking(task).map_err(|error| vec![error.to_string()])?;
            }
            None if self.reserved.contains(&PROMPT) && function.is_none() => {
                let known = self.pack.model().prompts.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(vec![format!(
                    "give the prompt that is talked with, `-i {PROMPT}=NAME`: {known}"
                )]);
            }
            None => {}
        }
        let wrong = violations(&self.pack, &variables, prompt.as_deref(), self.stage.model_name());
        if !wrong.is_empty() {
            return Err(wrong.iter().map(ToString::to_string).collect());
        }
        if let Some(entry) = &entry {
            evaluated::check_state(&self.pack, entry).map_err(|error| vec![error])?;
        }
        let mut state = MachineState::default();
        state.variables = variables;
        (state.opening, state.function) = (opening, function);
        (state.entry, state.memory, state.prompt) = (entry, memory, prompt);
        state.hears_every_event = hears_every_event;
        serde_json::to_vec(&state).map_err(|error| vec![error.to_string()])
    }
}

/// Whether a prompt has a variable of this name.
fn uses(prompt: &CompiledPrompt, name: &str) -> bool {
    prompt.variables.iter().any(|variable| variable.declaration.name == name)
        || prompt.undeclared().contains(&name)
}

/// Those of these inputs that are no variables of the prompt that is talked with, if one was chosen, or else of any.
fn reserved_with(pack: &CompiledPack, reserved: &[&'static str], prompt: Option<&str>) -> Vec<&'static str> {
    let chosen = prompt.filter(|_| reserved.contains(&PROMPT));
    let talks = |task: &String| chosen.is_none_or(|chosen| chosen == task);
    let prompts = || pack.prompts().iter().filter(|(task, _)| talks(task));
    let is_own = |name: &str| prompts().any(|(_, prompt)| uses(prompt, name));
    reserved.iter().copied().filter(|name| !is_own(name)).collect()
}

/// What is wrong with variables: with those of the prompt that is talked with, or with those of all prompts that are used.
fn violations(
    pack: &CompiledPack,
    variables: &Map<String, Value>,
    prompt: Option<&str>,
    model: &str,
) -> Vec<Violation> {
    match prompt.map(|task| pack.prompt(task)) {
        Some(prompt) => prompt.map(|prompt| prompt.violations(variables, model)).unwrap_or_default(),
        None => pack.check_values(variables, model).err().unwrap_or_default(),
    }
}
