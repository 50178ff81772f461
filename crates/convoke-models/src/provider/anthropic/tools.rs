//! Writes the tools of a request, and the tool that stands for an answer.

use convoke_core::{ModelError, ModelRequest, OutputSchema, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::family::Family;
use super::shape;
use crate::provider::json::invalid;

/// The tool whose arguments are the answer. A reply that calls it has answered.
pub(super) const ANSWER: &str = "convoke_final_answer";

/// The way an answer gets its shape.
pub(super) enum AnswerShape {
    /// The provider holds the text to this schema.
    Text { schema: Value },
    /// The answer is this tool's arguments, for models and shapes that leave no other way.
    Tool { definition: Value },
}

impl AnswerShape {
    /// An answer of the wanted shape.
    pub(super) fn of(wanted: &OutputSchema, family: Family) -> Result<Self, ModelError> {
        if family.shapes
            && let Some(mut schema) = shape::enforceable(&wanted.schema)
        {
            if !wanted.description.is_empty() && schema.get("description").is_none() {
                schema["description"] = json!(wanted.description);
            }
            return Ok(Self::Text { schema });
        }
        let description = format!(
            "Gives your final answer ({}). Call it once, alone, when you know the answer. {}",
            wanted.name, wanted.description
        );
        let schema = object_schema(&wanted.schema).ok_or_else(|| {
            invalid(format!("the shape of `{}` is not an object; put it into a field of one", wanted.name))
        })?;
        let definition =
            json!({"name": ANSWER, "description": description.trim_end(), "input_schema": schema});
        Ok(Self::Tool { definition })
    }
}

/// Whether the model is offered the tool whose arguments are the answer.
pub(super) fn answers_by_tool(request: &ModelRequest, family: Family) -> bool {
    let answer = request.output.as_ref().map(|wanted| AnswerShape::of(wanted, family));
    request.tool_choice != ToolChoice::Required && matches!(answer, Some(Ok(AnswerShape::Tool { .. })))
}

/// The tools, and how free the model is to call them.
pub(super) struct Tools {
    /// The `tools` of the request.
    pub(super) definitions: Vec<Value>,
    /// Its `tool_choice`.
    pub(super) choice: Option<Value>,
}

impl Tools {
    /// The tools of a request to a model that thinks about it, or does not.
    pub(super) fn of(request: &ModelRequest, answer: Option<&AnswerShape>, thinks: bool) -> Self {
        let offered: Vec<_> = request.tools.iter().map(definition).collect();
        match (request.tool_choice, answer) {
            // Whoever must call a tool does not answer yet.
            (ToolChoice::Required, _) => Self { definitions: offered, choice: Some(json!({"type": "any"})) },
            (choice, Some(AnswerShape::Tool { definition })) => {
                let may_call = choice == ToolChoice::Auto && !offered.is_empty();
                Self::with_answer(offered, definition.clone(), may_call, thinks)
            }
            (ToolChoice::None, _) if !offered.is_empty() => {
                Self { definitions: offered, choice: Some(json!({"type": "none"})) }
            }
            (ToolChoice::Auto | ToolChoice::None, _) => Self { definitions: offered, choice: None },
        }
    }

    fn with_answer(mut offered: Vec<Value>, answer: Value, may_call: bool, thinks: bool) -> Self {
        let choice = match (thinks, may_call) {
            // It cannot be forced then; what it says instead is for whoever asked to check.
            (true, _) => None,
            (false, true) => Some(json!({"type": "any"})),
            (false, false) => Some(json!({"type": "tool", "name": ANSWER})),
        };
        if thinks && !may_call {
            // What it is free to call but must not is not shown to it.
            offered.clear();
        }
        offered.push(answer);
        Self { definitions: offered, choice }
    }
}

fn definition(tool: &ToolDefinition) -> Value {
    let mut definition = json!({
        "name": tool.name,
        "input_schema": object_schema(&tool.parameters).unwrap_or_else(|| tool.parameters.clone()),
    });
    if !tool.description.is_empty() {
        definition["description"] = json!(tool.description);
    }
    definition
}

/// A schema that says that it is an object's, as the arguments of every tool must be. `None` if it says otherwise.
fn object_schema(schema: &Value) -> Option<Value> {
    let mut members = schema.as_object()?.clone();
    let kind = members.entry("type").or_insert_with(|| json!("object"));
    (kind == "object").then_some(Value::Object(members))
}
