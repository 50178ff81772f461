//! Generates answers that fit whatever schema is asked for.

use convoke_core::ModelRequest;
use serde_json::{Map, Value, json};

/// What is said where no shape is asked for.
const TEXT: &str = "A rehearsed answer.";

/// How deep a shape that contains itself is followed.
const DEEPEST: usize = 12;

/// An answer that fits a request.
pub(super) fn answer(request: &ModelRequest) -> String {
    match &request.output {
        Some(output) => instance(&output.schema, &output.schema, DEEPEST).to_string(),
        None => TEXT.to_owned(),
    }
}

/// A small value that a schema admits, as far as it says so with the words that are in use: the first of several choices,
/// `true`, the smallest number, lists as short as they may be.
fn instance(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let below = |schema: &Value| instance(schema, root, depth - 1);
    if let Some(target) = schema["$ref"].as_str() {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or(Value::Null, below);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    for choice in ["anyOf", "oneOf"] {
        let choices = schema[choice].as_array().into_iter().flatten();
        if let Some(first) = choices.into_iter().find(|choice| choice["type"] != "null") {
            return below(first);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return merged(parts.iter().map(below));
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("object") => object(schema, below),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0);
            (0..least).map(|_| below(&schema["items"])).collect()
        }
        Some("string") => {
            let least =
                schema["minLength"].as_u64().and_then(|least| usize::try_from(least).ok()).unwrap_or(0);
            Value::String(format!("{TEXT:.<least$}"))
        }
        Some("integer" | "number") => number(schema),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        _ if schema.get("properties").is_some() => object(schema, below),
        _ => json!(TEXT),
    }
}

fn object(schema: &Value, below: impl Fn(&Value) -> Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    Value::Object(properties.map(|(name, schema)| (name.clone(), below(schema))).collect())
}

fn merged(parts: impl Iterator<Item = Value>) -> Value {
    let mut whole = Map::new();
    for part in parts {
        match part {
            Value::Object(fields) => whole.extend(fields),
            other => return other,
        }
    }
    Value::Object(whole)
}

fn number(schema: &Value) -> Value {
    if let Some(least) = schema["exclusiveMinimum"].as_i64() {
        return json!(least + 1);
    }
    match schema.get("minimum").or_else(|| schema.get("maximum")) {
        Some(bound) => bound.clone(),
        None => json!(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "count": {"type": "integer", "minimum": 3},
                "done": {"type": ["boolean", "null"]},
                "verdict": {"$ref": "#/$defs/Verdict"},
                "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "either": {"anyOf": [{"type": "null"}, {"const": 7}]},
            },
            "$defs": {"Verdict": {"enum": ["continue", "halt"]}},
        });
        let value = instance(&schema, &schema, DEEPEST);
        let expected = json!({
            "name": TEXT, "count": 3, "done": true, "verdict": "continue", "tags": [TEXT], "either": 7,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn a_schema_within_itself_comes_to_an_end() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert!(instance(&schema, &schema, DEEPEST).is_object());
    }
}
