//! A conversation in the form chat templates expect, with calls and results of tools in words for models that know no others.

use convoke_core::{Message, ModelError, ModelErrorKind, Part, Role, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::python_json;
use crate::reply::{CLOSE, OPEN};

/// Messages as a template reads them, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct TemplateConversation {
    turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq)]
struct Turn {
    role: &'static str,
    content: String,
    /// What else a template that knows tools may look at.
    more: Map<String, Value>,
}

impl TemplateConversation {
    /// Calls stay what they are, for a template that knows tools; so do results, unless they are to be told in words.
    pub(super) fn with_calls<'a>(
        messages: impl Iterator<Item = &'a Message>,
        in_words: bool,
    ) -> Result<Self, ModelError> {
        let mut turns = Vec::new();
        for message in messages {
            let content = text(message)?;
            let calls: Vec<_> = message.tool_calls().map(call_value).collect();
            if message.role != Role::Tool || !content.is_empty() {
                let mut turn = Turn::new(role(message.role), content);
                if !calls.is_empty() {
                    turn.more.insert("tool_calls".into(), Value::Array(calls));
                }
                turns.push(turn);
            }
            let mut results = message.results().peekable();
            if in_words && results.peek().is_some() {
                let told = results
                    .map(|result| format!("The tool {} returned: {}\n", result.name, result_text(result)));
                turns.push(Turn::new(
                    "user",
                    told.chain(["Answer my question with it.".to_owned()]).collect(),
                ));
                continue;
            }
            turns.extend(results.map(|result| {
                let mut turn = Turn::new("tool", result_text(result));
                turn.more.insert("name".into(), json!(result.name));
                turn.more.insert("tool_call_id".into(), json!(result.call_id));
                turn
            }));
        }
        Ok(Self { turns })
    }

    /// Calls become text of the assistant's, results text of the user's, for a template that knows neither.
    pub(super) fn without_calls<'a>(messages: impl Iterator<Item = &'a Message>) -> Result<Self, ModelError> {
        let mut conversation = Self::default();
        for message in messages {
            let mut texts = vec![text(message)?];
            for call in message.tool_calls() {
                let line = python_json::line(&json!({"name": call.name, "arguments": call.arguments}));
                texts.push(format!("{OPEN}\n{}\n{CLOSE}", line.unwrap_or_default()));
            }
            texts.extend(
                message
                    .results()
                    .map(|result| format!("<tool_response>\n{}\n</tool_response>", result_text(result))),
            );
            texts.retain(|text| !text.is_empty());
            let role = if message.role == Role::Tool { "user" } else { role(message.role) };
            conversation.turns.push(Turn::new(role, texts.join("\n")));
        }
        conversation.merge();
        Ok(conversation)
    }

    /// Adds to what the system says at the beginning.
    pub(super) fn instruct(&mut self, text: &str) {
        match self.turns.first_mut() {
            Some(first) if first.role == "system" => {
                if !first.content.is_empty() {
                    first.content.push_str("\n\n");
                }
                first.content.push_str(text);
            }
            _ => self.turns.insert(0, Turn::new("system", text.to_owned())),
        }
    }

    /// The same for templates that know only users and assistants, in turn: what the system says becomes the beginning of
    /// what the user says.
    pub(super) fn plain(mut self) -> Self {
        for turn in &mut self.turns {
            if turn.role == "system" {
                turn.role = "user";
            }
        }
        self.merge();
        self
    }

    fn merge(&mut self) {
        self.turns.dedup_by(|later, earlier| {
            let same = later.role == earlier.role && later.more.is_empty() && earlier.more.is_empty();
            if same {
                earlier.content.push_str("\n\n");
                earlier.content.push_str(&later.content);
            }
            same
        });
    }

    pub(super) fn into_values(self) -> Vec<Value> {
        let value = |turn: Turn| {
            let mut members = Map::new();
            members.insert("role".into(), json!(turn.role));
            members.insert("content".into(), json!(turn.content));
            members.extend(turn.more);
            Value::Object(members)
        };
        self.turns.into_iter().map(value).collect()
    }
}

impl Turn {
    fn new(role: &'static str, content: String) -> Self {
        Self { role, content, more: Map::new() }
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// The message's text. What the model thought is not repeated to it; pictures and documents it cannot see.
fn text(message: &Message) -> Result<String, ModelError> {
    let unreadable = message.parts.iter().find_map(|part| match part {
        Part::Image(media) | Part::File(media) => Some(media.media_type.as_str()),
        _ => None,
    });
    match unreadable {
        None => Ok(message.text()),
        Some(kind) => Err(ModelError::new(
            ModelErrorKind::InvalidRequest,
            format!(
                "a local model reads text only, and a message has a part of type {kind}; describe it in words"
            ),
        )),
    }
}

fn call_value(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

fn result_text(result: &ToolResult) -> String {
    if result.is_error { format!("Error: {}", result.content) } else { result.content.clone() }
}
