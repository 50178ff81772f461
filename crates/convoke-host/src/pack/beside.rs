//! Files that a pack names: JSON Schemas, workflows that its tools are, folders of skills.

use std::sync::Arc;

use convoke_goals::agentfile::load::{Loader, PathContent};
use convoke_machine::finding::{Finding, child};
use convoke_machine::pack::CompiledPack;
use convoke_text::nearest;

use crate::definition::Definition;
use crate::nested::read_part;

/// Where a pack says which of its tools are workflows: a place that the format leaves to whoever runs it.
const WORKFLOWS: &str = "/metadata/convoke/workflows";

/// A tool of a pack that is a workflow in a file.
#[derive(Clone)]
pub(super) struct ToolWorkflow {
    pub(super) tool: String,
    pub(super) definition: Arc<dyn Definition>,
}

/// Gives a pack the JSON Schemas that its compositions name.
pub(super) fn add_schemas(pack: &mut CompiledPack, files: &dyn Loader, findings: &mut Vec<Finding>) {
    let named: Vec<(String, String)> =
        pack.schema_files().map(|(path, file)| (path, file.to_owned())).collect();
    for (path, file) in named {
        if let Err(why) = text_of(files, &file).and_then(|text| pack.add_schema(&file, &text)) {
            findings.push(Finding::error(
                "bad-schema",
                path,
                format!("`{file}` is not a JSON Schema: {why}"),
            ));
        }
    }
}

/// The text of a file.
fn text_of(files: &dyn Loader, file: &str) -> Result<String, String> {
    match files.find(file) {
        Ok(PathContent::Text(text)) => Ok(text),
        Ok(_) => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The workflows that tools of a pack are.
pub(super) fn workflows(
    pack: &CompiledPack,
    files: &dyn Loader,
    findings: &mut Vec<Finding>,
) -> Vec<ToolWorkflow> {
    let own = pack.document().get("metadata").and_then(|metadata| metadata.get("convoke"));
    let named = own.and_then(|own| own.get("workflows")).map(|named| named.entries()).unwrap_or_default();
    let mut workflows = Vec::new();
    for entry in named {
        let path = child(WORKFLOWS, &entry.name);
        let tools = &pack.model().tools;
        if !tools.contains_key(&entry.name) {
            let message = format!("the pack has no tool `{}` that could be a workflow", entry.name);
            let finding = Finding::error("unknown-tool", path, message).sought_in("/tools");
            findings.push(match nearest(&entry.name, tools.keys().map(String::as_str)) {
                Some(meant) => finding.help(format!("did you mean `{meant}`?")),
                None => finding.help("describe it in `tools`"),
            });
            continue;
        }
        let Some(file) = entry.node.text() else {
            findings.push(Finding::error("bad-workflow", path, "this is not the path of a file"));
            continue;
        };
        match read_part(files, file, file) {
            Ok(definition) => {
                findings.extend(unfit(pack, &entry.name, file, &*definition, &path));
                workflows.push(ToolWorkflow { tool: entry.name.clone(), definition });
            }
            Err(why) => findings.push(why.finding(path, &format!("`{file}` cannot be a tool of this pack"))),
        }
    }
    workflows
}

/// What a tool's arguments do not have and its workflow needs.
fn unfit(
    pack: &CompiledPack,
    tool: &str,
    file: &str,
    definition: &dyn Definition,
    path: &str,
) -> Option<Finding> {
    let parameters = pack.model().tools.get(tool)?.parameters.as_ref()?;
    let is_given = |name: &str| parameters["properties"].get(name).is_some();
    let needed = definition.inputs().iter().filter(|input| input.default.is_none());
    let missing: Vec<&str> = needed.map(|input| input.name.as_str()).filter(|name| !is_given(name)).collect();
    let message = format!("`{file}` needs `{}`, which the tool has no parameter for", missing.join("`, `"));
    (!missing.is_empty()).then(|| {
        Finding::error("workflow-inputs", path, message)
            .help("add it to `parameters` of the tool, or leave `parameters` out: then they are the inputs of the file")
    })
}
