//! Messages in the form the conventions want. Only used if content is recorded.

use convoke_core::{MediaSource, Message, Part, Role, Transcript};
use opentelemetry::KeyValue;
use serde_json::{Value, json};

use crate::attribute::{self, cut};
use crate::convention;

/// The messages a model was given: the last ones, as many as fit.
pub(super) fn input(messages: &Transcript, limit: usize) -> Vec<KeyValue> {
    let mut room = limit;
    let mut kept: Vec<Value> = Vec::new();
    for message in messages.iter().rev() {
        let json = message_json(message, limit);
        let length = json.to_string().len();
        // The last one is always there, cut if need be.
        if length > room && !kept.is_empty() {
            break;
        }
        room = room.saturating_sub(length);
        kept.push(json);
    }
    let left_out = messages.len() - kept.len();
    kept.reverse();
    let mut attributes = vec![attribute::text(convention::INPUT_MESSAGES, Value::Array(kept).to_string())];
    if left_out > 0 {
        attributes.push(attribute::integer(convention::MESSAGES_LEFT_OUT, left_out as u64));
    }
    attributes
}

/// What it said.
pub(super) fn output(message: &Message, reason: &str, limit: usize) -> KeyValue {
    let mut json = message_json(message, limit);
    json["finish_reason"] = reason.into();
    attribute::text(convention::OUTPUT_MESSAGES, Value::Array(vec![json]).to_string())
}

fn message_json(message: &Message, limit: usize) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let parts: Vec<Value> = message.parts.iter().map(|part| part_json(part, limit)).collect();
    json!({"role": role, "parts": parts})
}

fn part_json(part: &Part, limit: usize) -> Value {
    match part {
        Part::Text { text } => json!({"type": "text", "content": cut(text, limit)}),
        Part::Reasoning { text, .. } => json!({"type": "reasoning", "content": cut(text, limit)}),
        Part::ToolCall(call) => {
            let arguments = call.arguments.to_string();
            let arguments =
                if arguments.len() > limit { cut(&arguments, limit).into() } else { call.arguments.clone() };
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
        }
        Part::ToolResult(result) => {
            json!({"type": "tool_call_response", "id": result.call_id, "response": cut(&result.content, limit)})
        }
        Part::Image(media) | Part::File(media) => {
            let modality = if matches!(part, Part::Image(_)) { "image" } else { "file" };
            let mut json = json!({"type": "uri", "modality": modality, "mime_type": media.media_type});
            match &media.source {
                MediaSource::Url(url) => json["uri"] = cut(url, limit).into(),
                // Nobody wants to read it, and it may be megabytes.
                MediaSource::Base64(bytes) => {
                    json["type"] = "blob".into();
                    json["content"] = format!("({} characters of base64, left out)", bytes.len()).into();
                }
            }
            json
        }
        _ => json!({"type": "other"}),
    }
}
