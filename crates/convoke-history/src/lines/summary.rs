//! An effect in one line.

use convoke_core::{FinishReason, ModelReply, RunStatus};
use convoke_text::columns;
use serde_json::Value;

use super::Rich;
use crate::account::{answer_text, left_out_text, unfinished};
use crate::{Detail, Effect, EffectStatus, History, Tone, human, text};

/// What was asked is shown in at most so many columns, and in at least so many if the line is too long.
const ASKED: (usize, usize) = (12, 48);

/// An effect in one line: `#4 tool search({"query":"looms"}) → 3 results`. Where room is short, what was asked gives way
/// before what came of it does.
#[derive(Debug)]
pub(super) struct Summary {
    number: String,
    label: String,
    asked: String,
    given: Rich,
}

impl Summary {
    /// The line of an effect of a run that called these models.
    pub(super) fn new(history: &History, effect: &Effect, models: &[&str]) -> Self {
        let current = effect.current();
        let mut result = Rich::default();
        if let Some((tone, given)) = given(history, effect) {
            result = result.with(Tone::Faint, " → ").with(tone, given);
        }
        let failed = effect.attempts.len() as u64 - 1;
        if failed > 0 {
            result =
                result.with(Tone::Caution, format!(" (after {})", human::count(failed, "failed attempt")));
        }
        Self {
            number: format!("#{} ", current.first_seq()),
            label: label(effect),
            asked: asked(&current.detail, models),
            given: result,
        }
    }

    /// The line after `left`, in at most so many columns.
    pub(super) fn fit(&self, left: Rich, width: usize) -> Rich {
        let start = left.with(Tone::Accent, &*self.number).with(Tone::Faint, &*self.label);
        let room = width.saturating_sub(start.width() + self.given.width());
        let asked = shortened(&self.asked, room.clamp(ASKED.0, ASKED.1));
        start.with(Tone::Plain, asked).then(self.given.clone()).cut(width)
    }
}

/// What was asked, cut; a call keeps its last parenthesis.
fn shortened(asked: &str, room: usize) -> String {
    match asked.strip_suffix(')') {
        Some(call) if columns::width(asked) > room => format!("{})", columns::cut(call, room - 1)),
        _ => columns::cut(asked, room),
    }
}

fn label(effect: &Effect) -> String {
    match effect.current().detail {
        Detail::StepTimeout => "step".to_owned(),
        Detail::Tool { .. }
        | Detail::Ask { .. }
        | Detail::Sleep { .. }
        | Detail::Receive { .. }
        | Detail::Custom { .. } => {
            format!("{} ", effect.kind)
        }
        _ => effect.kind.to_string(),
    }
}

fn asked(detail: &Detail, models: &[&str]) -> String {
    match detail {
        // Which model it was is worth a word only where it could have been another.
        Detail::Model { model, .. } if models.len() > 1 => format!(" {}", text::one_line(model)),
        Detail::Tool { tool, arguments, .. } => call(tool, arguments),
        Detail::Ask { question, .. } => text::one_line(&question.title),
        Detail::Sleep { duration } => human::duration(*duration),
        Detail::Receive { channel, .. } => text::one_line(channel),
        Detail::Custom { name, request, .. } => call(name, request),
        _ => String::new(),
    }
}

fn given(history: &History, effect: &Effect) -> Option<(Tone, String)> {
    let current = effect.current();
    if let Some(error) = &current.error {
        let error = text::one_line(&error.to_string());
        return Some(match (effect.status(), history.left_out(effect)) {
            (EffectStatus::Superseded, Some(reason)) => (Tone::Faint, left_out_text(&reason)),
            (EffectStatus::Superseded, None) if history.record.status == RunStatus::Completed => {
                (Tone::Faint, format!("not needed in the end; it was interrupted: {error}"))
            }
            (EffectStatus::Superseded, None) => {
                (Tone::Caution, format!("to be performed anew; it failed: {error}"))
            }
            _ => (Tone::Bad, format!("failed: {error}")),
        });
    }
    if effect.status() == EffectStatus::Begun {
        return Some(unfinished(history, effect));
    }
    Some(match &current.detail {
        Detail::Model { reply: Some(reply), .. } => model_reply(reply),
        Detail::Tool { result: Some(result), .. } if result.is_error => {
            (Tone::Bad, format!("error: {}", text::one_line(&result.content)))
        }
        Detail::Tool { result: Some(result), .. } => (Tone::Plain, text::one_line(&result.content)),
        Detail::Ask { answer: Some(answer), .. } => (Tone::Plain, text::one_line(&answer_text(answer))),
        Detail::Now { time: Some(time) } => (Tone::Plain, time.to_string()),
        Detail::Receive { received: Some(received), .. } => (Tone::Plain, compact(&received.payload)),
        Detail::Custom { value: Some(value), .. } | Detail::Decision { choice: Some(value) } => {
            (Tone::Plain, compact(value))
        }
        Detail::Continue { generation } => (Tone::Plain, format!("generation {generation}")),
        Detail::Unreadable { .. } => (Tone::Caution, "cannot be read by this version".to_owned()),
        _ => return None,
    })
}

fn model_reply(reply: &ModelReply) -> (Tone, String) {
    let said = reply.text();
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let mut parts: Vec<String> = lines.next().map(text::one_line).into_iter().collect();
    if lines.next().is_some() {
        parts.push("…".to_owned());
    }
    let calls: Vec<String> = reply.message.tool_calls().map(|call| text::one_line(&call.name)).collect();
    if !calls.is_empty() {
        parts.push(format!("(calls {})", calls.join(", ")));
    }
    let tone = match reply.finish {
        FinishReason::Length => {
            parts.insert(0, "(cut off)".to_owned());
            Tone::Caution
        }
        FinishReason::ContentFilter => {
            parts.insert(0, "(refused)".to_owned());
            Tone::Caution
        }
        _ => Tone::Plain,
    };
    (tone, parts.join(" "))
}

fn call(name: &str, arguments: &Value) -> String {
    let arguments = match arguments {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        other => compact(other),
    };
    format!("{}({arguments})", text::one_line(name))
}

fn compact(value: &Value) -> String {
    text::one_line(&value.to_string())
}
