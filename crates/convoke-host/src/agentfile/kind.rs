//! The Agentfile as a kind of definition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use convoke_core::{Runner, Workflow};
use convoke_diagram::Diagram;
use convoke_eval::{Facts, Vocabulary};
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_goals::agentfile::load::Loader;
use convoke_goals::agentfile::model::Input;
use convoke_goals::agentfile::{self, Agentfile, Source, misspelt_tools, outline};
use convoke_goals::{Equipment, GoalState, Problem, Secrets, Values};
use serde_json::{Map, Value, json};

use crate::definition::{Definition, DefinitionKind, EquippedDefinition};
use crate::gist::last_text;
use crate::nested::OtherKinds;

/// The name under which runs keep what they were started from.
pub(crate) const NAME: &str = "agentfile";

/// The tools that come with the program, whether or not they are to be had here.
pub const BUILT_IN_TOOLS: &[&str] = &[
    "bash",
    "cp",
    "diff",
    "edit",
    "forget",
    "git",
    "glob",
    "grep",
    "head",
    "knowledge_search",
    "ls",
    "memory_list",
    "mkdir",
    "mv",
    "patch",
    "read",
    "recall",
    "remember",
    "rm",
    "scratchpad_list",
    "scratchpad_read",
    "scratchpad_search",
    "scratchpad_write",
    "spawn_agent",
    "spawn_agents",
    "tail",
    "tree",
    "use_skill",
    "web_fetch",
    "web_search",
    "write",
];

/// Agentfiles.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentfileKind;

impl DefinitionKind for AgentfileKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Agentfile"
    }

    /// Whatever is nothing else is one.
    fn recognizes(&self, _: &str, _: &[u8]) -> bool {
        true
    }

    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<Arc<dyn Definition>>, Diagnostics) {
        let (file, diagnostics) = agentfile::read_with(source, files, &OtherKinds);
        (file.map(|file| Arc::new(AgentfileDefinition(file)) as Arc<dyn Definition>), diagnostics)
    }

    fn lint(&self, source: &Source, diagnostics: &mut Diagnostics) {
        misspelt_tools(source, BUILT_IN_TOOLS, diagnostics);
    }
}

struct AgentfileDefinition(Agentfile);

impl Definition for AgentfileDefinition {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn inputs(&self) -> &[Input] {
        &self.0.inputs
    }

    fn inputs_schema(&self) -> Value {
        schema(&self.0.inputs)
    }

    fn outline(&self) -> Value {
        serde_json::to_value(outline::to_json(&self.0)).unwrap_or_default()
    }

    fn outline_text(&self) -> String {
        outline::to_text(&self.0)
    }

    fn diagram(&self) -> Option<Diagram> {
        Some(outline::to_diagram(&self.0))
    }

    fn names_model(&self) -> bool {
        self.0.overrides.model.is_some()
    }

    fn limits_cost(&self) -> bool {
        self.0.limits_cost()
    }

    fn separate_secrets(&self, values: Values) -> (Secrets, Values) {
        convoke_goals::Workflow::from(&self.0).separate_secrets(values)
    }

    fn equip(&self, equipment: &Equipment) -> Result<Box<dyn EquippedDefinition>, Vec<String>> {
        let prepared = convoke_goals::Workflow::from(&self.0)
            .prepare(equipment)
            .map_err(|invalid| invalid.problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Ok(Box::new(EquippedGoals(prepared)))
    }

    fn result(&self, state: &Value) -> Option<String> {
        last_text(&self.0, &serde_json::from_value::<GoalState>(state.clone()).ok()?)
    }

    fn cut_short(&self, state: &Value) -> BTreeMap<String, String> {
        serde_json::from_value::<GoalState>(state.clone()).map(|state| state.cut_short).unwrap_or_default()
    }

    fn agentfile(&self) -> Option<&Agentfile> {
        Some(&self.0)
    }

    /// Its agents may be called, and call others.
    fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            tools: self.0.agents.iter().map(|agent| agent.name.clone()).collect(),
            ..Vocabulary::default()
        }
    }

    fn facts(&self, state: &Value) -> Facts {
        let state: GoalState = serde_json::from_value(state.clone()).unwrap_or_default();
        let outputs = state.outputs.iter().map(|(name, value)| (name.to_owned(), value.clone()));
        Facts { outputs: outputs.collect(), ..Facts::default() }
    }
}

struct EquippedGoals(convoke_goals::PreparedWorkflow);

impl EquippedDefinition for EquippedGoals {
    fn runner(&self) -> Runner {
        let workflow: Workflow<GoalState> = self.0.workflow();
        Runner::new(&workflow)
    }

    fn warnings(&self) -> &[Problem] {
        self.0.warnings()
    }

    fn tools(&self) -> Option<BTreeSet<&str>> {
        Some(self.0.tools())
    }

    fn bind(&self, values: Values) -> Result<Vec<u8>, Vec<String>> {
        let bound = self.0.bind(values);
        let bound =
            bound.map_err(|invalid| invalid.problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        serde_json::to_vec(&bound.state).map_err(|error| vec![error.to_string()])
    }
}

/// What a workflow is given, as a JSON Schema of an object. Secrets are marked `writeOnly`.
fn schema(inputs: &[Input]) -> Value {
    let property = |input: &Input| {
        let mut schema = input.ty.schema().as_object().cloned().unwrap_or_default();
        if input.secret {
            schema.insert("writeOnly".to_owned(), true.into());
        } else if let Some(default) = &input.default {
            schema.insert("default".to_owned(), default.clone());
        }
        (input.name.clone(), Value::Object(schema))
    };
    let required = inputs.iter().filter(|input| input.default.is_none()).map(|input| &input.name);
    json!({
        "type": "object",
        "properties": inputs.iter().map(property).collect::<Map<_, _>>(),
        "required": required.collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}
