//! Translates conversations into Anthropic's messages.

use convoke_core::{Media, MediaSource, Message, ModelError, Part, Role, ToolResult, Transcript};
use serde_json::{Value, json};

use super::thoughts;
use crate::provider::json::{invalid, object};

/// The pictures that are taken.
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// A conversation, taken apart as the protocol wants it.
#[derive(Debug, Default)]
pub(super) struct AnthropicMessages {
    /// The instructions it begins with.
    pub(super) system: Vec<Value>,
    /// The turns.
    pub(super) messages: Vec<Value>,
}

/// Writes a conversation down. What one side says in several messages is one turn. Thoughts that are not from `origin`
/// are left out.
pub(super) fn write(transcript: &Transcript, origin: &str) -> Result<AnthropicMessages, ModelError> {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in transcript.iter() {
        let blocks = blocks(message, turns.is_empty(), origin)?;
        if message.role == Role::System && turns.is_empty() {
            system.extend(blocks);
            continue;
        }
        let side = if message.role == Role::Assistant { "assistant" } else { "user" };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, turn)) if *last == side => turn.extend(blocks),
            _ => turns.push((side, blocks)),
        }
    }
    if turns.is_empty() {
        return Err(invalid("there is nothing to answer; add a user's message"));
    }
    let messages = turns.into_iter().map(|(role, content)| json!({"role": role, "content": content}));
    Ok(AnthropicMessages { system, messages: messages.collect() })
}

fn blocks(message: &Message, is_start: bool, origin: &str) -> Result<Vec<Value>, ModelError> {
    let mut blocks = Vec::new();
    for part in &message.parts {
        match (message.role, part) {
            // Blocks without a visible character are refused.
            (_, Part::Text { text }) if text.trim().is_empty() => {}
            // Its place keeps what was said before in the provider's cache; the tags are how Claude knows such text.
            (Role::System, Part::Text { text }) if !is_start => {
                blocks.push(text_block(&format!("<system-reminder>\n{text}\n</system-reminder>")));
            }
            (_, Part::Text { text }) => blocks.push(text_block(text)),
            (Role::User | Role::Tool, Part::Image(media)) => blocks.push(picture(media)?),
            (Role::User | Role::Tool, Part::File(media)) => blocks.push(document(media)?),
            (Role::User | Role::Tool, Part::ToolResult(result)) => blocks.push(tool_result(result)),
            (Role::Assistant, Part::Reasoning { text, signature }) => {
                blocks.extend(thoughts::blocks(text, signature.as_deref(), origin));
            }
            (Role::Assistant, Part::ToolCall(call)) => blocks.push(json!({
                "type": "tool_use",
                "id": call_id(&call.id),
                "name": call.name,
                "input": object(&call.arguments),
            })),
            (role, part) => return Err(misplaced(role, part)),
        }
    }
    Ok(blocks)
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn picture(media: &Media) -> Result<Value, ModelError> {
    if matches!(media.source, MediaSource::Base64(_)) && !PICTURES.contains(&media.media_type.as_str()) {
        let message = format!("Claude sees no {}; send one of {}", media.media_type, PICTURES.join(", "));
        return Err(invalid(message));
    }
    Ok(json!({"type": "image", "source": source(media)}))
}

fn document(media: &Media) -> Result<Value, ModelError> {
    if media.media_type != "application/pdf" {
        return Err(invalid(format!(
            "Claude reads no file of type {}; send a PDF, or put what is in the file into the text",
            media.media_type
        )));
    }
    let mut block = json!({"type": "document", "source": source(media)});
    if let Some(name) = &media.name {
        block["title"] = json!(name);
    }
    Ok(block)
}

fn source(media: &Media) -> Value {
    match &media.source {
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::Base64(data) => json!({"type": "base64", "media_type": media.media_type, "data": data}),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": call_id(&result.call_id)});
    if !result.content.trim().is_empty() {
        block["content"] = json!(result.content);
    } else if result.is_error {
        // A failure without words is refused.
        block["content"] = json!("The tool failed and did not say why.");
    }
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// An id as it is taken: letters, digits, `_` and `-`. Another provider's, or one of ours, may have more in it.
fn call_id(id: &str) -> String {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !id.is_empty() && id.chars().all(is_fine) {
        return id.to_owned();
    }
    let rest: String = id.chars().filter(|character| is_fine(*character)).take(40).collect();
    // What is left may be another call's id as well; this tells them apart.
    format!("{rest}-{}", &blake3::hash(id.as_bytes()).to_hex()[..12])
}

fn misplaced(role: Role, part: &Part) -> ModelError {
    let what = match part {
        Part::Image(_) => "picture",
        Part::File(_) => "file",
        Part::Reasoning { .. } => "thought",
        Part::ToolCall(_) => "tool call",
        Part::ToolResult(_) => "tool result",
        _ => "part of an unknown kind",
    };
    let place = match role {
        Role::System => "the instructions",
        Role::User => "a user's message",
        Role::Assistant => "its own message",
        Role::Tool => "a tool's message",
    };
    invalid(format!("Claude takes no {what} in {place}; put it where it belongs"))
}
