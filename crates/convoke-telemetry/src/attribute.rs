//! Attributes in the form they are sent in.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

pub(crate) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    pair(key, Value::StringValue(value.into()))
}

pub(crate) fn integer(key: &str, value: u64) -> KeyValue {
    pair(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

pub(crate) fn number(key: &str, value: f64) -> KeyValue {
    pair(key, Value::DoubleValue(value))
}

pub(crate) fn flag(key: &str, value: bool) -> KeyValue {
    pair(key, Value::BoolValue(value))
}

pub(crate) fn texts(key: &str, values: impl IntoIterator<Item = String>) -> KeyValue {
    let values =
        values.into_iter().map(|value| AnyValue { value: Some(Value::StringValue(value)) }).collect();
    pair(key, Value::ArrayValue(ArrayValue { values }))
}

/// A plain value of JSON; what has parts goes as its text.
pub(crate) fn json(key: &str, value: &serde_json::Value) -> KeyValue {
    match value {
        serde_json::Value::String(value) => text(key, value),
        serde_json::Value::Bool(value) => flag(key, *value),
        serde_json::Value::Number(value) => match value.as_i64() {
            Some(value) => pair(key, Value::IntValue(value)),
            None => number(key, value.as_f64().unwrap_or(f64::NAN)),
        },
        other => text(key, other.to_string()),
    }
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// The beginning of a text, at most so many bytes, saying that it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}
