//! PromptPacks, as the host sees them.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use convoke_core::{Runner, Workflow};
use convoke_goals::agentfile::diagnostic::{Code, Diagnostic, Diagnostics};
use convoke_goals::agentfile::load::{Loader, PathContent};
use convoke_goals::agentfile::model::{Input, Type};
use convoke_goals::agentfile::{Source, Span};
use convoke_goals::{Equipment, Problem, Secrets, Values};
use convoke_machine::conversation::MachineState;
use convoke_machine::finding::Finding;
use convoke_machine::pack::{self, CompiledPack, looks_like_a_pack, outline};
use convoke_machine::stage::PackStage;
use convoke_text::diagnostic::within;
use serde_json::{Map, Value, json};

use crate::HostError;
use crate::agentfile::{beside, bytes_of};
use crate::definition::{Definition, DefinitionKind, EquippedDefinition};

/// What the person says first, unless a pack has a variable of that name.
pub(crate) const MESSAGE: &str = "message";

/// The composition that is run as a function instead of the workflow, unless a pack has a variable of that name.
pub(crate) const COMPOSITION: &str = "composition";

/// The name under which runs keep what they were started from.
pub(crate) const NAME: &str = "pack";

/// PromptPacks, in JSON or YAML.
#[derive(Debug, Clone, Copy, Default)]
pub struct PackKind;

impl DefinitionKind for PackKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "pack"
    }

    fn recognizes(&self, name: &str, bytes: &[u8]) -> bool {
        [".pack.json", ".pack.yaml", ".pack.yml"].iter().any(|ending| name.ends_with(ending))
            || std::str::from_utf8(bytes).is_ok_and(looks_like_a_pack)
    }

    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<Arc<dyn Definition>>, Diagnostics) {
        let (pack, mut findings) = pack::read(source.text());
        let pack = pack.and_then(|pack| with_schemas(pack, files, &mut findings));
        let mut diagnostics = Diagnostics::default();
        for finding in &findings {
            diagnostics.add(finding.severity, || diagnostic(source, finding));
        }
        diagnostics.sort();
        let definition = pack.map(|pack| Arc::new(PackDefinition::new(pack)) as Arc<dyn Definition>);
        (definition, diagnostics)
    }
}

