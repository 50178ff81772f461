//! Writes the body of a request.

use convoke_core::{ModelError, ModelParams, ModelRequest, OutputSchema, ReasoningEffort, ToolDefinition};
use serde_json::{Map, Value, json};

use super::input;
use super::thoughts::Seal;
use crate::provider::chat::common::{effort, put, put_sampling, put_tool_choice, reasons, schema_name};
use crate::provider::chat::strict::strict;
use crate::provider::json::{add_extra, invalid};

/// The whole body. There is no seed in this protocol; it is left out, as it promises nothing anyway.
pub(super) fn body(model: &str, request: &ModelRequest, seal: &Seal) -> Result<Value, ModelError> {
    let params = &request.params;
    if !params.stop.is_empty() {
        return Err(invalid(
            "OpenAI's Responses know no stop sequences; leave `stop` out, or reach the model over chat completions \
             (provider `compatible`)",
        ));
    }
    let mut items = Vec::with_capacity(request.messages.len());
    request.messages.iter().try_for_each(|message| input::add(message, seal, &mut items))?;
    let mut body = Map::new();
    put(&mut body, "model", Some(model));
    put(&mut body, "input", Some(items));
    put(&mut body, "stream", Some(true));
    put(&mut body, "store", Some(false));
    put_sampling(&mut body, params);
    put(&mut body, "max_output_tokens", params.max_tokens);
    put_reasoning(&mut body, model, params);
    if !request.tools.is_empty() {
        put(&mut body, "tools", Some(request.tools.iter().map(tool).collect::<Vec<_>>()));
    }
    put_tool_choice(&mut body, request)?;
    put(&mut body, "text", request.output.as_ref().map(|output| json!({"format": format(output)})));
    add_extra(&mut body, params.extra.as_ref())?;
    Ok(Value::Object(body))
}

/// Asks for thoughts: a summary for people, and the sealed content to send back. Models that do not think refuse to be
/// asked.
fn put_reasoning(body: &mut Map<String, Value>, model: &str, params: &ModelParams) {
    let is_off = params.reasoning == Some(ReasoningEffort::Off);
    if !reasons(model) && (is_off || params.reasoning.is_none()) {
        return;
    }
    let mut reasoning = Map::new();
    put(&mut reasoning, "effort", params.reasoning.map(effort));
    put(&mut reasoning, "summary", (!is_off).then_some("auto"));
    put(body, "reasoning", Some(reasoning));
    put(body, "include", Some(json!(["reasoning.encrypted_content"])));
}

fn tool(tool: &ToolDefinition) -> Value {
    let made = strict(&tool.parameters);
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        // Not saying so would mean: strictly.
        "strict": made.is_some(),
        "parameters": made.as_ref().unwrap_or(&tool.parameters),
    })
}

fn format(output: &OutputSchema) -> Value {
    let made = strict(&output.schema);
    let mut format = Map::new();
    put(&mut format, "type", Some("json_schema"));
    put(&mut format, "name", Some(schema_name(&output.name)));
    put(&mut format, "description", (!output.description.is_empty()).then(|| output.description.clone()));
    put(&mut format, "strict", Some(made.is_some()));
    put(&mut format, "schema", Some(made.unwrap_or_else(|| output.schema.clone())));
    Value::Object(format)
}
