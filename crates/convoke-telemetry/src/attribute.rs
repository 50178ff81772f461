//! Builds attributes of spans.

use opentelemetry::{Array, KeyValue, StringValue, Value};

pub(crate) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    pair(key, value.into())
}

pub(crate) fn integer(key: &str, value: u64) -> KeyValue {
    pair(key, i64::try_from(value).unwrap_or(i64::MAX))
}

pub(crate) fn number(key: &str, value: f64) -> KeyValue {
    pair(key, value)
}

pub(crate) fn flag(key: &str, value: bool) -> KeyValue {
    pair(key, value)
}

pub(crate) fn texts(key: &str, values: impl IntoIterator<Item = String>) -> KeyValue {
    let values = values.into_iter().map(StringValue::from).collect();
    pair(key, Value::Array(Array::String(values)))
}

/// A plain value of JSON; what has parts goes as its text.
pub(crate) fn json(key: &str, value: &serde_json::Value) -> KeyValue {
    match value {
        serde_json::Value::String(value) => text(key, value),
        serde_json::Value::Bool(value) => flag(key, *value),
        serde_json::Value::Number(value) => match value.as_i64() {
            Some(value) => pair(key, value),
            None => number(key, value.as_f64().unwrap_or(f64::NAN)),
        },
        other => text(key, other.to_string()),
    }
}

fn pair(key: &str, value: impl Into<Value>) -> KeyValue {
    KeyValue::new(key.to_owned(), value)
}

/// The beginning of a text, at most so many bytes, saying that it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}
