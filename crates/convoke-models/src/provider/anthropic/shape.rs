//! Translates output schemas into the dialect of JSON Schema that Claude can be held to.
//!
//! Objects have no properties besides those they name. Bounds and patterns cannot be enforced: they go into the
//! description, for the model to heed and for whoever reads the answer to check. What cannot be said at all (free keys,
//! values of any shape, shapes within themselves) makes the shape one for a tool's arguments instead, see
//! [`super::tools`].

use serde_json::{Map, Value, json};

/// Keywords that stay as they are.
const KEPT: [&str; 7] = ["type", "enum", "const", "title", "description", "required", "$ref"];

/// Keywords that say nothing about a value.
const SILENT: [&str; 8] =
    ["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Keywords that shape a value in ways the dialect does not know.
const BEYOND: [&str; 11] = [
    "not",
    "if",
    "prefixItems",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentSchemas",
    "dependentRequired",
    "contains",
    "$dynamicRef",
];

/// Formats that are enforced.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The schema in the dialect; `None` if it cannot be said in it.
pub(super) fn enforceable(schema: &Value) -> Option<Value> {
    if refers_to_itself(schema) {
        return None;
    }
    convert(schema)
}

fn convert(schema: &Value) -> Option<Value> {
    let members = schema.as_object()?;
    if BEYOND.iter().any(|keyword| members.contains_key(*keyword)) {
        return None;
    }
    let mut output = Map::new();
    let mut advice = Map::new();
    for (keyword, value) in members {
        let (keyword, value) = match keyword.as_str() {
            "enum" if value.as_array()?.iter().any(|option| option.is_object() || option.is_array()) => {
                return None;
            }
            name if KEPT.contains(&name) => (name, value.clone()),
            name if SILENT.contains(&name) => continue,
            "additionalProperties" if *value == json!(false) => continue,
            "additionalProperties" => return None,
            name @ ("properties" | "$defs" | "definitions") => (name, each_member(value)?),
            "items" => ("items", convert(value)?),
            // Where the forms exclude each other, `anyOf` admits the same values.
            "anyOf" | "oneOf" => ("anyOf", each_item(value)?),
            "allOf" => ("allOf", each_item(value)?),
            "format" if FORMATS.iter().any(|format| value == format) => ("format", value.clone()),
            "minItems" if *value == json!(0) || *value == json!(1) => ("minItems", value.clone()),
            _ => {
                advice.insert(keyword.clone(), value.clone());
                continue;
            }
        };
        output.insert(keyword.to_owned(), value);
    }
    if is_object(members) {
        // An object of which nothing is known is a map with free keys.
        members.get("properties")?;
        output.insert("additionalProperties".to_owned(), json!(false));
    }
    if !["type", "enum", "const", "$ref", "anyOf", "allOf"]
        .iter()
        .any(|keyword| output.contains_key(*keyword))
    {
        return None;
    }
    if !advice.is_empty() {
        let advice = format!("Must satisfy: {}", Value::Object(advice));
        let described = output.get("description").and_then(Value::as_str);
        let description = described.map_or_else(|| advice.clone(), |text| format!("{text} {advice}"));
        output.insert("description".to_owned(), json!(description));
    }
    Some(Value::Object(output))
}

fn each_member(schemas: &Value) -> Option<Value> {
    let members = schemas.as_object()?.iter();
    members
        .map(|(name, schema)| Some((name.clone(), convert(schema)?)))
        .collect::<Option<Map<_, _>>>()
        .map(Value::Object)
}

fn each_item(schemas: &Value) -> Option<Value> {
    schemas.as_array()?.iter().map(convert).collect()
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.contains(&json!("object")),
        _ => schema.contains_key("properties"),
    }
}

/// Whether a shape is part of itself, or of a shape that is not in this schema.
fn refers_to_itself(schema: &Value) -> bool {
    fn visit<'a>(root: &'a Value, schema: &'a Value, within: &mut Vec<&'a str>) -> bool {
        match schema {
            Value::Array(items) => items.iter().any(|item| visit(root, item, within)),
            Value::Object(members) => {
                members.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
                    ("$defs" | "definitions" | "enum" | "const", _) => false,
                    ("$ref", Value::String(target)) => {
                        let Some(found) = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
                        else {
                            return true;
                        };
                        if within.contains(&target.as_str()) {
                            return true;
                        }
                        within.push(target);
                        let circular = visit(root, found, within);
                        within.pop();
                        circular
                    }
                    (_, value) => visit(root, value, within),
                })
            }
            _ => false,
        }
    }
    visit(schema, schema, &mut vec!["#"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_become_advice_and_objects_are_closed() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "score": {"type": "integer", "description": "How good.", "minimum": 1, "maximum": 10},
                "when": {"type": "string", "format": "date"},
                "size": {"type": "integer", "format": "uint32", "default": 3},
                "mood": {"oneOf": [{"const": "good"}, {"enum": ["bad", null]}]},
                "place": {"$ref": "#/$defs/Place"},
            },
            "required": ["score"],
            "$defs": {"Place": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "score": {"type": "integer", "description": "How good. Must satisfy: {\"maximum\":10,\"minimum\":1}"},
                "when": {"type": "string", "format": "date"},
                "size": {"type": "integer", "description": "Must satisfy: {\"format\":\"uint32\"}"},
                "mood": {"anyOf": [{"const": "good"}, {"enum": ["bad", null]}]},
                "place": {"$ref": "#/$defs/Place"},
            },
            "required": ["score"],
            "additionalProperties": false,
            "$defs": {"Place": {
                "type": "object",
                "properties": {"name": {"type": ["string", "null"]}},
                "additionalProperties": false,
            }},
        });
        assert_eq!(enforceable(&schema), Some(expected));
    }

    #[test]
    fn what_the_dialect_cannot_say_is_not_said() {
        for schema in [
            json!(true),
            json!({}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}),
            json!({"type": "array", "items": {"description": "anything"}}),
            json!({"type": "array", "prefixItems": [{"type": "string"}]}),
            json!({"enum": [{"a": 1}]}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}}),
            json!({
                "$ref": "#/$defs/A",
                "$defs": {
                    "A": {"type": "array", "items": {"$ref": "#/$defs/B"}},
                    "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
                },
            }),
        ] {
            assert_eq!(enforceable(&schema), None, "{schema}");
        }
    }
}
