//! Describes how two requests differ.

use std::fmt;

use serde_json::Value;

use super::exchange::{RecordedRequest, RequestBody};

/// How much of a value is shown.
const SHOWN: usize = 60;

/// How much is shown of what is still the same before a text begins to differ.
const LEAD: usize = 15;

/// The first difference between a recorded request and one that was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    place: String,
    recorded: String,
    asked: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: recorded {}, asked {}", self.place, self.recorded, self.asked)
    }
}

/// The first difference, if there is one.
pub(super) fn first(recorded: &RecordedRequest, asked: &RecordedRequest) -> Option<Difference> {
    let plain = |place: &str, recorded: &dyn fmt::Display, asked: &dyn fmt::Display| {
        Some(Difference { place: place.to_owned(), recorded: recorded.to_string(), asked: asked.to_string() })
    };
    if recorded.method != asked.method {
        return plain("in its method", &recorded.method, &asked.method);
    }
    if recorded.path != asked.path {
        return plain("in its path", &recorded.path, &asked.path);
    }
    match (&recorded.body, &asked.body) {
        (recorded, asked) if recorded == asked => None,
        (RequestBody::Json(recorded), RequestBody::Json(asked)) => {
            in_values(&mut String::new(), recorded, asked)
        }
        (RequestBody::Text(recorded), RequestBody::Text(asked)) => {
            let (recorded, asked) = texts(recorded, asked);
            plain("in its body", &recorded, &asked)
        }
        (recorded, asked) => plain("in its body", &kind(recorded), &kind(asked)),
    }
}

/// How far apart two requests are: by how many values their bodies differ, and far more if they go elsewhere.
pub(super) fn distance(recorded: &RecordedRequest, asked: &RecordedRequest) -> usize {
    const ELSEWHERE: usize = 1 << 32;
    let elsewhere = usize::from(recorded.method != asked.method) + usize::from(recorded.path != asked.path);
    let bodies = match (&recorded.body, &asked.body) {
        (RequestBody::Json(recorded), RequestBody::Json(asked)) => changes(recorded, asked),
        (recorded, asked) => usize::from(recorded != asked),
    };
    elsewhere * ELSEWHERE + bodies
}

fn in_values(pointer: &mut String, recorded: &Value, asked: &Value) -> Option<Difference> {
    let length = pointer.len();
    match (recorded, asked) {
        (recorded, asked) if recorded == asked => None,
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            keys.into_iter().find_map(|key| {
                pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
                let found = in_options(pointer, left.get(key), right.get(key));
                pointer.truncate(length);
                found
            })
        }
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len())).find_map(|index| {
            pointer.push_str(&format!("/{index}"));
            let found = in_options(pointer, left.get(index), right.get(index));
            pointer.truncate(length);
            found
        }),
        (Value::String(left), Value::String(right)) => {
            let (recorded, asked) = texts(left, right);
            Some(Difference { place: place(pointer), recorded, asked })
        }
        (recorded, asked) => {
            Some(Difference { place: place(pointer), recorded: shown(recorded), asked: shown(asked) })
        }
    }
}

fn in_options(pointer: &mut String, recorded: Option<&Value>, asked: Option<&Value>) -> Option<Difference> {
    if let (Some(recorded), Some(asked)) = (recorded, asked) {
        return in_values(pointer, recorded, asked);
    }
    let said = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), shown);
    Some(Difference { place: place(pointer), recorded: said(recorded), asked: said(asked) })
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { "in its body".to_owned() } else { format!("at `{pointer}`") }
}

/// Both texts from shortly before they begin to differ.
fn texts(recorded: &str, asked: &str) -> (String, String) {
    let same = recorded.chars().zip(asked.chars()).take_while(|(left, right)| left == right).count();
    let from = same.saturating_sub(LEAD);
    let excerpt = |text: &str| {
        let before = if from > 0 { "…" } else { "" };
        let shown: String = text.chars().skip(from).take(SHOWN).collect();
        let after = if text.chars().count() > from + SHOWN { "…" } else { "" };
        Value::String(format!("{before}{shown}{after}")).to_string()
    };
    (excerpt(recorded), excerpt(asked))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn kind(content: &RequestBody) -> &'static str {
    match content {
        RequestBody::Empty => "nothing",
        RequestBody::Json(_) => "JSON",
        RequestBody::Text(_) => "text that is not JSON",
        RequestBody::Bytes(_) => "bytes that are not text",
    }
}

/// By how many values they differ; what only one of them has counts in full.
fn changes(left: &Value, right: &Value) -> usize {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let of_left = left.iter().map(|(key, value)| {
                right.get(key).map_or_else(|| size(value), |other| changes(value, other))
            });
            let only_right = right.iter().filter(|(key, _)| !left.contains_key(*key));
            of_left.sum::<usize>() + only_right.map(|(_, value)| size(value)).sum::<usize>()
        }
        (Value::Array(left), Value::Array(right)) => {
            let common = left.len().min(right.len());
            let changed = left.iter().zip(right).map(|(left, right)| changes(left, right)).sum::<usize>();
            changed + left[common..].iter().chain(&right[common..]).map(size).sum::<usize>()
        }
        (left, right) if left == right => 0,
        (left, right) => size(left).max(size(right)),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(values) => 1 + values.values().map(size).sum::<usize>(),
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
