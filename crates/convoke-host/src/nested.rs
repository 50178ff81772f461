//! Files in files: definitions as goals of Agentfiles, and as tools.
//!
//! A surface does not know the others. Here what one of them names is read as what it is, and given to it as something it knows: a
//! workflow for a goal, a tool for whoever calls tools.

use std::sync::Arc;

use convoke_agent::WorkflowTool;
use convoke_core::{Digest, Error, Runner};
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_goals::agentfile::load::Loader;
use convoke_goals::agentfile::model::Input;
use convoke_goals::embedded::{
    EmbeddedResult, EmbeddedWorkflow, EquippedWorkflow, OtherWorkflow, WorkflowReader,
};
use convoke_goals::{Equipment, Values};
use serde_json::{Value, json};

use crate::definition::{Definition, DefinitionKind, EquippedDefinition};
use crate::graph::GraphKind;
use crate::pack::PackKind;

/// The kinds of files that goals of Agentfiles may be. **A further kind is a line here.**
const KINDS: &[&dyn DefinitionKind] = &[&PackKind, &GraphKind];

/// How the names of such files end.
const ENDINGS: [&str; 3] = [".json", ".yaml", ".yml"];

/// Reads files of other kinds for Agentfiles.
#[derive(Debug, Clone, Copy, Default)]
pub struct OtherKinds;

/// The kind of a file that a goal or a tool is, if it is one of those.
pub(crate) fn kind_of(path: &str, text: &str) -> Option<&'static dyn DefinitionKind> {
    let is_one = ENDINGS.iter().any(|ending| path.ends_with(ending));
    KINDS.iter().copied().find(|kind| is_one && kind.recognizes(path, text.as_bytes()))
}

impl WorkflowReader for OtherKinds {
    fn recognizes(&self, path: &str, text: &str) -> bool {
        kind_of(path, text).is_some()
    }

    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<EmbeddedWorkflow>, Diagnostics) {
        let Some(kind) = kind_of(source.name(), source.text()) else { return (None, Diagnostics::default()) };
        let (definition, diagnostics) = kind.read(source, files);
        let definition = definition.filter(|_| diagnostics.errors() == 0);
        let nested = definition.map(|definition| {
            let digest = Digest::of_json(&json!([kind.name(), source.text()]));
            EmbeddedWorkflow::new(NestedDefinition { kind: kind.title(), definition, digest })
        });
        (nested, diagnostics)
    }
}

/// A definition as a goal.
struct NestedDefinition {
    kind: &'static str,
    definition: Arc<dyn Definition>,
    digest: Digest,
}

impl OtherWorkflow for NestedDefinition {
    fn kind(&self) -> &str {
        self.kind
    }

    fn name(&self) -> &str {
        self.definition.name()
    }

    fn inputs(&self) -> &[Input] {
        self.definition.inputs()
    }

    fn task(&self) -> Option<&str> {
        self.definition.task()
    }

    fn outputs(&self) -> Vec<String> {
        self.definition.outputs()
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn equip(&self, equipment: &Equipment) -> Result<Arc<dyn EquippedWorkflow>, Vec<String>> {
        let equipped = self.definition.equip(equipment)?;
        Ok(Arc::new(EquippedNested { definition: Arc::clone(&self.definition), equipped }))
    }
}

struct EquippedNested {
    definition: Arc<dyn Definition>,
    equipped: Box<dyn EquippedDefinition>,
}

impl EquippedWorkflow for EquippedNested {
    fn runner(&self) -> Runner {
        self.equipped.part()
    }

    fn bind(&self, inputs: Values) -> Result<Value, Vec<String>> {
        let state = self.equipped.bind(inputs)?;
        serde_json::from_slice(&state).map_err(|error| vec![error.to_string()])
    }

    fn result(&self, state: &Value) -> EmbeddedResult {
        EmbeddedResult { text: self.definition.result(state), values: self.definition.values(state) }
    }
}

/// A definition as a tool: its arguments are its inputs, its answer is what the run of it came to.
///
/// # Errors
/// Why it cannot be run with this equipment, a line each.
pub(crate) fn tool_of(
    definition: &Arc<dyn Definition>,
    equipment: &Equipment,
    parameters: Option<Value>,
) -> Result<WorkflowTool, Vec<String>> {
    let equipped: Arc<dyn EquippedDefinition> = definition.equip(equipment)?.into();
    let result = Arc::clone(definition);
    let parameters = parameters.unwrap_or_else(|| definition.inputs_schema());
    Ok(WorkflowTool::new(equipped.part())
        .parameters(parameters)
        .input(move |arguments| {
            let given = arguments.as_object().into_iter().flatten();
            let values: Values = given.map(|(name, value)| (name.as_str(), value.clone())).collect();
            let state = equipped.bind(values).map_err(|problems| Error::failed(problems.join("; ")))?;
            Ok(serde_json::from_slice(&state)?)
        })
        .result(move |_, state| {
            result.result(state).ok_or_else(|| Error::failed("the workflow ended without an answer"))
        }))
}
