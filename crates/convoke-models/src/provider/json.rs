//! JSON helpers of all protocols: reads frames, makes tool arguments objects, adds the caller's own keys.

use convoke_core::{ModelError, ModelErrorKind};
use serde_json::{Map, Value, json};

use super::excerpt;

/// How much of what makes no sense is shown.
const SHOWN: usize = 120;

/// A request that this provider cannot be asked.
pub(super) fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::InvalidRequest, message)
}

/// Reads the JSON of one frame.
pub(super) fn parse(data: &str) -> Result<Value, ModelError> {
    serde_json::from_str(data).map_err(|error| {
        let message = format!("this piece of the reply is not JSON ({error}): {}", excerpt(data, SHOWN));
        ModelError::new(ModelErrorKind::Malformed, message)
    })
}

/// A call's arguments as the object that providers insist on. What a model wrote that is none is kept in one.
pub(super) fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        other => json!({"arguments": other}),
    }
}

/// Adds what only this provider understands: objects are merged, `null` takes a member out, everything else is replaced.
pub(super) fn add_extra(body: &mut Map<String, Value>, extra: Option<&Value>) -> Result<(), ModelError> {
    match extra {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(extra)) => {
            merge(body, extra);
            Ok(())
        }
        Some(other) => Err(invalid(format!("`extra` must be a JSON object, but it is {other}"))),
    }
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (_, Value::Null) => {
                into.remove(key);
            }
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
