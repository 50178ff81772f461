//! Instructions for the model about tools and about the shape of its answer.

use convoke_core::{OutputSchema, ToolDefinition};
use serde_json::{Value, json};

use super::python_json;
use crate::reply::{CLOSE, OPEN};

/// Tools as chat templates expect them.
pub(super) fn tools_value(tools: &[ToolDefinition]) -> Value {
    let function = |tool: &ToolDefinition| {
        json!({
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        })
    };
    tools.iter().map(function).collect()
}

/// For models whose template does not know tools.
pub(super) fn tools_text(tools: &[ToolDefinition]) -> String {
    let line = |tool: &ToolDefinition| {
        let tool = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        python_json::line(&tool).unwrap_or_default()
    };
    let lines: Vec<_> = tools.iter().map(line).collect();
    format!(
        "You have these tools:\n<tools>\n{}\n</tools>\n\nTo use one, write its name and arguments like this:\n{OPEN}\n\
         {{\"name\": \"<the tool's name>\", \"arguments\": <an object>}}\n{CLOSE}\nIts result is given to you between \
         <tool_response> tags. If no tool is needed, answer the user in plain text.",
        lines.join("\n")
    )
}

/// For answers that must have a shape: the grammar enforces it, but a model that knows it fills it better.
pub(super) fn output_text(output: &OutputSchema, may_call_tools: bool) -> String {
    let schema = python_json::line(&output.schema).unwrap_or_default();
    let when = if may_call_tools { "When you need no more tools, give" } else { "Give" };
    let what =
        if output.description.is_empty() { String::new() } else { format!(" ({})", output.description) };
    format!(
        "{when} your final answer{what} as JSON that fits this JSON Schema, and write nothing else:\n{schema}"
    )
}