/// A pack with the JSON Schemas that its compositions name; nothing if one is missing or none.
fn with_schemas(
    mut pack: CompiledPack,
    files: &dyn Loader,
    findings: &mut Vec<Finding>,
) -> Option<CompiledPack> {
    let known = findings.len();
    let named: Vec<(String, String)> =
        pack.schema_files().map(|(path, file)| (path, file.to_owned())).collect();
    for (path, file) in named {
        let added = match files.find(&file) {
            Ok(PathContent::Text(text)) => pack.add_schema(&file, &text),
            Ok(_) => Err("there is no such file".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = added {
            let message = format!("`{file}` is not a JSON Schema: {why}");
            let mut finding = Finding::error("bad-schema", &path, message);
            finding.place = Some(pack.document().place_of(&path));
            findings.push(finding);
        }
    }
    (findings.len() == known).then_some(pack)
}

pub(crate) fn diagnostic(source: &Source, finding: &Finding) -> Diagnostic {
    let Range { start, end } = within(finding.place.clone().unwrap_or_default(), source.text());
    let code = Code::Other(finding.code, finding.severity);
    let diagnostic = Diagnostic::new(code, Span::new(start, end), &finding.message).path(&finding.path);
    match &finding.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// A pack that was made of the files it is authored in.
#[non_exhaustive]
pub struct CompiledFile {
    /// The pack, as JSON.
    pub source: Source,
    /// What is wrong with it.
    pub diagnostics: Diagnostics,
}

/// Makes a pack of a file and those it names. Its id is the name of the file's folder.
///
/// # Errors
/// If the file cannot be read, or it and those it names make no pack: a line each.
pub fn compile_pack(path: &Path) -> Result<CompiledFile, HostError> {
    let (name, bytes) = bytes_of(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let files = beside(path, &[], convoke_package::TrustStore::default());
    let open = |file: &str| match files.find(file) {
        Ok(PathContent::Text(text)) => Ok(text),
        Ok(_) => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let imported = pack::import(&id_of(path), &name, &text, &open).map_err(|errors| {
        HostError::NotCompiled { problems: errors.iter().map(ToString::to_string).collect() }
    })?;
    let text = serde_json::to_string_pretty(&imported).map_err(HostError::Unwritable)? + "\n";
    let source = Source::new(format!("{name}, compiled"), text);
    let (_, diagnostics) = PackKind.read(&source, &*files);
    Ok(CompiledFile { source, diagnostics })
}

/// The name of the folder that a file is in, as an id.
fn id_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let id: String = folder
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .collect();
    let id = id.trim_start_matches(|first: char| !first.is_ascii_lowercase());
    if id.is_empty() { "pack".to_owned() } else { id.to_owned() }
}

struct PackDefinition {
    pack: Arc<CompiledPack>,
    inputs: Vec<Input>,
    /// The inputs that are no variables of the pack.
    reserved: Vec<&'static str>,
}

impl PackDefinition {
    fn new(pack: CompiledPack) -> Self {
        let inputs = outline::inputs(&pack).into_iter().map(|input| {
            let ty = match input["type"].as_str() {
                Some("number") => Type::Number,
                Some("integer") => Type::Int,
                Some("boolean") => Type::Bool,
                Some("object" | "array") => Type::Json,
                _ => Type::String,
            };
            Input::new(input["name"].as_str().unwrap_or_default(), ty, input.get("default").cloned())
        });
        let mut inputs: Vec<Input> = inputs.collect();
        let own = inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>();
        let offered = |name: &str| !own.iter().any(|own| own == name);
        let functions = !pack.model().compositions.is_empty();
        let reserved = [(MESSAGE, offered(MESSAGE)), (COMPOSITION, functions && offered(COMPOSITION))];
        let reserved: Vec<&'static str> =
            reserved.into_iter().filter(|(_, is_offered)| *is_offered).map(|(name, _)| name).collect();
        inputs.extend(reserved.iter().map(|name| Input::new(*name, Type::String, Some(Value::Null))));
        Self { inputs, reserved, pack: Arc::new(pack) }
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
        outline::to_json(&self.pack)
    }

    fn outline_text(&self) -> String {
        outline::to_text(&self.pack)
    }

    fn outline_mermaid(&self) -> Option<String> {
        outline::to_mermaid(&self.pack)
    }

    fn names_model(&self) -> bool {
        false
    }

    fn separate_secrets(&self, values: Values) -> (Secrets, Values) {
        (Secrets::default(), values)
    }

    fn equip(&self, equipment: &Equipment) -> Result<Box<dyn EquippedDefinition>, Vec<String>> {
        let stage = PackStage::new(Arc::clone(&self.pack), equipment.tools.clone(), equipment.model.clone());
        let machine = stage.clone().machine().map_err(|error| vec![error.to_string()])?;
        Ok(Box::new(EquippedPack {
            pack: Arc::clone(&self.pack),
            workflow: machine.workflow(),
            stage,
            reserved: self.reserved.clone(),
        }))
    }

    fn result(&self, state: &Value) -> Option<String> {
        serde_json::from_value::<MachineState>(state.clone()).ok()?.last
    }
}

struct EquippedPack {
    pack: Arc<CompiledPack>,
    workflow: Workflow<MachineState>,
    stage: PackStage,
    reserved: Vec<&'static str>,
}

impl EquippedDefinition for EquippedPack {
    fn runner(&self) -> Runner {
        Runner::new(&self.workflow)
    }

    fn warnings(&self) -> &[Problem] {
        &[]
    }

    fn bind(&self, values: Values) -> Result<Vec<u8>, Vec<String>> {
        let mut variables: Map<String, Value> =
            values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let mut taken = |name: &str| {
            let given = if self.reserved.contains(&name) { variables.remove(name) } else { None };
            given.and_then(|given| given.as_str().map(str::to_owned))
        };
        let (opening, function) = (taken(MESSAGE), taken(COMPOSITION));
        if let Some(name) = &function {
            self.stage.check_function(name).map_err(|error| vec![error.to_string()])?;
        }
        self.pack
            .check_values(&variables)
            .map_err(|violations| violations.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let mut state = MachineState::default();
        state.variables = variables;
        (state.opening, state.function) = (opening, function);
        serde_json::to_vec(&state).map_err(|error| vec![error.to_string()])
    }
}
