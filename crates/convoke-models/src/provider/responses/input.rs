//! Translates conversations into input items. Each message is written by itself, so a longer conversation begins with the bytes of a
//! shorter one.

use convoke_core::{Media, MediaSource, Message, ModelError, Part, Role, ToolCall};
use serde_json::{Value, json};

use super::thoughts::Seal;
use crate::provider::chat::common::{file_name, media_url, result_text};
use crate::provider::chat::messages::misplaced;
use crate::provider::json::invalid;

/// Adds the items of a message.
pub(super) fn add(message: &Message, seal: &Seal, items: &mut Vec<Value>) -> Result<(), ModelError> {
    match message.role {
        Role::System => items.push(said_by("developer", message)?),
        Role::User => items.push(said_by("user", message)?),
        Role::Assistant => {
            // A thought that nothing follows is refused.
            let is_thought = |part: &Part| matches!(part, Part::Reasoning { .. });
            let end = message.parts.iter().rposition(|part| !is_thought(part)).map_or(0, |last| last + 1);
            for part in &message.parts[..end] {
                assistant(message, part, seal, items)?;
            }
        }
        Role::Tool => {
            for part in &message.parts {
                let Part::ToolResult(result) = part else { return Err(misplaced(message, part)) };
                items.push(json!({
                    "type": "function_call_output",
                    "call_id": result.call_id,
                    "output": result_text(result),
                }));
            }
        }
    }
    Ok(())
}

fn assistant(message: &Message, part: &Part, seal: &Seal, items: &mut Vec<Value>) -> Result<(), ModelError> {
    match part {
        Part::Text { text } => items.push(json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        })),
        Part::Reasoning { text, signature } => items.extend(seal.items(text, signature.as_deref())),
        Part::ToolCall(call) => items.push(json!({
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": arguments(call),
        })),
        _ => return Err(misplaced(message, part)),
    }
    Ok(())
}

/// The arguments as the model wrote them, even if that is no JSON.
fn arguments(call: &ToolCall) -> String {
    match &call.arguments {
        Value::String(raw) => raw.clone(),
        arguments => arguments.to_string(),
    }
}

fn said_by(role: &str, message: &Message) -> Result<Value, ModelError> {
    let content = message.parts.iter().map(|part| content(message, part));
    Ok(json!({"type": "message", "role": role, "content": content.collect::<Result<Vec<_>, _>>()?}))
}

fn content(message: &Message, part: &Part) -> Result<Value, ModelError> {
    Ok(match part {
        Part::Text { text } => json!({"type": "input_text", "text": text}),
        Part::Image(media) if message.role == Role::User => {
            json!({"type": "input_image", "image_url": media_url(media)})
        }
        Part::File(media) if message.role == Role::User => file(media)?,
        _ => return Err(misplaced(message, part)),
    })
}

fn file(media: &Media) -> Result<Value, ModelError> {
    if media.media_type.starts_with("audio/") || media.media_type.starts_with("video/") {
        return Err(invalid(format!(
            "OpenAI's Responses take no {}; transcribe it, or use a model that hears over chat completions",
            media.media_type
        )));
    }
    Ok(match &media.source {
        MediaSource::Url(url) => json!({"type": "input_file", "file_url": url}),
        MediaSource::Base64(_) => {
            json!({"type": "input_file", "filename": file_name(media), "file_data": media_url(media)})
        }
    })
}
