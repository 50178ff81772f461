//! An effect in one line.

use convoke_core::{EffectKind, FinishReason, ModelReply};
use convoke_history::{Detail, Effect, History, Standing};
use serde_json::Value;

use super::question;
use crate::human;
use crate::terminal::{Ink, Rich, text};

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
        if let Some((ink, given)) = given(history, effect) {
            result = result.with(Ink::Faint, " → ").with(ink, given);
        }
        let failed = effect.attempts.len() as u64 - 1;
        if failed > 0 {
            result =
                result.with(Ink::Caution, format!(" (after {})", human::count(failed, "failed attempt")));
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
        let start = left.with(Ink::Accent, &*self.number).with(Ink::Faint, &*self.label);
        let room = width.saturating_sub(start.width() + self.given.width());
        let asked = shortened(&self.asked, room.clamp(ASKED.0, ASKED.1));
        start.with(Ink::Plain, asked).then(self.given.clone()).cut(width)
    }
}

/// What was asked, cut; a call keeps its last parenthesis.
fn shortened(asked: &str, columns: usize) -> String {
    match asked.strip_suffix(')') {
        Some(call) if text::width(asked) > columns => format!("{})", text::cut(call, columns - 1)),
        _ => text::cut(asked, columns),
    }
}

fn label(effect: &Effect) -> String {
    match effect.current().detail {
        Detail::Fate => "step".to_owned(),
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

/// The models a run called, in the order of their first call.
pub(crate) fn models(history: &History) -> Vec<&str> {
    let mut models: Vec<&str> = Vec::new();
    for effect in &history.effects {
        if let Detail::Model { model, .. } = &effect.current().detail
            && !models.contains(&&**model)
        {
            models.push(model);
        }
    }
    models
}

fn given(history: &History, effect: &Effect) -> Option<(Ink, String)> {
    let current = effect.current();
    if let Some(error) = &current.error {
        let error = text::one_line(&error.to_string());
        return Some(match effect.standing() {
            Standing::Superseded => (Ink::Caution, format!("to be performed anew; it failed: {error}")),
            _ => (Ink::Bad, format!("failed: {error}")),
        });
    }
    if effect.standing() == Standing::Begun {
        return Some(begun(history, effect));
    }
    Some(match &current.detail {
        Detail::Model { reply: Some(reply), .. } => model_reply(reply),
        Detail::Tool { result: Some(result), .. } if result.is_error => {
            (Ink::Bad, format!("error: {}", text::one_line(&result.content)))
        }
        Detail::Tool { result: Some(result), .. } => (Ink::Plain, text::one_line(&result.content)),
        Detail::Ask { answer: Some(answer), .. } => (Ink::Plain, text::one_line(&question::answer(answer))),
        Detail::Now { time: Some(time) } => (Ink::Plain, time.to_string()),
        Detail::Receive { received: Some(received), .. } => (Ink::Plain, compact(&received.payload)),
        Detail::Custom { value: Some(value), .. } | Detail::Decision { choice: Some(value) } => {
            (Ink::Plain, compact(value))
        }
        Detail::Continue { generation } => (Ink::Plain, format!("generation {generation}")),
        Detail::Unreadable { .. } => (Ink::Caution, "cannot be read by this version".to_owned()),
        _ => return None,
    })
}

/// How it stands with something that has no end.
pub(crate) fn begun(history: &History, effect: &Effect) -> (Ink, String) {
    let text = match effect.kind {
        EffectKind::Ask if is_open(history, effect) => "waiting for an answer",
        EffectKind::Ask => "no longer asked",
        _ if history.is_in_doubt(effect) => "in doubt",
        EffectKind::Sleep => "not over yet",
        EffectKind::Receive => "waiting for mail",
        _ => "not finished",
    };
    (Ink::Caution, text.to_owned())
}

/// Whether a question still waits. When its run ends for another reason it is withdrawn.
fn is_open(history: &History, effect: &Effect) -> bool {
    let id = effect.key(&history.record.id);
    history.questions.iter().any(|open| open.pending.id == id)
}

fn model_reply(reply: &ModelReply) -> (Ink, String) {
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
    let ink = match reply.finish {
        FinishReason::Length => {
            parts.insert(0, "(cut off)".to_owned());
            Ink::Caution
        }
        FinishReason::ContentFilter => {
            parts.insert(0, "(refused)".to_owned());
            Ink::Caution
        }
        _ => Ink::Plain,
    };
    (ink, parts.join(" "))
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
