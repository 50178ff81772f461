//! Writes requests for Ollama's chat API.

use convoke_core::{
    MediaSource, Message, ModelError, ModelParams, ModelRequest, Part, ReasoningEffort, Role, ToolChoice,
    ToolDefinition, ToolResult,
};
use serde_json::{Map, Value, json};

use super::thoughts::Mark;
use crate::provider::json::{add_extra, invalid, object};

/// Writes a request down.
pub(super) fn write(model: &str, request: &ModelRequest, mark: &Mark) -> Result<Value, ModelError> {
    let params = &request.params;
    let mut messages = Vec::new();
    for message in request.messages.iter() {
        add(message, mark, &mut messages)?;
    }
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(model));
    put("messages", Value::Array(messages));
    put("stream", json!(true));
    // An error rather than a conversation without its beginning, be it too long at once or while the reply grows.
    put("truncate", json!(false));
    put("shift", json!(false));
    let tools = offered(request)?;
    if !tools.is_empty() {
        put("tools", tools.iter().map(definition).collect());
    }
    if let Some(output) = &request.output {
        if !tools.is_empty() {
            return Err(invalid(
                "Ollama calls no tools when it is held to a shape; let it use its tools first, and ask for the shape \
                 without them",
            ));
        }
        put("format", output.schema.clone());
    }
    if let Some(effort) = params.reasoning {
        put("think", think(effort));
    }
    let options = options(params);
    if !options.is_empty() {
        put("options", Value::Object(options));
    }
    add_extra(&mut body, params.extra.as_ref())?;
    Ok(Value::Object(body))
}

/// The tools the model may call: there is no other way to forbid them.
fn offered(request: &ModelRequest) -> Result<&[ToolDefinition], ModelError> {
    match request.tool_choice {
        ToolChoice::Auto => Ok(&request.tools),
        ToolChoice::None => Ok(&[]),
        ToolChoice::Required => Err(invalid(
            "Ollama cannot make a model call a tool; leave it to the model, and tell it in the instructions",
        )),
    }
}

fn definition(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}

fn think(effort: ReasoningEffort) -> Value {
    match effort {
        ReasoningEffort::Off => json!(false),
        ReasoningEffort::Low => json!("low"),
        ReasoningEffort::Medium => json!("medium"),
        ReasoningEffort::High => json!("high"),
    }
}

fn options(params: &ModelParams) -> Map<String, Value> {
    let stop = (!params.stop.is_empty()).then(|| json!(params.stop));
    [
        ("num_predict", params.max_tokens.map(Value::from)),
        ("temperature", params.temperature.map(Value::from)),
        ("top_p", params.top_p.map(Value::from)),
        ("seed", params.seed.map(Value::from)),
        ("stop", stop),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// Adds a message. Every tool result is one of its own. Thoughts without the mark are another model's, or nobody's.
fn add(message: &Message, mark: &Mark, messages: &mut Vec<Value>) -> Result<(), ModelError> {
    messages.extend(message.results().map(tool_result));
    let (mut thoughts, mut pictures, mut calls) = (String::new(), Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text { .. } | Part::ToolResult(_) => {}
            Part::Reasoning { text, signature } => {
                if mark.is_on(signature.as_deref()) {
                    thoughts.push_str(text);
                }
            }
            Part::Image(media) => match &media.source {
                MediaSource::Base64(data) => pictures.push(json!(data)),
                MediaSource::Url(_) => {
                    return Err(invalid("Ollama fetches no pictures; send the picture itself as base64"));
                }
            },
            Part::ToolCall(call) => calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": object(&call.arguments)},
            })),
            Part::File(media) => {
                return Err(invalid(format!(
                    "Ollama reads no files ({}); put what is in it into the text",
                    media.media_type
                )));
            }
            _ => return Err(invalid("Ollama takes no part of this kind")),
        }
    }
    let text = message.text();
    let has_more = [&pictures, &calls].iter().any(|list| !list.is_empty()) || !thoughts.is_empty();
    if text.is_empty() && !has_more {
        return Ok(());
    }
    let role = match message.role {
        Role::System => "system",
        // Whatever stands beside results is said by whoever gives them.
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let mut written = json!({"role": role, "content": text});
    if !thoughts.is_empty() {
        written["thinking"] = json!(thoughts);
    }
    for (key, list) in [("images", pictures), ("tool_calls", calls)] {
        if !list.is_empty() {
            written[key] = Value::Array(list);
        }
    }
    messages.push(written);
    Ok(())
}

fn tool_result(result: &ToolResult) -> Value {
    // There is no other way to say that it failed.
    let content = if result.is_error { format!("Error: {}", result.content) } else { result.content.clone() };
    json!({"role": "tool", "tool_name": result.name, "tool_call_id": result.call_id, "content": content})
}
