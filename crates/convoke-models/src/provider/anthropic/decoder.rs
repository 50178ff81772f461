//! Decodes a reply, event by event.

use std::collections::{BTreeMap, VecDeque};

use convoke_core::{FinishReason, ModelError, ModelErrorKind, Price, ReplyDelta};
use serde_json::Value;

use super::counts::UsageCounts;
use super::tools::ANSWER;
use super::{error, thoughts};
use crate::http::Frame;
use crate::provider::Decoder;
use crate::provider::failure::words;
use crate::provider::json::parse;
use crate::provider::reply_size::length;

type Pieces = VecDeque<ReplyDelta>;

/// What to say about a turn that is to be continued.
const PAUSED: &str = "the model paused its turn in the middle of the provider's own tools (pause_turn), and such turns cannot be \
                      continued here; have it do less at a time, or leave these tools out of what is added to requests";

/// Reads one reply, streamed or whole.
#[derive(Debug, Default)]
pub(super) struct AnthropicDecoder {
    /// Where the reply comes from, for its thoughts.
    origin: String,
    price: Option<Price>,
    /// Whether the answer is to be a tool's arguments.
    by_tool: bool,
    /// Whether it has come.
    answered: bool,
    /// Words that are no answer if one comes yet, and what followed them.
    held: Pieces,
    /// How many bytes were ever held back so.
    held_bytes: usize,
    /// The blocks that have begun, by their position.
    blocks: BTreeMap<u64, Block>,
    /// How many calls there are.
    calls: usize,
    /// Whether the last thing that came is a thought.
    thought_last: bool,
    counts: UsageCounts,
    stop: Option<String>,
    finished: bool,
}

/// What a block is.
#[derive(Debug, Clone, Copy)]
enum Block {
    Text,
    /// A call whose arguments are the answer.
    Answer,
    Call {
        index: usize,
    },
    Thought {
        has_text: bool,
        has_proof: bool,
    },
    /// Nothing of ours: the provider's own tools, and what is not known yet.
    Other,
}

impl Decoder for AnthropicDecoder {
    fn frame(&mut self, frame: &Frame, pieces: &mut Pieces) -> Result<(), ModelError> {
        if self.finished {
            return Ok(());
        }
        let mut fresh = Pieces::new();
        let read = self.event(frame, &mut fresh);
        self.emit(fresh, pieces);
        read
    }

    fn held_back(&self) -> usize {
        self.held_bytes
    }
}

impl AnthropicDecoder {
    pub(super) fn new(origin: &str, price: Option<Price>, by_tool: bool) -> Self {
        Self { origin: origin.to_owned(), price, by_tool, ..Self::default() }
    }

    /// Gives pieces out. A model that is to answer by a tool may say a few words before: they wait, with what follows
    /// them, until it is known whether the answer comes. What was used is never held back.
    fn emit(&mut self, fresh: Pieces, pieces: &mut Pieces) {
        let is_open = self.by_tool && !self.answered && !self.finished;
        if !is_open {
            pieces.append(&mut self.held);
        }
        for piece in fresh {
            let follows = matches!(piece, ReplyDelta::Text(_)) || !self.held.is_empty();
            let waits = is_open && follows && !matches!(piece, ReplyDelta::Usage(_));
            if waits {
                self.held_bytes += length(&piece);
                self.held.push_back(piece);
            } else {
                pieces.push_back(piece);
            }
        }
    }

    fn event(&mut self, frame: &Frame, pieces: &mut Pieces) -> Result<(), ModelError> {
        let event = parse(&frame.data)?;
        let kind = event["type"].as_str().or(frame.event.as_deref()).unwrap_or_default();
        match kind {
            "message_start" => self.count(&event["message"]["usage"], pieces),
            "content_block_start" => {
                let at = event["index"].as_u64().unwrap_or_default();
                let block = self.begin(&event["content_block"], pieces);
                self.blocks.insert(at, block);
            }
            "content_block_delta" => {
                let at = event["index"].as_u64().unwrap_or_default();
                let mut block = self.blocks.get(&at).copied().unwrap_or(Block::Other);
                self.block_delta(&mut block, &event["delta"], pieces);
                self.blocks.insert(at, block);
            }
            "message_delta" => {
                self.stopped(&event["delta"]["stop_reason"]);
                self.count(&event["usage"], pieces);
            }
            "message_stop" => return self.finish(pieces),
            "message" => return self.whole(&event, pieces),
            "error" => return Err(failed(&event)),
            // Pings, ends of blocks, and what is yet to be invented.
            _ => {}
        }
        Ok(())
    }

