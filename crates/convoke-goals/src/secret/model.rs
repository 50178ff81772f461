//! Unseals requests to models, and seals their replies.

use std::collections::{BTreeMap, VecDeque};

use convoke_core::{Message, ModelError, ModelRequest, Part, ReplyDelta, ReplyStream, Transcript, json_text};
use futures_util::{StreamExt, stream};

use super::seals::Seals;
use super::stream::Stream;

/// A reply in which marks take the place of secrets, piece by piece.
pub(super) fn sealed_reply<'a>(
    seals: &'a Seals,
    request: &ModelRequest,
    pieces: ReplyStream<'a>,
) -> ReplyStream<'a> {
    let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
    let state = (pieces, Sealing::new(seals, tools), VecDeque::new(), false);
    stream::unfold(state, |(mut pieces, mut sealing, mut ready, mut ended)| async move {
        loop {
            if let Some(delta) = ready.pop_front() {
                return Some((delta, (pieces, sealing, ready, ended)));
            }
            if ended {
                return None;
            }
            match pieces.next().await {
                Some(Ok(delta)) => sealing.add(delta, &mut ready),
                Some(Err(error)) => {
                    sealing.interrupt(&mut ready);
                    ready.push_back(Err(sealing.error(error)));
                }
                None => {
                    sealing.interrupt(&mut ready);
                    ended = true;
                }
            }
        }
    })
    .boxed()
}

/// Deltas that may be passed on.
type Ready = VecDeque<Result<ReplyDelta, ModelError>>;

/// A reply on its way back.
struct Sealing<'a> {
    seals: &'a Seals,
    /// The names of tools, which are no secret even if one is called the same.
    tools: Vec<String>,
    text: Stream,
    reasoning: Stream,
    /// Arguments of calls, whole: only then it is known what is a text in them.
    arguments: BTreeMap<usize, String>,
}

impl<'a> Sealing<'a> {
    fn new(seals: &'a Seals, tools: Vec<String>) -> Self {
        let (text, reasoning) = (Stream::default(), Stream::default());
        Self { seals, tools, text, reasoning, arguments: BTreeMap::new() }
    }

    fn add(&mut self, delta: ReplyDelta, ready: &mut Ready) {
        let seals = self.seals;
        match delta {
            ReplyDelta::Text(more) => {
                self.interrupt_all_but(Some(BlockKind::Text), ready);
                push_delta(ready, ReplyDelta::Text, self.text.push(seals, &more));
            }
            ReplyDelta::Reasoning(more) => {
                self.interrupt_all_but(Some(BlockKind::Reasoning), ready);
                push_delta(ready, ReplyDelta::Reasoning, self.reasoning.push(seals, &more));
            }
            ReplyDelta::ToolCallArguments { index, delta } => {
                self.interrupt_all_but(Some(BlockKind::Call), ready);
                self.arguments.entry(index).or_default().push_str(&delta);
            }
            ReplyDelta::ToolCallStarted { index, id, name } => {
                self.interrupt_all_but(Some(BlockKind::Call), ready);
                let name = if self.tools.contains(&name) { name } else { seals.seal(&name) };
                let id = seals.seal(&id);
                ready.push_back(Ok(ReplyDelta::ToolCallStarted { index, id, name }));
            }
            // Nothing of what came before counts any more.
            ReplyDelta::Restarted { model, reason } => {
                *self = Self::new(seals, std::mem::take(&mut self.tools));
                ready.push_back(Ok(ReplyDelta::Restarted { model, reason: seals.seal_cut(&reason) }));
            }
            ReplyDelta::Finished { reason, request_id } => {
                self.interrupt(ready);
                let request_id = request_id.map(|id| seals.seal_cut(&id));
                ready.push_back(Ok(ReplyDelta::Finished { reason, request_id }));
            }
            // Part of no text: nothing is kept back for it.
            usage @ ReplyDelta::Usage(_) => ready.push_back(Ok(usage)),
            other => {
                self.interrupt(ready);
                ready.push_back(Ok(other));
            }
        }
    }

    /// Passes on everything that was kept back.
    fn interrupt(&mut self, ready: &mut Ready) {
        self.interrupt_all_but(None, ready);
    }

    fn interrupt_all_but(&mut self, going_on: Option<BlockKind>, ready: &mut Ready) {
        if going_on != Some(BlockKind::Text) {
            push_delta(ready, ReplyDelta::Text, self.text.interrupt(self.seals));
        }
        if going_on != Some(BlockKind::Reasoning) {
            push_delta(ready, ReplyDelta::Reasoning, self.reasoning.interrupt(self.seals));
        }
        if going_on != Some(BlockKind::Call) {
            for (index, arguments) in std::mem::take(&mut self.arguments) {
                let delta = self.arguments(&arguments);
                ready.push_back(Ok(ReplyDelta::ToolCallArguments { index, delta }));
            }
        }
    }

    /// JSON, unless the model wrote something else.
    fn arguments(&self, text: &str) -> String {
        match serde_json::from_str(text) {
            Ok(value) => json_text(&self.seals.seal_value(&value)),
            Err(_) => self.seals.seal(text),
        }
    }

    fn error(&self, mut error: ModelError) -> ModelError {
        error.message = self.seals.seal_cut(&error.message);
        error.request_id = error.request_id.map(|id| self.seals.seal_cut(&id));
        error
    }
}

/// The kinds of blocks in a reply.
#[derive(PartialEq)]
enum BlockKind {
    Text,
    Reasoning,
    Call,
}

fn push_delta(ready: &mut Ready, delta: impl Fn(String) -> ReplyDelta, text: String) {
    if !text.is_empty() {
        ready.push_back(Ok(delta(text)));
    }
}

/// A conversation with its secrets in it.
pub(super) fn unsealed(seals: &Seals, messages: &Transcript) -> Transcript {
    messages.iter().map(|message| unsealed_message(seals, message)).collect()
}

fn unsealed_message(seals: &Seals, message: &Message) -> Message {
    let parts = message.parts.iter().map(|part| match part.clone() {
        Part::Text { text } => Part::Text { text: seals.unseal(&text) },
        Part::Reasoning { text, signature } => Part::Reasoning { text: seals.unseal(&text), signature },
        Part::ToolCall(mut call) => {
            call.id = seals.unseal(&call.id);
            call.name = seals.unseal(&call.name);
            call.arguments = seals.unseal_value(&call.arguments);
            Part::ToolCall(call)
        }
        Part::ToolResult(mut result) => {
            result.call_id = seals.unseal(&result.call_id);
            result.name = seals.unseal(&result.name);
            result.content = seals.unseal(&result.content);
            Part::ToolResult(result)
        }
        other => other,
    });
    Message { role: message.role, parts: parts.collect() }
}
