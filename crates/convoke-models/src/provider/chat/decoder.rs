//! Reads the chunks of a reply, or a reply that comes as one document.

use std::collections::VecDeque;

use convoke_core::{FinishReason, ModelError, ModelErrorKind, ReplyDelta, Usage};
use serde_json::Value;

use super::calls::Calls;
use super::common::text;
use super::thoughts::{Field, Thoughts, in_delta};
use super::{failure, usage};
use crate::http::Frame;
use crate::provider::Decoder;
use crate::provider::json::parse;

/// Reads one reply.
pub(super) struct ChatDecoder {
    thoughts: Thoughts,
    calls: Calls,
    usage: Option<Usage>,
    reply_id: Option<String>,
    /// The model said no, in words.
    refused: bool,
    /// Why it stopped, once that has come.
    finish: Option<FinishReason>,
    done: bool,
}

impl ChatDecoder {
    pub(super) fn new(origin: &str) -> Self {
        Self {
            thoughts: Thoughts::new(origin),
            calls: Calls::default(),
            usage: None,
            reply_id: None,
            refused: false,
            finish: None,
            done: false,
        }
    }

    fn chunk(&mut self, chunk: &Value, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        if self.reply_id.is_none() {
            self.reply_id = Some(text(chunk, "id").to_owned()).filter(|id| !id.is_empty());
        }
        let choices = chunk.get("choices").and_then(Value::as_array).into_iter().flatten();
        // Further choices are other answers to the same question.
        let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let read = choices.filter(is_first).try_for_each(|choice| self.choice(choice, pieces));
        self.count(chunk, pieces);
        read
    }

    /// What was used so far. It counts also where the reply failed.
    fn count(&mut self, chunk: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        if let Some(usage) = usage::in_chunk(chunk)
            && self.usage != Some(usage)
        {
            self.usage = Some(usage);
            pieces.push_back(ReplyDelta::Usage(usage));
        }
    }

    fn choice(&mut self, choice: &Value, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        let whole = choice.get("message").filter(|message| message.is_object());
        if let Some(delta) = choice.get("delta").filter(|delta| delta.is_object()).or(whole) {
            self.delta(delta, pieces);
        }
        match choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            Some(reason) => self.finish = Some(finish(reason, choice)?),
            // A whole message is over, whether or not it says so.
            None if whole.is_some() => self.finish = self.finish.or(Some(FinishReason::Stop)),
            None => {}
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        if let Some((field, thought)) = in_delta(delta) {
            self.thoughts.add(field, thought, pieces);
        }
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        details.into_iter().flatten().for_each(|detail| self.thoughts.add_detail(detail));
        match delta.get("content") {
            Some(Value::String(words)) => self.push_text(words, pieces),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, pieces)),
            _ => {}
        }
        let refusal = text(delta, "refusal");
        self.refused |= !refusal.is_empty();
        self.push_text(refusal, pieces);
        let calls = delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        // What calls were called before there could be several.
        let old = delta.get("function_call").filter(|call| call.is_object());
        for call in calls.chain(old) {
            self.thoughts.close(pieces);
            self.calls.add(call, pieces);
        }
    }

    /// Mistral's content may be a list of texts and thoughts.
    fn part(&mut self, part: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        match part.get("thinking") {
            None => self.push_text(text(part, "text"), pieces),
            Some(Value::String(thought)) => self.thoughts.add(Field::Thinking, thought, pieces),
            Some(thoughts) => {
                for thought in thoughts.as_array().into_iter().flatten() {
                    self.thoughts.add(Field::Thinking, text(thought, "text"), pieces);
                }
            }
        }
    }

    fn push_text(&mut self, words: &str, pieces: &mut VecDeque<ReplyDelta>) {
        if !words.is_empty() {
            self.thoughts.close(pieces);
            pieces.push_back(ReplyDelta::Text(words.to_owned()));
        }
    }

    /// Ends the reply, if it said why it stopped. One that did not was cut off.
    fn finish(&mut self, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        let Some(reason) = self.finish.filter(|_| !self.done) else { return Ok(()) };
        let reason = match reason {
            FinishReason::Length | FinishReason::ContentFilter => reason,
            _ if self.refused => FinishReason::ContentFilter,
            // Some say `stop` and mean calls, or the other way round.
            _ if self.calls.is_empty() => FinishReason::Stop,
            _ => {
                self.calls.finish()?;
                FinishReason::ToolCalls
            }
        };
        self.thoughts.finish(pieces);
        pieces.push_back(ReplyDelta::Finished { reason, request_id: self.reply_id.take() });
        self.done = true;
        Ok(())
    }
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, frame: &Frame, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        match frame.data.trim() {
            _ if self.done => return Ok(()),
            "" => return Ok(()),
            "[DONE]" => return self.finish(pieces),
            _ => {}
        }
        let chunk = parse(&frame.data)?;
        let has_error = chunk.get("error").is_some_and(|error| !error.is_null());
        if has_error || text(&chunk, "object") == "error" || frame.event.as_deref() == Some("error") {
            self.count(&chunk, pieces);
            return Err(failure::in_stream(&chunk));
        }
        self.chunk(&chunk, pieces)
    }

    fn end(&mut self, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        self.finish(pieces)
    }

    fn held_back(&self) -> usize {
        self.thoughts.held_back
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }
}

fn finish(reason: &str, choice: &Value) -> Result<FinishReason, ModelError> {
    Ok(match reason {
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "content_filter" | "safety" => FinishReason::ContentFilter,
        "error" if choice.get("error").is_some() => return Err(failure::in_stream(choice)),
        "error" | "abort" | "insufficient_system_resource" => {
            let message = format!("the server gave up in the middle of the reply ({reason})");
            return Err(ModelError::new(ModelErrorKind::Overloaded, message));
        }
        // `stop`, and what servers call it besides.
        _ => FinishReason::Stop,
    })
}
