//! The tools that a model moves a workflow with, as the model is told of them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Compiled, CompiledState, Orchestration};

/// The name of the tool that fires an event.
pub const TRANSITION: &str = "workflow__transition";

/// The name of the tool that sets an artifact.
pub const SET_ARTIFACT: &str = "workflow__set_artifact";

/// A tool of the workflow.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WorkflowTool {
    /// Its name.
    pub name: &'static str,
    /// The namespace of its name.
    pub namespace: &'static str,
    /// What executes it.
    pub mode: &'static str,
    /// What it is for.
    pub description: String,
    /// What it takes, as JSON Schema.
    pub input_schema: Value,
}

/// The tool that fires one of these events.
pub fn transition_tool<'a>(events: impl IntoIterator<Item = &'a str>) -> WorkflowTool {
    let mut events: Vec<&str> = events.into_iter().collect();
    events.sort_unstable();
    WorkflowTool {
        name: TRANSITION,
        namespace: "workflow",
        mode: "workflow-transition",
        description:
            "Transition the workflow to its next state by firing one event. Once per turn: whatever \
                      follows is said in the next state."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "event": {"type": "string", "enum": events, "description": "The event to fire."},
                "context": {
                    "type": "string",
                    "description": "A summary for the next state: what was found out, and what is to be done."
                }
            },
            "required": ["event", "context"]
        }),
    }
}

/// The tool that sets one of the artifacts that some state declares; nothing if none does.
#[must_use]
pub fn artifact_tool(compiled: &Compiled) -> Option<WorkflowTool> {
    let names: Vec<&str> = compiled.artifacts().map(|artifact| &*artifact.name).collect();
    if names.is_empty() {
        return None;
    }
    let mut description = String::from("Set an artifact of the workflow, for later states.");
    for artifact in compiled.artifacts() {
        let colon = if artifact.description.is_empty() { "" } else { ": " };
        description +=
            &format!("\n- {} ({}){colon}{}", artifact.name, artifact.media_type, artifact.description);
    }
    Some(WorkflowTool {
        name: SET_ARTIFACT,
        namespace: "workflow",
        mode: "workflow-artifact",
        description,
        input_schema: json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": names, "description": "The artifact."},
                "value": {"type": "string", "description": "Its value, as text."}
            },
            "required": ["name", "value"]
        }),
    })
}

/// The tools of a state: everything that is to be had there, and nothing that was to be had before.
#[must_use]
pub fn tools_for(compiled: &Compiled, state: Option<&CompiledState>) -> Vec<WorkflowTool> {
    let Some(state) = state else { return Vec::new() };
    let moves = !state.is_terminal() && state.orchestration != Orchestration::External;
    let transition = moves.then(|| transition_tool(state.events().map(|event| &**event)));
    artifact_tool(compiled).into_iter().chain(transition).collect()
}

/// The event that an argument means: itself, or the only one that is the same but for case and surrounding space.
pub fn matching_event<'a>(
    events: impl IntoIterator<Item = &'a Arc<str>>,
    argument: &str,
) -> Option<&'a Arc<str>> {
    let argument = argument.trim();
    let folded = argument.to_lowercase();
    let alike: Vec<&Arc<str>> = events.into_iter().filter(|event| event.to_lowercase() == folded).collect();
    match alike.as_slice() {
        [event] => Some(event),
        several => several.iter().copied().find(|event| ***event == *argument),
    }
}

/// The name and value in the arguments of the tool that sets an artifact.
///
/// # Errors
/// What is wrong with them, for the model.
pub fn artifact_arguments(arguments: &Map<String, Value>) -> Result<(&str, &str), String> {
    let text = |key: &str| match arguments.get(key) {
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(format!("`{key}` is {other}, not a string: write the value as text")),
        None => Err(format!("`{key}` is missing")),
    };
    match text("name")? {
        "" => Err("`name` is empty: name the artifact".into()),
        name => Ok((name, text("value")?)),
    }
}

/// Returns what the model is answered when an artifact was set.
#[must_use]
pub fn artifact_reply(name: &str) -> Value {
    json!({"status": "artifact_set", "artifact": name})
}
