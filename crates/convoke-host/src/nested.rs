//! Files in files: definitions as goals of Agentfiles, and as tools.
//!
//! A surface does not know the others. Here what one of them names is read as what it is, and given to it as something it knows: a
//! workflow for a goal, a tool for whoever calls tools.

use std::sync::Arc;

use convoke_agent::WorkflowTool;
use convoke_core::{Digest, Error, Runner};
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::{Code, Diagnostics};
use convoke_goals::agentfile::load::{BesideLoader, Loader, NestingError, PathContent};
use convoke_goals::agentfile::model::Input;
use convoke_goals::embedded::{
    EmbeddedResult, EmbeddedWorkflow, EquippedWorkflow, OtherWorkflow, WorkflowReader,
};
use convoke_goals::{Equipment, Values};
use convoke_text::diagnostic::Severity;
use convoke_text::finding::Finding;
use serde_json::{Value, json};

use crate::agentfile::AgentfileKind;
use crate::definition::{Definition, DefinitionKind, EquippedDefinition, counted};
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

/// The code of files that are too many in each other.
const TOO_DEEP: &str = "too-deep";

/// Why a file cannot run as a part of the one that names it.
pub(crate) enum Unfit {
    /// Files lead back to each other: which.
    Circle(String),
    /// Too many stand in each other.
    TooDeep(String),
    /// Anything else.
    Bad(String),
}

impl From<NestingError> for Unfit {
    fn from(error: NestingError) -> Self {
        match error {
            NestingError::Circle { .. } => Self::Circle(error.to_string()),
            _ => Self::TooDeep(error.to_string()),
        }
    }
}

impl Unfit {
    /// What is wrong with the file that names the other one; `what` begins what is said of anything but a circle.
    pub(crate) fn finding(self, path: String, what: &str) -> Finding {
        match self {
            Self::Circle(circle) => Finding::error(Code::Circular.name(), path, circle)
                .help("let one of them do its work without the next"),
            Self::TooDeep(why) => {
                Finding::error(TOO_DEEP, path, why).help("let one file do the work of several")
            }
            Self::Bad(why) => Finding::error("bad-workflow", path, format!("{what}: {why}")),
        }
    }
}

/// Reads a file that runs as a part of the one that names it: an Agentfile, also one in a package, or one of the other kinds. What it
/// names itself is beside `place`.
pub(crate) fn read_part(files: &dyn Loader, file: &str, place: &str) -> Result<Arc<dyn Definition>, Unfit> {
    let (mut file, mut place) = (file.to_owned(), place.to_owned());
    let mut found = files.find(&file);
    if found == Ok(PathContent::Folder) {
        (file, place) = (format!("{file}/Agentfile"), format!("{place}/Agentfile"));
        found = files.find(&file);
    }
    let text = match found {
        Ok(PathContent::Text(text)) => text,
        Ok(_) => return Err(Unfit::Bad("there is no such file".to_owned())),
        Err(error) => return Err(Unfit::Bad(error.to_string())),
    };
    let inner = BesideLoader::new(files, &place)?;
    let kind = KINDS.iter().copied().find(|kind| kind.recognizes(&file, text.as_bytes()));
    let (definition, diagnostics) = kind.unwrap_or(&AgentfileKind).read(&Source::new(&*file, text), &inner);
    definition.filter(|_| diagnostics.errors() == 0).ok_or_else(|| unfit(&file, &diagnostics))
}

fn unfit(file: &str, diagnostics: &Diagnostics) -> Unfit {
    let said = |message: &str, notes: &[String]| {
        std::iter::once(message).chain(notes.iter().map(String::as_str)).collect::<Vec<_>>().join("; ")
    };
    // What is about several files is said where one looks first, as each of them would only send one on to the next.
    let of_several = |code: &str, unfit: fn(String) -> Unfit| {
        let found = diagnostics.iter().find(|found| found.code.name() == code)?;
        Some(unfit(said(&found.message, &found.notes)))
    };
    let found = of_several(Code::Circular.name(), Unfit::Circle);
    if let Some(found) = found.or_else(|| of_several(TOO_DEEP, Unfit::TooDeep)) {
        return found;
    }
    let first = diagnostics.iter().find(|found| found.code.severity() == Severity::Error);
    let first = first.map(|first| format!(": {}", said(&first.message, &first.notes))).unwrap_or_default();
    let count = counted(diagnostics.errors(), 0);
    Unfit::Bad(format!("it has {count}{first}; `convoke validate {file}` shows all of it"))
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