    /// A block begins; it may bring some of its content along.
    fn begin(&mut self, block: &Value, pieces: &mut Pieces) -> Block {
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                self.push_text(&block["text"], pieces);
                Block::Text
            }
            // One answer is enough.
            "tool_use" if block["name"] == ANSWER && self.answered => Block::Other,
            "tool_use" if block["name"] == ANSWER => {
                self.answered = true;
                let stays = |piece: &ReplyDelta| !matches!(piece, ReplyDelta::Text(_));
                self.held.retain(stays);
                pieces.retain(stays);
                Block::Answer
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                self.thought_last = false;
                let owned = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let (id, name) = (owned(&block["id"]), owned(&block["name"]));
                pieces.push_back(ReplyDelta::ToolCallStarted { index, id, name });
                Block::Call { index }
            }
            "thinking" => {
                let mut thought = Block::Thought { has_text: false, has_proof: false };
                self.block_delta(&mut thought, block, pieces);
                thought
            }
            "redacted_thinking" => {
                let data = block["data"].as_str().unwrap_or_default();
                self.push_signature(thoughts::HIDDEN, data, pieces);
                Block::Other
            }
            _ => Block::Other,
        }
    }

    /// More of a block: every kind of content has a name of its own.
    fn block_delta(&mut self, block: &mut Block, delta: &Value, pieces: &mut Pieces) {
        match block {
            Block::Text => self.push_text(&delta["text"], pieces),
            Block::Answer => self.answer(&delta["partial_json"], pieces),
            Block::Call { index } => {
                if let Some(more) = non_empty(&delta["partial_json"]) {
                    pieces.push_back(ReplyDelta::ToolCallArguments { index: *index, delta: more.to_owned() });
                }
            }
            Block::Thought { has_text, has_proof } => {
                if let Some(more) = non_empty(&delta["thinking"]) {
                    *has_text = true;
                    self.thought_last = true;
                    pieces.push_back(ReplyDelta::Reasoning(more.to_owned()));
                }
                match non_empty(&delta["signature"]) {
                    Some(more) if *has_proof => {
                        pieces.push_back(ReplyDelta::ReasoningSignature(more.to_owned()));
                    }
                    Some(proof) => {
                        *has_proof = true;
                        // A thought with text has a part of its own by now.
                        self.thought_last &= !*has_text;
                        self.push_signature(thoughts::SIGNED, proof, pieces);
                    }
                    None => {}
                }
            }
            Block::Other => {}
        }
    }

    /// Words. Beside an answer that is a tool's arguments they are no part of it.
    fn push_text(&mut self, text: &Value, pieces: &mut Pieces) {
        if self.answered {
            return;
        }
        let thought_last = self.thought_last;
        self.answer(text, pieces);
        if self.by_tool {
            // Words that may be taken back do not part thoughts.
            self.thought_last = thought_last;
        }
    }

    fn answer(&mut self, text: &Value, pieces: &mut Pieces) {
        if let Some(text) = non_empty(text) {
            self.thought_last = false;
            pieces.push_back(ReplyDelta::Text(text.to_owned()));
        }
    }

    /// The beginning of a thought's proof, told apart from the one before it.
    fn push_signature(&mut self, mark: &str, proof: &str, pieces: &mut Pieces) {
        let mut line = String::new();
        if self.thought_last {
            line.push(thoughts::NEXT);
        }
        line.push_str(&thoughts::line(mark, &self.origin, proof));
        self.thought_last = true;
        pieces.push_back(ReplyDelta::ReasoningSignature(line));
    }

    fn stopped(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str() {
            self.stop = Some(reason.to_owned());
        }
    }

    fn count(&mut self, usage: &Value, pieces: &mut Pieces) {
        if usage.is_object() {
            self.counts.update(usage);
            pieces.push_back(ReplyDelta::Usage(self.counts.usage(self.price)));
        }
    }

    fn finish(&mut self, pieces: &mut Pieces) -> Result<(), ModelError> {
        self.finished = true;
        let reason = match self.stop.as_deref() {
            // It goes on if its message is sent back, with what the provider's own tools gave, which is not kept here.
            Some("pause_turn") => return Err(ModelError::new(ModelErrorKind::Other, PAUSED)),
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("refusal") => FinishReason::ContentFilter,
            // Whoever called for the answer's tool only has answered.
            _ if self.calls > 0 => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        };
        pieces.push_back(ReplyDelta::Finished { reason, request_id: None });
        Ok(())
    }

    /// A reply that was not streamed.
    fn whole(&mut self, message: &Value, pieces: &mut Pieces) -> Result<(), ModelError> {
        for block in message["content"].as_array().into_iter().flatten() {
            match self.begin(block, pieces) {
                Block::Answer => self.answer(&Value::String(block["input"].to_string()), pieces),
                Block::Call { index } => {
                    let delta = block["input"].to_string();
                    pieces.push_back(ReplyDelta::ToolCallArguments { index, delta });
                }
                Block::Text | Block::Thought { .. } | Block::Other => {}
            }
        }
        self.stopped(&message["stop_reason"]);
        self.count(&message["usage"], pieces);
        self.finish(pieces)
    }
}

/// The text, if there is any.
fn non_empty(text: &Value) -> Option<&str> {
    text.as_str().filter(|text| !text.is_empty())
}

fn failed(event: &Value) -> ModelError {
    error::read(event)
        .unwrap_or_else(|| ModelError::new(ModelErrorKind::Other, words(event, &event.to_string())))
}
