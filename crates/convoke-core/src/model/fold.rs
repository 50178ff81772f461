//! Folds the pieces of a streamed reply into a whole one.

use std::collections::HashSet;

use serde_json::Value;

use super::{FinishReason, ModelError, ModelErrorKind, ModelReply, ReplyDelta};
use crate::json;
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
    blocks: Vec<Block>,
    calls: Vec<PartialCall>,
    usage: Usage,
    end: Option<(FinishReason, Option<String>)>,
}

/// A part that is being written. Their order is kept: some providers refuse thoughts that are sent back in another.
#[derive(Debug)]
enum Block {
    Text(String),
    Reasoning { text: String, signature: Option<String> },
    Call { index: usize },
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
            blocks: Vec::new(),
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
            ReplyDelta::Text(text) => self.text(text),
            ReplyDelta::Reasoning(thought) => self.reasoning(thought),
            ReplyDelta::ReasoningSignature(proof) => self.signature(proof),
            ReplyDelta::ToolCallStarted { index, id, name } => {
                let id = self.unique_id(id, *index);
                let call = self.call(*index);
                call.name.clone_from(name);
                call.id = id;
            }
            ReplyDelta::ToolCallArguments { index, delta } => self.call(*index).arguments.push_str(delta),
            ReplyDelta::Usage(usage) => self.usage = *usage,
            ReplyDelta::Restarted { model, .. } => {
                self.model.clone_from(model);
                self.blocks.clear();
                // Whoever watched knows these ids already.
                self.taken.extend(self.calls.drain(..).map(|call| call.id));
                self.end = None;
            }
            ReplyDelta::Finished { reason, request_id } => self.end = Some((*reason, request_id.clone())),
        }
    }

    /// The id the call at this position has.
    #[must_use]
    pub fn call_id(&self, index: usize) -> &str {
        self.calls.get(index).map_or("", |call| call.id.as_str())
    }

    /// The model that answers.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    fn text(&mut self, more: &str) {
        match self.blocks.last_mut() {
            _ if more.is_empty() => {}
            Some(Block::Text(text)) => text.push_str(more),
            _ => self.blocks.push(Block::Text(more.to_owned())),
        }
    }

    fn reasoning(&mut self, more: &str) {
        match self.blocks.last_mut() {
            _ if more.is_empty() => {}
            Some(Block::Reasoning { text, signature: None }) => text.push_str(more),
            _ => self.blocks.push(Block::Reasoning { text: more.to_owned(), signature: None }),
        }
    }

    fn signature(&mut self, more: &str) {
        if let Some(Block::Reasoning { signature, .. }) = self.blocks.last_mut() {
            signature.get_or_insert_default().push_str(more);
        } else {
            self.blocks.push(Block::Reasoning { text: String::new(), signature: Some(more.to_owned()) });
        }
    }

    fn call(&mut self, index: usize) -> &mut PartialCall {
        if !self.blocks.iter().any(|block| matches!(block, Block::Call { index: known } if *known == index)) {
            self.blocks.push(Block::Call { index });
        }
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, PartialCall::default);
        }
        &mut self.calls[index]
    }

    fn unique_id(&self, id: &str, index: usize) -> String {
        let is_free = |id: &String| {
            let by_another = |(other, call): (usize, &PartialCall)| other != index && call.id == *id;
            !id.is_empty() && !self.taken.contains(id) && !self.calls.iter().enumerate().any(by_another)
        };
        let given = id.to_owned();
        if is_free(&given) {
            return given;
        }
        let numbered = (index + 1..).map(|number| format!("{}-call{number}", self.message_id));
        // Only finitely many are taken.
        numbered.into_iter().find(is_free).unwrap_or(given)
    }

    /// The ids of the calls so far.
    pub(crate) fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| call.id.as_str())
    }

    /// What was said so far, for whoever breaks the reply off: its text, and calls that are whole. `None` if that is nothing.
    pub(crate) fn so_far(self) -> Option<Message> {
        let is_whole = |call: &PartialCall| serde_json::from_str::<Value>(&call.arguments).is_ok();
        let mut calls: Vec<_> = self.calls.into_iter().map(|call| Some(call).filter(is_whole)).collect();
        let said = self.blocks.into_iter().filter(|block| !matches!(block, Block::Reasoning { .. }));
        let parts: Vec<_> = said.filter_map(|block| block.finish(&mut calls)).collect();
        (!parts.is_empty()).then_some(Message { role: Role::Assistant, parts })
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
        let mut calls: Vec<_> = self.calls.into_iter().map(Some).collect();
        let parts: Vec<_> = self.blocks.into_iter().filter_map(|block| block.finish(&mut calls)).collect();
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

impl Block {
    fn finish(self, calls: &mut [Option<PartialCall>]) -> Option<Part> {
        Some(match self {
            Self::Text(text) => Part::Text { text },
            Self::Reasoning { text, signature } => Part::Reasoning { text, signature },
            Self::Call { index } => Part::ToolCall(calls.get_mut(index)?.take()?.finish()),
        })
    }
}

impl PartialCall {
    fn finish(self) -> ToolCall {
        let text = self.arguments.trim();
        let mut arguments = if text.is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            serde_json::from_str(text).unwrap_or(Value::String(self.arguments))
        };
        // The same call makes the same bytes, now and after a resume.
        json::sort_keys(&mut arguments);
        ToolCall { id: self.id, name: self.name, arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(deltas: &[ReplyDelta]) -> ModelReply {
        let mut builder = ReplyBuilder::new("first", "m1");
        deltas.iter().for_each(|delta| builder.add(delta));
        builder.add(&ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None });
        builder.finish().unwrap()
    }

    fn call(id: &str) -> ReplyDelta {
        ReplyDelta::ToolCallStarted { index: 0, id: id.into(), name: "look".into() }
    }

    #[test]
    fn thoughts_words_and_calls_keep_the_order_they_came_in() {
        let thought =
            |text: &str, proof: &str| Part::Reasoning { text: text.into(), signature: Some(proof.into()) };
        let reply = folded(&[
            ReplyDelta::Reasoning("hm".into()),
            ReplyDelta::ReasoningSignature("s1".into()),
            ReplyDelta::Text("Let me look.".into()),
            ReplyDelta::Reasoning("where".into()),
            ReplyDelta::ReasoningSignature("s2".into()),
            call("c1"),
        ]);
        let look = ToolCall { id: "c1".into(), name: "look".into(), arguments: serde_json::json!({}) };
        let text = Part::Text { text: "Let me look.".into() };
        let expected = [thought("hm", "s1"), text, thought("where", "s2"), Part::ToolCall(look)];
        assert_eq!(reply.message.parts, expected);
    }

    #[test]
    fn arguments_have_their_keys_in_order_whatever_order_serde_json_keeps() {
        let arguments =
            ReplyDelta::ToolCallArguments { index: 0, delta: r#"{"b":{"d":1,"c":2},"a":3}"#.into() };
        let reply = folded(&[call("c1"), arguments]);
        let sorted = r#"{"a":3,"b":{"c":2,"d":1}}"#;
        assert_eq!(reply.tool_calls()[0].arguments.to_string(), sorted);
        assert!(serde_json::to_string(&reply).unwrap().contains(sorted));
    }

    #[test]
    fn a_restarted_reply_forgets_what_came_before_and_does_not_use_its_ids_again() {
        let reply = folded(&[
            ReplyDelta::Text("Half an ans".into()),
            call("c1"),
            ReplyDelta::Restarted { model: "second".into(), reason: "cut off".into() },
            ReplyDelta::Text("Whole.".into()),
            call("c1"),
        ]);
        assert_eq!((reply.text().as_str(), reply.model.as_str()), ("Whole.", "second"));
        assert_eq!(reply.tool_calls()[0].id, "m1-call1");
    }
}
