//! Writes the body of a request.

use convoke_core::{ModelError, ModelRequest, OutputSchema, ToolDefinition};
use serde_json::{Map, Value, json};

use super::common::{effort, put, put_sampling, put_tool_choice, schema_name};
use super::dialect::{Dialect, Shapes};
use super::messages::MessageWriter;
use super::strict::strict;
use crate::provider::json::add_extra;
use crate::provider::structured::instruction;

/// The whole body.
pub(super) fn body(
    model: &str,
    request: &ModelRequest,
    dialect: &Dialect,
    origin: &str,
) -> Result<Value, ModelError> {
    let params = &request.params;
    let mut body = Map::new();
    put(&mut body, "model", Some(model));
    put(&mut body, "messages", Some(messages(request, dialect, origin)?));
    put(&mut body, "stream", Some(true));
    put(&mut body, "stream_options", dialect.ask_for_usage.then(|| json!({"include_usage": true})));
    put_sampling(&mut body, params);
    put(&mut body, dialect.limit, params.max_tokens);
    put(&mut body, dialect.seed, params.seed);
    put(&mut body, "stop", (!params.stop.is_empty()).then(|| params.stop.clone()));
    put(&mut body, "reasoning_effort", params.reasoning.map(effort));
    if !request.tools.is_empty() {
        put(&mut body, "tools", Some(request.tools.iter().map(tool).collect::<Vec<_>>()));
    }
    put_tool_choice(&mut body, request)?;
    put(&mut body, "response_format", request.output.as_ref().map(|output| format(output, dialect)));
    add_extra(&mut body, params.extra.as_ref())?;
    Ok(Value::Object(body))
}

fn messages(request: &ModelRequest, dialect: &Dialect, origin: &str) -> Result<Vec<Value>, ModelError> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    // At the beginning: what stands there stays there, however long the conversation grows.
    if let (Some(output), Shapes::Told) = (&request.output, dialect.shapes) {
        messages.push(json!({"role": "system", "content": instruction(&output.schema)}));
    }
    let writer = MessageWriter { dialect, origin };
    request.messages.iter().try_for_each(|message| writer.add(message, &mut messages))?;
    Ok(messages)
}

/// Without `strict`: many servers do not know it, and some want it for all tools or for none. Whoever runs the tool
/// checks its arguments in any case.
fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}

fn format(output: &OutputSchema, dialect: &Dialect) -> Value {
    if dialect.shapes == Shapes::Told {
        return json!({"type": "json_object"});
    }
    let made = strict(&output.schema);
    let mut shape = Map::new();
    put(&mut shape, "name", Some(schema_name(&output.name)));
    put(&mut shape, "description", (!output.description.is_empty()).then(|| output.description.clone()));
    put(&mut shape, "strict", Some(made.is_some()));
    put(&mut shape, "schema", Some(made.unwrap_or_else(|| output.schema.clone())));
    json!({"type": "json_schema", "json_schema": shape})
}
