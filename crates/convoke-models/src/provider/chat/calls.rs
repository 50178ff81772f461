//! Assembles tool calls from their pieces.
//!
//! A call should come with an index, its id and name first and its arguments bit by bit. Servers leave out the index,
//! use one index for several calls, send calls whole, repeat ids and names with every piece, or give arguments as
//! objects instead of text.

use std::collections::VecDeque;

use convoke_core::{ModelError, ModelErrorKind, ReplyDelta};
use serde_json::Value;

use super::common::text;
use crate::provider::reply_size::MOST_CALLS;

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<PartialCall>,
}

#[derive(Debug, Default)]
struct PartialCall {
    /// The server's number for it.
    number: Option<u64>,
    id: String,
    /// Empty until it is known; nothing is told before.
    name: String,
    arguments: String,
}

impl Calls {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece of a call: `{index, id, function: {name, arguments}}`, or as much of that as there is.
    pub(super) fn add(&mut self, piece: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        let function = piece.get("function").unwrap_or(piece);
        let (id, name) = (text(piece, "id"), text(function, "name"));
        let number = piece.get("index").and_then(Value::as_u64);
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(value) => value.to_string(),
        };
        // The reply is stopped once it has been told of so many.
        if self.calls.len() > MOST_CALLS {
            return;
        }
        let index = self.position(number, id, name, &arguments).unwrap_or_else(|| {
            self.calls.push(PartialCall { number, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[index];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let is_repeated = !name.is_empty() && is_whole(&call.arguments) && call.arguments == arguments;
        let fresh = if is_repeated { "" } else { arguments.as_str() };
        call.arguments.push_str(fresh);
        let told = if call.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut call.name);
            pieces.push_back(ReplyDelta::ToolCallStarted {
                index,
                id: call.id.clone(),
                name: name.to_owned(),
            });
            call.arguments.clone()
        } else {
            fresh.to_owned()
        };
        if !call.name.is_empty() && !told.is_empty() {
            pieces.push_back(ReplyDelta::ToolCallArguments { index, delta: told });
        }
    }

    /// Which call a piece belongs to; `None` if it begins one.
    fn position(&self, number: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let Some(number) = number else {
            if !id.is_empty() {
                return self.calls.iter().rposition(|call| call.id == id);
            }
            return if name.is_empty() { self.calls.len().checked_sub(1) } else { None };
        };
        let at = self.calls.iter().rposition(|call| call.number == Some(number))?;
        let call = &self.calls[at];
        if id.is_empty() || call.id.is_empty() {
            // Two whole calls under one number, neither with an id.
            let is_another = !name.is_empty() && is_whole(&call.arguments) && is_whole(arguments);
            return (!is_another).then_some(at);
        }
        self.calls.iter().rposition(|call| call.number == Some(number) && call.id == id)
    }

    /// The model wants them made. One without a name cannot be.
    pub(super) fn finish(&self) -> Result<(), ModelError> {
        match self.calls.iter().find(|call| call.name.is_empty()) {
            None => Ok(()),
            Some(call) => {
                let message = format!("the reply has a tool call without a name (id `{}`)", call.id);
                Err(ModelError::new(ModelErrorKind::Malformed, message))
            }
        }
    }
}

fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}
