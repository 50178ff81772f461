//! Estimates the usage of a scripted call when the script does not say: a token for each word.

use convoke_core::{Message, ModelRequest, Part, Usage};

use super::Reply;
use super::reply::argument_text;

/// The words of the conversation and of the reply.
pub(super) fn count(request: &ModelRequest, reply: &Reply) -> Usage {
    let input: u64 = request.messages.iter().map(words_of_message).sum();
    let reasoning = words(reply.reasoning.as_deref().unwrap_or_default());
    let calls: u64 =
        reply.calls.iter().map(|call| words(&call.name) + words(&argument_text(&call.arguments))).sum();
    let output = words(reply.text.as_deref().unwrap_or_default()) + reasoning + calls;
    Usage { reasoning_tokens: reasoning, ..Usage::tokens(input, output) }
}

fn words_of_message(message: &Message) -> u64 {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text { text } | Part::Reasoning { text, .. } => words(text),
        Part::ToolCall(call) => words(&call.name) + words(&argument_text(&call.arguments)),
        Part::ToolResult(result) => words(&result.content),
        // Pictures and documents have no words.
        _ => 0,
    });
    parts.sum()
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}
