//! Tracks the origin of thoughts, and whether they may go back.
//!
//! The signature of a thought is one or more lines, each `chat:FIELD:ORIGIN` with the field it came in and the
//! fingerprint of the server and model that gave it. The field `reasoning_details` (OpenRouter's) is followed by `:` and
//! the JSON of the details, which hold what the real provider wants back. Lines, because the parts of a signature that
//! come one after the other are joined.

use std::collections::VecDeque;

use convoke_core::ReplyDelta;
use serde_json::{Map, Value};

use super::common::text;

const PREFIX: &str = "chat:";
const DETAILS: &str = "reasoning_details";

/// The field a thought came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// DeepSeek's, and what most servers took over.
    ReasoningContent,
    /// OpenRouter's, Groq's and newer vLLM's.
    Reasoning,
    /// Mistral's: among the parts of the content.
    Thinking,
}

impl Field {
    /// Its name on the wire.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::Thinking => "thinking",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::ReasoningContent, Self::Reasoning, Self::Thinking]
            .into_iter()
            .find(|field| field.name() == name)
    }
}

/// The mark in the signature of a thought that came from here.
#[derive(Debug, Default)]
pub(super) struct Mark {
    /// The field the thought came in.
    pub(super) field: Option<Field>,
    /// Details that came with it.
    pub(super) details: Vec<Value>,
}

impl Mark {
    /// Reads a signature. What came from elsewhere says nothing.
    pub(super) fn read(signature: &str, origin: &str) -> Self {
        let mut mark = Self::default();
        for line in signature.lines() {
            let Some((name, rest)) = line.strip_prefix(PREFIX).and_then(|line| line.split_once(':')) else {
                continue;
            };
            if rest == origin {
                mark.field = mark.field.or(Field::named(name));
            } else if name == DETAILS
                && let Some((from, json)) = rest.split_once(':')
                && from == origin
            {
                mark.details.extend(serde_json::from_str::<Vec<Value>>(json).unwrap_or_default());
            }
        }
        mark
    }
}

/// The thoughts of a reply as they come in.
#[derive(Debug)]
pub(super) struct Thoughts {
    origin: String,
    /// The field of the thought that is being told.
    open: Option<Field>,
    details: Vec<Value>,
    /// How many bytes of thoughts there are in details, which are given out at the end.
    pub(super) held_back: usize,
}

impl Thoughts {
    pub(super) fn new(origin: &str) -> Self {
        Self { origin: origin.to_owned(), open: None, details: Vec::new(), held_back: 0 }
    }

    /// More of a thought.
    pub(super) fn add(&mut self, field: Field, thought: &str, pieces: &mut VecDeque<ReplyDelta>) {
        if !thought.is_empty() {
            self.open = Some(field);
            pieces.push_back(ReplyDelta::Reasoning(thought.to_owned()));
        }
    }

    /// More details. Pieces of the same one are put together: texts grow, all else is replaced.
    pub(super) fn add_detail(&mut self, piece: &Value) {
        let Some(members) = piece.as_object() else { return };
        self.held_back +=
            ["text", "summary", "data"].map(|name| text(piece, name).len()).iter().sum::<usize>();
        let is_same = |detail: &&mut Value| {
            detail.get("type") == members.get("type") && detail.get("index") == members.get("index")
        };
        // Without an index there is no telling which one is continued.
        let known = self.details.iter_mut().rfind(is_same).filter(|_| members.contains_key("index"));
        match known.and_then(Value::as_object_mut) {
            Some(detail) => members.iter().for_each(|(name, value)| grow(detail, name, value)),
            None => self.details.push(piece.clone()),
        }
    }

    /// The thought is over: the model speaks.
    pub(super) fn close(&mut self, pieces: &mut VecDeque<ReplyDelta>) {
        if let Some(field) = self.open.take() {
            let line = format!("{PREFIX}{}:{}\n", field.name(), self.origin);
            pieces.push_back(ReplyDelta::ReasoningSignature(line));
        }
    }

    /// The reply is over.
    pub(super) fn finish(&mut self, pieces: &mut VecDeque<ReplyDelta>) {
        self.close(pieces);
        if !self.details.is_empty() {
            let json = Value::Array(std::mem::take(&mut self.details));
            let line = format!("{PREFIX}{DETAILS}:{}:{json}\n", self.origin);
            pieces.push_back(ReplyDelta::ReasoningSignature(line));
        }
    }
}

fn grow(detail: &mut Map<String, Value>, name: &str, value: &Value) {
    let grows = ["text", "summary", "data"].contains(&name);
    match (detail.get_mut(name), value) {
        (Some(Value::String(known)), Value::String(more)) if grows => known.push_str(more),
        (Some(_), Value::Null) => {}
        _ => {
            detail.insert(name.to_owned(), value.clone());
        }
    }
}

/// The thoughts in a chunk, whatever field they are in. Servers that send two fields send the same in both.
pub(super) fn in_delta(delta: &Value) -> Option<(Field, &str)> {
    [Field::ReasoningContent, Field::Reasoning]
        .into_iter()
        .map(|field| (field, text(delta, field.name())))
        .find(|(_, thought)| !thought.is_empty())
}
