//! Reads the events of a reply, or a reply that comes as one document.

use std::collections::{BTreeMap, VecDeque};

use convoke_core::{FinishReason, ModelError, ModelErrorKind, ReplyDelta, Usage};
use serde_json::Value;

use super::thoughts::Seal;
use crate::http::Frame;
use crate::provider::Decoder;
use crate::provider::chat::common::text;
use crate::provider::chat::failure;
use crate::provider::json::parse;

/// Reads one reply.
pub(super) struct ResponsesDecoder {
    seal: Seal,
    /// The items of the reply by their position.
    items: BTreeMap<u64, OutputItem>,
    calls: usize,
    refused: bool,
    done: bool,
}

/// What is known of an item.
#[derive(Debug, Default)]
struct OutputItem {
    /// Its position among the calls, if it is one.
    call: Option<usize>,
    /// Whether any of its content has been told; what comes whole at the end then says nothing new.
    told: bool,
    /// The piece of a summary that is being told.
    section: u64,
    /// Nothing more comes of it.
    over: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(seal: Seal) -> Self {
        Self { seal, items: BTreeMap::new(), calls: 0, refused: false, done: false }
    }

    fn event(&mut self, event: &Value, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        let at = event.get("output_index").and_then(Value::as_u64).unwrap_or_default();
        let delta = text(event, "delta");
        match text(event, "type") {
            "response.output_item.added" => self.begin(at, &event["item"], pieces),
            "response.output_text.delta" => self.push_text(at, delta, pieces),
            "response.refusal.delta" => {
                self.refused = true;
                self.push_text(at, delta, pieces);
            }
            "response.reasoning_summary_text.delta" => {
                let section = event.get("summary_index").and_then(Value::as_u64).unwrap_or_default();
                self.think(at, section, delta, pieces);
            }
            "response.reasoning_text.delta" => self.think(at, 0, delta, pieces),
            "response.function_call_arguments.delta" => self.argue(at, delta, pieces),
            "response.output_item.done" => self.end_item(at, &event["item"], pieces),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                return self.end_reply(&event["response"], pieces);
            }
            "error" => return Err(failure::in_stream(event)),
            // A reply that was not streamed has no type, but says what it is.
            "" if text(event, "object") == "response" => return self.end_reply(event, pieces),
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(failure::in_stream(event));
            }
            _ => {}
        }
        Ok(())
    }

    fn item(&mut self, at: u64) -> &mut OutputItem {
        self.items.entry(at).or_default()
    }

    fn begin(&mut self, at: u64, item: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        if text(item, "type") != "function_call" || self.item(at).call.is_some() {
            return;
        }
        let index = self.calls;
        self.calls += 1;
        self.item(at).call = Some(index);
        let (id, name) = (text(item, "call_id").to_owned(), text(item, "name").to_owned());
        pieces.push_back(ReplyDelta::ToolCallStarted { index, id, name });
    }

    fn push_text(&mut self, at: u64, words: &str, pieces: &mut VecDeque<ReplyDelta>) {
        if !words.is_empty() {
            self.item(at).told = true;
            pieces.push_back(ReplyDelta::Text(words.to_owned()));
        }
    }

    fn think(&mut self, at: u64, section: u64, thought: &str, pieces: &mut VecDeque<ReplyDelta>) {
        if thought.is_empty() {
            return;
        }
        let item = self.item(at);
        let gap = if item.told && item.section != section { "\n\n" } else { "" };
        (item.told, item.section) = (true, section);
        pieces.push_back(ReplyDelta::Reasoning(format!("{gap}{thought}")));
    }

    fn argue(&mut self, at: u64, delta: &str, pieces: &mut VecDeque<ReplyDelta>) {
        let item = self.item(at);
        if let Some(index) = item.call.filter(|_| !delta.is_empty()) {
            item.told = true;
            pieces.push_back(ReplyDelta::ToolCallArguments { index, delta: delta.to_owned() });
        }
    }

    /// An item is whole. What was not told piece by piece is told now.
    fn end_item(&mut self, at: u64, item: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        if std::mem::replace(&mut self.item(at).over, true) {
            return;
        }
        let told = self.item(at).told;
        let list = |name: &str| item.get(name).and_then(Value::as_array).into_iter().flatten();
        match text(item, "type") {
            "function_call" => {
                self.begin(at, item, pieces);
                if !told {
                    self.argue(at, text(item, "arguments"), pieces);
                }
            }
            "message" => {
                for part in list("content") {
                    let refusal = text(part, "refusal");
                    self.refused |= !refusal.is_empty();
                    if !told {
                        self.push_text(at, text(part, "text"), pieces);
                        self.push_text(at, refusal, pieces);
                    }
                }
            }
            "reasoning" => {
                if !told {
                    for (section, part) in (0..).zip(list("summary").chain(list("content"))) {
                        self.think(at, section, text(part, "text"), pieces);
                    }
                }
                pieces.extend(self.seal.sign(item).map(ReplyDelta::ReasoningSignature));
            }
            // Items of tools that run at OpenAI.
            _ => {}
        }
    }

    fn end_reply(&mut self, reply: &Value, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        let output = reply.get("output").and_then(Value::as_array).into_iter().flatten();
        for (at, item) in (0..).zip(output) {
            self.end_item(at, item, pieces);
        }
        if let Some(usage) = reply.get("usage").filter(|usage| usage.is_object()) {
            pieces.push_back(ReplyDelta::Usage(usage_of(usage)));
        }
        let reason = match text(reply, "status") {
            "completed" if self.refused => FinishReason::ContentFilter,
            "completed" if self.calls > 0 => FinishReason::ToolCalls,
            "completed" => FinishReason::Stop,
            "incomplete" => match reply.pointer("/incomplete_details/reason").and_then(Value::as_str) {
                Some("max_output_tokens") => FinishReason::Length,
                Some("content_filter") => FinishReason::ContentFilter,
                reason => return Err(interrupted(reason.unwrap_or("no reason given"))),
            },
            "failed" => return Err(failure::in_stream(reply)),
            status => return Err(interrupted(status)),
        };
        let request_id = Some(text(reply, "id").to_owned()).filter(|id| !id.is_empty());
        pieces.push_back(ReplyDelta::Finished { reason, request_id });
        self.done = true;
        Ok(())
    }
}

impl Decoder for ResponsesDecoder {
    fn frame(&mut self, frame: &Frame, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        if self.done || ["", "[DONE]"].contains(&frame.data.trim()) {
            return Ok(());
        }
        self.event(&parse(&frame.data)?, pieces)
    }
}

fn interrupted(reason: &str) -> ModelError {
    let message = format!("the reply is not whole ({reason})");
    ModelError::new(ModelErrorKind::Interrupted, message)
}

fn usage_of(usage: &Value) -> Usage {
    let count = |place: &str| usage.pointer(place).and_then(Value::as_u64).unwrap_or_default();
    Usage {
        cached_input_tokens: count("/input_tokens_details/cached_tokens"),
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
        ..Usage::tokens(count("/input_tokens"), count("/output_tokens"))
    }
}
