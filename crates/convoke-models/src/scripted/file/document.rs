//! Parses TOML or JSON into one kind of value.

use serde_json::{Map, Value};

use crate::scripted::{ScriptError, ScriptLocation};

pub(super) fn of_json(text: &str, place: &ScriptLocation) -> Result<Value, ScriptError> {
    serde_json::from_str(text).map_err(|error| syntax(place, "JSON", &error))
}

pub(super) fn of_toml(text: &str, place: &ScriptLocation) -> Result<Value, ScriptError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| syntax(place, "TOML", &error))?;
    Ok(json(toml::Value::Table(table)))
}

/// TOML has dates and infinite numbers, which JSON has not: they become their text, as a model would write them.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) if number.is_finite() => Value::from(number),
        toml::Value::Float(number) => Value::String(number.to_string()),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(values) => values.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect::<Map<_, _>>())
        }
    }
}

fn syntax(place: &ScriptLocation, language: &'static str, error: &dyn std::error::Error) -> ScriptError {
    ScriptError::Syntax { place: place.clone(), language, message: error.to_string() }
}
