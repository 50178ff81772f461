//! A whole reply out of its pieces.

use std::collections::HashSet;

use serde_json::Value;

use super::{FinishReason, ModelError, ModelErrorKind, ModelReply, ReplyDelta};
use crate::message::{Message, Part, Role, ToolCall, Usage};

/// Collects the pieces of one reply.
///
/// ```
/// use convoke_core::{FinishReason, ReplyBuilder, ReplyDelta};
///
/// let mut builder = ReplyBuilder::new("scripted", "m1");
/// builder.add(&ReplyDelta::Text("Hel".into()));
/// builder.add(&ReplyDelta::Text("lo".into()));
/// builder.add(&ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None });
/// assert_eq!(builder.finish()?.text(), "Hello");
/// # Ok::<(), convoke_core::ModelError>(())
/// ```
#[derive(Debug)]
pub struct ReplyBuilder {
    model: String,
    message_id: String,
    taken: HashSet<String>,
    text: String,
    reasoning: String,
    signature: Option<String>,
    calls: Vec<PartialCall>,
    usage: Usage,
    end: Option<(FinishReason, Option<String>)>,
}

#[derive(Debug, Clone, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl ReplyBuilder {
    /// Begins a reply of `model`. Calls without a usable id get one made of `message_id` and their position.
    #[must_use]
    pub fn new(model: impl Into<String>, message_id: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            message_id: message_id.into(),
            taken: HashSet::new(),
            text: String::new(),
            reasoning: String::new(),
            signature: None,
            calls: Vec::new(),
            usage: Usage::default(),
            end: None,
        }
    }

    /// Gives calls an id of their own where the provider's is one of these: some number their calls anew in every
    /// reply, and ids must be unique in a conversation.
    #[must_use]
    pub fn avoiding(mut self, taken: HashSet<String>) -> Self {
        self.taken = taken;
        self
    }

    /// Adds a piece.
    pub fn add(&mut self, delta: &ReplyDelta) {
        match delta {
            ReplyDelta::Text(text) => self.text.push_str(text),
            ReplyDelta::Reasoning(text) => self.reasoning.push_str(text),
            ReplyDelta::ReasoningSignature(signature) => {
                self.signature.get_or_insert_default().push_str(signature);
            }
            ReplyDelta::ToolCallStarted { index, id, name } => {
                let id = self.unique_id(id, *index);
                let call = self.call(*index);
                call.name.clone_from(name);
                call.id = id;
            }
            ReplyDelta::ToolCallArguments { index, delta } => self.call(*index).arguments.push_str(delta),
            ReplyDelta::Usage(usage) => self.usage = *usage,
            ReplyDelta::Finished { reason, request_id } => self.end = Some((*reason, request_id.clone())),
        }
    }

    /// The id the call at this position has.
    #[must_use]
    pub fn call_id(&self, index: usize) -> &str {
        self.calls.get(index).map_or("", |call| call.id.as_str())
    }

    fn call(&mut self, index: usize) -> &mut PartialCall {
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, PartialCall::default);
        }
        &mut self.calls[index]
    }

    fn unique_id(&self, id: &str, index: usize) -> String {
        let taken = self.taken.contains(id)
            || self.calls.iter().enumerate().any(|(other, call)| other != index && call.id == id);
        if id.is_empty() || taken { format!("{}-call{}", self.message_id, index + 1) } else { id.to_owned() }
    }

    /// The reply.
    ///
    /// # Errors
    /// [`ModelErrorKind::Interrupted`] if the stream ended early, [`ModelErrorKind::Empty`] if there is nothing in it.
    pub fn finish(self) -> Result<ModelReply, ModelError> {
        let Some((finish, request_id)) = self.end else {
            return Err(ModelError::new(
                ModelErrorKind::Interrupted,
                format!("the stream of {} ended before the reply did", self.model),
            ));
        };
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() || self.signature.is_some() {
            parts.push(Part::Reasoning { text: self.reasoning, signature: self.signature });
        }
        if !self.text.is_empty() {
            parts.push(Part::Text { text: self.text });
        }
        parts.extend(self.calls.into_iter().map(|call| Part::ToolCall(call.finish())));
        let says_something = parts.iter().any(|part| !matches!(part, Part::Reasoning { .. }));
        if !says_something && matches!(finish, FinishReason::Stop | FinishReason::ToolCalls) {
            return Err(ModelError::new(
                ModelErrorKind::Empty,
                format!("{} answered with neither text nor tool calls", self.model),
            ));
        }
        Ok(ModelReply {
            message: Message { role: Role::Assistant, parts },
            finish,
            usage: self.usage,
            model: self.model,
            request_id,
        })
    }
}

impl PartialCall {
    fn finish(self) -> ToolCall {
        let text = self.arguments.trim();
        let arguments = if text.is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            serde_json::from_str(text).unwrap_or(Value::String(self.arguments))
        };
        ToolCall { id: self.id, name: self.name, arguments }
    }
}
