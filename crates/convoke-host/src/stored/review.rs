//! Questions for review: the result of a goal, and what there is to judge it by.

use convoke_core::Question;
use convoke_goals::supervise::Trigger;
use convoke_history::Tone;
use convoke_history::account::{TextBlock, question_blocks, question_conditions, readable_json};
use convoke_history::lines::{BlockLines, Rich};
use serde_json::{Map, Value};

/// What matters most of a goal's result, in this order, and how many lines of it are shown at first.
const FIRST: [(&str, &str, usize); 6] = [
    ("goal", "goal", 3),
    ("output", "output", 12),
    ("fields", "fields", 6),
    ("incomplete", "cut short", 2),
    ("missing", "missing", 2),
    ("triggers", "noticed", 4),
];

/// The rest of it.
const REST: [(&str, &str); 7] = [
    ("commitment", "planned"),
    ("commitment_unavailable", "planned"),
    ("assessment", "assessed"),
    ("assessment_unavailable", "assessed"),
    ("corrections", "corrected"),
    ("unconverged", "limit"),
    ("tools", "tools"),
];

/// So much of it is shown at first, in lines.
const SHOWN: usize = 20;

/// The body of a question in short: all of it, if that is not much; otherwise `more` says how to see the rest.
#[must_use]
pub fn question_brief(question: &Question, width: Option<usize>, more: &str) -> Vec<Rich> {
    let all = question_body(question, width);
    if all.len() <= SHOWN {
        return all;
    }
    // Of a call that is asked about, the details name all that needs asking: nothing of them is left out.
    let is_call = question.subject.get("tool").is_some();
    let parts: Vec<(TextBlock, usize)> = match judged(question) {
        Some(subject) => FIRST
            .iter()
            .filter_map(|(key, label, most)| Some((part(subject, key, label)?, *most)))
            .chain(question_conditions(question).into_iter().map(|block| (block, 2)))
            .collect(),
        None => question_blocks(question)
            .into_iter()
            .skip(1)
            .map(|block| match is_call && block.label() == "details" {
                true => (block, usize::MAX),
                false => (block, SHOWN / 2),
            })
            .collect(),
    };
    let margin = Rich::plain("  ");
    let lines = parts.iter().flat_map(|(block, most)| block.lines(&margin, width, Some(*most)));
    lines.chain(Rich::new(Tone::Faint, format!("  {more}")).wrap(width, 2)).collect()
}

/// All there is to a question besides its title.
#[must_use]
pub fn question_body(question: &Question, width: Option<usize>) -> Vec<Rich> {
    let parts: Vec<TextBlock> = match judged(question) {
        Some(subject) => {
            let first = FIRST.iter().map(|(key, label, _)| (*key, *label));
            let parts = first.chain(REST).filter_map(|(key, label)| part(subject, key, label));
            parts.chain(question_conditions(question)).collect()
        }
        None => question_blocks(question).into_iter().skip(1).collect(),
    };
    parts.iter().flat_map(|block| block.lines(&Rich::plain("  "), width, None)).collect()
}

/// The subject of a question about a goal's result.
fn judged(question: &Question) -> Option<&Map<String, Value>> {
    question.subject.as_object().filter(|subject| subject.get("output").is_some_and(Value::is_string))
}

/// What there is to one part of it.
fn part(subject: &Map<String, Value>, key: &str, label: &'static str) -> Option<TextBlock> {
    let value = subject.get(key)?;
    match (key, value) {
        ("triggers", Value::Array(reasons)) => {
            let reasons: Vec<String> = reasons.iter().map(trigger_words).collect();
            block(label, &Value::String(reasons.join("\n")))
        }
        _ => block(label, value),
    }
}

/// Describes why somebody should look, in words if it is a reason that is known here.
#[must_use]
pub fn trigger_words(written: &Value) -> String {
    let known = written.as_str().and_then(Trigger::read);
    known.map_or_else(|| readable_json(written), |trigger| trigger.words())
}

/// What there is to a value; of a plan or an assessment, what it says nothing about is left out.
fn block(label: &'static str, value: &Value) -> Option<TextBlock> {
    let text = match value {
        Value::Null => return None,
        Value::Array(items) => items.iter().map(readable_json).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let mut said = members.clone();
            said.retain(|_, value| !is_empty(value));
            if said.is_empty() { String::new() } else { readable_json(&Value::Object(said)) }
        }
        other => readable_json(other),
    };
    (!text.is_empty()).then(|| TextBlock::new(label, text))
}

/// Whether there is nothing in it.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}
