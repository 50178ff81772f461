//! Tools on demand: described to the model only once it asks for them.
//!
//! A description of a tool costs tokens in every request, whether it is needed or not. Tools on demand cost their names: the
//! model calls `open_tools` with those it needs, and from its next turn on their descriptions are there. Which ones are open
//! follows from the conversation alone, so that a turn that is told again asks the same. Opening does nothing in the world,
//! and is no effect.

use std::collections::HashSet;
use std::sync::Arc;

use convoke_core::{Role, ToolDefinition, Toolset, Transcript};
use serde_json::{Value, json};

/// The tool that opens others.
pub(super) const OPEN_TOOLS: &str = "open_tools";

/// The tools that are offered by name until they are opened.
#[derive(Debug, Clone)]
pub(super) struct OnDemand {
    names: Arc<[String]>,
    opener: ToolDefinition,
}

impl OnDemand {
    /// Of these tools, those that an agent has. `None` if there are none, or the agent has a tool of its own that is called
    /// as the one which opens them.
    pub(super) fn of(names: &[String], tools: &Toolset) -> Option<Self> {
        let names: Arc<[String]> = names.iter().filter(|name| tools.get(name).is_some()).cloned().collect();
        if names.is_empty() || tools.get(OPEN_TOOLS).is_some() {
            return None;
        }
        let opener = ToolDefinition {
            name: OPEN_TOOLS.to_owned(),
            description:
                "Opens tools by name, if the work needs any. They can be called from the next turn on."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"names": {"type": "array", "items": {"enum": &*names}, "minItems": 1}},
                "required": ["names"],
                "additionalProperties": false,
            }),
        };
        Some(Self { names, opener })
    }

    /// What the model is told of tools after this conversation: those that need no opening, those that are open, and how
    /// to open others.
    pub(super) fn offered(&self, all: &[ToolDefinition], conversation: &Transcript) -> Vec<ToolDefinition> {
        let called = conversation.iter().filter(|message| message.role == Role::Assistant);
        let mut open: HashSet<&str> = HashSet::new();
        for call in called.flat_map(|message| message.tool_calls()) {
            match call.name.as_str() {
                OPEN_TOOLS => open.extend(names(&call.arguments)),
                // Whoever calls it without opening it knows it, and may want to again.
                other => drop(open.insert(other)),
            }
        }
        let is_closed = |name: &str| self.names.iter().any(|closed| closed == name) && !open.contains(name);
        let offered = all.iter().filter(|tool| !is_closed(&tool.name)).cloned();
        let has_more = self.names.iter().any(|name| is_closed(name));
        offered.chain(has_more.then(|| self.opener.clone())).collect()
    }

    /// What whoever opens tools gets to read, or why nothing was opened.
    pub(super) fn open(&self, arguments: &Value) -> Result<String, String> {
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            names(arguments).partition(|name| self.names.iter().any(|known| known == name));
        if !unknown.is_empty() || known.is_empty() {
            let (wanted, there) = (unknown.join(", "), self.names.join(", "));
            return Err(format!("there is no tool to open by the name of `{wanted}`; there are: {there}"));
        }
        Ok(format!("open now: {}", known.join(", ")))
    }
}

fn names(arguments: &Value) -> impl Iterator<Item = &str> {
    arguments["names"].as_array().into_iter().flatten().filter_map(Value::as_str)
}
