//! Messages and their parts.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Digest;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whoever built the agent.
    System,
    /// Whoever uses it.
    User,
    /// The model.
    Assistant,
    /// Tools, answering the model's calls.
    Tool,
}

/// A message: a role and its content.
///
/// ```
/// use convoke_core::{Message, Role};
///
/// let message = Message::user("three facts about looms");
/// assert_eq!(message.role, Role::User);
/// assert_eq!(message.text(), "three facts about looms");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(Media),
    /// Any other document.
    File(Media),
    /// What the model thought before it spoke. Sent back to the provider as it came.
    Reasoning {
        /// The thought, or a summary of it.
        text: String,
        /// The provider's proof that the thought is its own, if it wants it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The model wants a tool called.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
}

/// A picture or document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The file's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where its bytes are.
    pub source: MediaSource,
}

/// The location of a picture's or document's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// At this address.
    Url(String),
    /// Here, as base64.
    Base64(String),
}

/// A call of a tool, as the model wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, unique within the conversation; the result refers to it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: an object, or the raw text as a string if the model did not write JSON.
    #[serde(serialize_with = "crate::json::sorted")]
    pub arguments: Value,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call this answers.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// What the model gets to read.
    pub content: String,
    /// Whether it is a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl Message {
    /// A message of one text.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text { text: text.into() }] }
    }

    /// Instructions by whoever built the agent.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// A message of the user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// The results of tool calls, in call order.
    #[must_use]
    pub fn tool_results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: Role::Tool, parts: results.into_iter().map(Part::ToolResult).collect() }
    }

    /// Adds a part.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// All its text, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tool calls in it, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results in it, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Its JSON, as the journal stores it, and the digest it is stored under.
    pub(crate) fn encode(&self) -> (Digest, Bytes) {
        // Strings, numbers and maps with text keys always serialise.
        let json = serde_json::to_vec(self).expect("a message is plain data");
        (Digest::of_parts(&[&json]), json.into())
    }
}
