//! Translates conversations into chat-completion messages. Each message is written by itself, so a longer conversation begins with
//! the bytes of a shorter one.

use convoke_core::{Media, MediaSource, Message, ModelError, Part, Role, ToolCall};
use serde_json::{Map, Value, json};

use super::common::{file_name, media_url, put, result_text};
use super::dialect::Dialect;
use super::thoughts::{Field, Mark};
use crate::provider::json::invalid;

/// Writes messages for one model of one server.
pub(super) struct MessageWriter<'a> {
    pub(super) dialect: &'a Dialect,
    /// Where thoughts must have come from to go back.
    pub(super) origin: &'a str,
}

impl MessageWriter<'_> {
    /// Adds a message: one, or one for each result.
    pub(super) fn add(&self, message: &Message, output: &mut Vec<Value>) -> Result<(), ModelError> {
        match message.role {
            Role::System => output.push(json!({"role": "system", "content": texts(message)?})),
            Role::User => output.push(json!({"role": "user", "content": user(message)?})),
            Role::Assistant => output.push(self.assistant(message)?),
            Role::Tool => {
                for part in &message.parts {
                    let Part::ToolResult(result) = part else { return Err(misplaced(message, part)) };
                    output.push(json!({
                        "role": "tool",
                        "tool_call_id": self.dialect.ids.written(&result.call_id),
                        "content": result_text(result),
                    }));
                }
            }
        }
        Ok(())
    }

    fn assistant(&self, message: &Message) -> Result<Value, ModelError> {
        let mut said = AssistantMessage::default();
        for part in &message.parts {
            match part {
                Part::Text { text } => said.text(text),
                Part::ToolCall(call) => said.calls.push(self.call(call)),
                Part::Reasoning { text, signature } => {
                    let mark = Mark::read(signature.as_deref().unwrap_or_default(), self.origin);
                    said.thought(text, mark);
                }
                _ => return Err(misplaced(message, part)),
            }
        }
        Ok(said.written(self.dialect))
    }

    fn call(&self, call: &ToolCall) -> Value {
        // Servers that put the arguments into a template must be able to read them, even if the model wrote nonsense.
        let arguments = if call.arguments.is_object() {
            call.arguments.to_string()
        } else {
            json!({"unreadable": call.arguments}).to_string()
        };
        json!({
            "id": self.dialect.ids.written(&call.id),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        })
    }
}

/// What the model said in one message.
#[derive(Default)]
struct AssistantMessage {
    text: String,
    calls: Vec<Value>,
    reasoning_content: String,
    reasoning: String,
    details: Vec<Value>,
    /// Text and thoughts in their order, if thoughts are parts of the content.
    parts: Vec<Value>,
    thinks_in_parts: bool,
}

impl AssistantMessage {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
        self.parts.push(json!({"type": "text", "text": text}));
    }

    fn thought(&mut self, text: &str, mark: Mark) {
        self.details.extend(mark.details);
        match mark.field {
            Some(Field::ReasoningContent) => self.reasoning_content.push_str(text),
            Some(Field::Reasoning) => self.reasoning.push_str(text),
            Some(Field::Thinking) => {
                self.thinks_in_parts = true;
                self.parts.push(json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]}));
            }
            None => {}
        }
    }

    fn written(self, dialect: &Dialect) -> Value {
        let content = if self.thinks_in_parts {
            Value::Array(self.parts)
        } else if self.text.is_empty() && !self.calls.is_empty() {
            // An empty text is refused by some, none at all by nobody.
            Value::Null
        } else {
            Value::String(self.text)
        };
        let mut message = Map::new();
        put(&mut message, "role", Some("assistant"));
        put(&mut message, "content", Some(content));
        put(&mut message, "tool_calls", non_empty(self.calls));
        if self.details.is_empty() {
            put(
                &mut message,
                Field::Reasoning.name(),
                (!self.reasoning.is_empty()).then_some(self.reasoning),
            );
        } else {
            put(&mut message, "reasoning_details", Some(self.details));
        }
        let thought = dialect.thoughts_required || !self.reasoning_content.is_empty();
        put(&mut message, Field::ReasoningContent.name(), thought.then_some(self.reasoning_content));
        Value::Object(message)
    }
}

fn non_empty(list: Vec<Value>) -> Option<Vec<Value>> {
    (!list.is_empty()).then_some(list)
}

/// Text alone is a string, which all servers understand; a list of parts only those that see.
fn user(message: &Message) -> Result<Value, ModelError> {
    if message.parts.iter().all(|part| matches!(part, Part::Text { .. })) {
        return Ok(Value::String(message.text()));
    }
    message.parts.iter().map(|part| user_part(message, part)).collect()
}

fn user_part(message: &Message, part: &Part) -> Result<Value, ModelError> {
    Ok(match part {
        Part::Text { text } => json!({"type": "text", "text": text}),
        Part::Image(media) => json!({"type": "image_url", "image_url": {"url": media_url(media)}}),
        Part::File(media) => file(media)?,
        _ => return Err(misplaced(message, part)),
    })
}

fn file(media: &Media) -> Result<Value, ModelError> {
    let MediaSource::Base64(content) = &media.source else {
        return Err(invalid(format!(
            "chat completions take no files by address ({}); fetch it and send its content",
            file_name(media)
        )));
    };
    if let Some(kind) = media.media_type.strip_prefix("audio/") {
        let format = match kind {
            "wav" | "wave" | "x-wav" => "wav",
            "mpeg" | "mp3" => "mp3",
            _ => {
                return Err(invalid(format!(
                    "chat completions take sound as WAV or MP3, not as audio/{kind}; convert it"
                )));
            }
        };
        return Ok(json!({"type": "input_audio", "input_audio": {"data": content, "format": format}}));
    }
    Ok(json!({"type": "file", "file": {"filename": file_name(media), "file_data": media_url(media)}}))
}

fn texts(message: &Message) -> Result<String, ModelError> {
    match message.parts.iter().find(|part| !matches!(part, Part::Text { .. })) {
        None => Ok(message.text()),
        Some(part) => Err(misplaced(message, part)),
    }
}

/// A part that a message of this role cannot have.
pub(in crate::provider) fn misplaced(message: &Message, part: &Part) -> ModelError {
    let part = match part {
        Part::Text { .. } => "text",
        Part::Image(_) => "an image",
        Part::File(_) => "a file",
        Part::Reasoning { .. } => "reasoning",
        Part::ToolCall(_) => "a tool call",
        Part::ToolResult(_) => "a tool result",
        _ => "such a part",
    };
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    invalid(format!(
        "a message of the role `{role}` cannot carry {part} here; put it into one of the role it belongs to"
    ))
}
