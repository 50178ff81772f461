//! Explains why a script has no answer.

use std::fmt::Write;

use convoke_core::{Message, ModelError, ModelErrorKind};

use super::condition::IncomingRequest;
use super::model::{Script, ScriptOrigin};

/// The longest quotation, in characters.
const QUOTED: usize = 100;
/// The longest text in a rule to be added, in characters.
const SUGGESTED: usize = 40;

/// That no rule answers this request, and which one would.
pub(super) fn unanswered(script: &Script, asked: &IncomingRequest<'_>) -> ModelError {
    let mut text = reason(script, asked);
    let _ = write!(text, "\n  last message: {}", last_message(asked));
    if script.rules.is_empty() {
        text.push_str("\n  rules: none");
    } else {
        text.push_str("\n  rules:");
    }
    for (index, rule) in script.rules.iter().enumerate() {
        let _ = write!(text, "\n    {}. {rule}", index + 1);
    }
    let _ = write!(text, "\n  {}", remedy(script, asked));
    ModelError::new(ModelErrorKind::InvalidRequest, text)
}

fn reason(script: &Script, asked: &IncomingRequest<'_>) -> String {
    let (name, call) = (&script.name, asked.call);
    match script.queue_length() {
        Some(1) => format!("model `{name}`: the script has 1 reply and this is call {call}"),
        Some(replies) => format!("model `{name}`: the script has {replies} replies and this is call {call}"),
        None => format!("model `{name}`: no rule of the script answers call {call}"),
    }
}

fn last_message(asked: &IncomingRequest<'_>) -> String {
    let Some(message) = asked.request.messages.last() else {
        return "there is none: the conversation is empty".to_owned();
    };
    let role = format!("{:?}", message.role).to_lowercase();
    let mut said = vec![message.text()];
    said.extend(message.results().map(|result| format!("{}: {}", result.name, result.content)));
    said.retain(|text| !text.is_empty());
    format!("{role}, {:?}", shortened(&said.join("; "), QUOTED))
}

fn remedy(script: &Script, asked: &IncomingRequest<'_>) -> String {
    let (key, value) = condition(asked);
    let rule = match script.origin {
        ScriptOrigin::Rust => {
            format!("`.when(Match::{key}({value}), Reply::text(\"…\"))` or `.otherwise(\"…\")`")
        }
        ScriptOrigin::File => {
            format!(
                "a `[[rule]]` with `when.{key} = {value}` and `reply = \"…\"`, or a last one without `when`"
            )
        }
    };
    match script.queue_length() {
        Some(_) => format!("Add a reply to the list, or {rule}"),
        None => format!("Add {rule}"),
    }
}

/// The narrowest condition that this request meets, as a name and a literal: what the model must answer to.
fn condition(asked: &IncomingRequest<'_>) -> (&'static str, String) {
    let last = asked.request.messages.last();
    if let Some(result) = last.and_then(|message| message.results().next()) {
        return ("tool_result_of", format!("{:?}", result.name));
    }
    if let Some(output) = &asked.request.output {
        return ("output", format!("{:?}", output.name));
    }
    match last.map(Message::text).filter(|text| !text.is_empty()) {
        Some(text) => ("last_contains", format!("{:?}", beginning(&text))),
        None => ("call", asked.call.to_string()),
    }
}

/// The beginning of the first line that says something, at the end of a word if there is one.
fn beginning(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= SUGGESTED {
        return line.to_owned();
    }
    let cut: String = line.chars().take(SUGGESTED).collect();
    cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words).to_owned()
}

fn shortened(text: &str, longest: usize) -> String {
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}
