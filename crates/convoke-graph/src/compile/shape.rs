//! Comparing values with JSON Schemas: what is wrong, where, and what was meant.
//!
//! **What it must never do.** Take what cannot be read for something that was left out.

use convoke_text::document::Gaps;
use convoke_text::finding::{Finding, child};
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use crate::reference::{has_references, shown};

/// A schema that values are compared with, read once.
pub(crate) struct Shape {
    pub(crate) schema: Value,
    validator: Option<Validator>,
}

impl Shape {
    pub(crate) fn new(schema: Value) -> Self {
        Self { validator: jsonschema::validator_for(&schema).ok(), schema }
    }
}

/// What of a value cannot be read, with the least that can be in its place.
pub(crate) fn gaps(shape: &Shape, value: &Value) -> Gaps {
    let mut gaps = Gaps::default();
    let schema = &shape.schema;
    for error in shape.validator.iter().flat_map(|validator| validator.iter_errors(value)) {
        let place = error.instance_path().as_str();
        let around = error.schema_path().as_str().rsplit_once('/').map_or("", |(around, _)| around);
        let around = schema.pointer(around).unwrap_or(&Value::Null);
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().for_each(|name| gaps.leave_out(child(place, name)));
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                gaps.add(child(place, name), least(schema, &around["properties"][name]));
            }
            _ => gaps.add(place, least(schema, around)),
        }
    }
    gaps
}

/// The least that a schema allows.
fn least(whole: &Value, schema: &Value) -> Value {
    if let Some(named) = schema["$ref"].as_str() {
        return whole.pointer(named.trim_start_matches('#')).map_or(Value::Null, |named| least(whole, named));
    }
    let one_of = schema["oneOf"].as_array().and_then(|several| several.first());
    let known = schema.get("default").or(schema.get("const")).or(schema["enum"].get(0));
    let is_optional = schema["type"].as_array().is_some_and(|types| types.contains(&Value::from("null")));
    match (known, one_of, schema["type"].as_str()) {
        (Some(known), ..) => known.clone(),
        (_, Some(first), _) => least(whole, first),
        _ if is_optional => Value::Null,
        (.., Some("string")) => Value::from(""),
        (.., Some("integer" | "number")) => schema.get("minimum").cloned().unwrap_or_else(|| Value::from(0)),
        (.., Some("boolean")) => Value::from(false),
        (.., Some("array")) => Value::Array(Vec::new()),
        (.., Some("object")) => {
            let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            needed.map(|name| (name, least(whole, &schema["properties"][name]))).collect()
        }
        _ => Value::Null,
    }
}

/// Whether a value is a text that becomes another value later.
pub(crate) type IsLater = fn(&Value) -> bool;

/// What a reference in a configuration will stand for is not known yet.
pub(crate) const REFERENCES: IsLater = |value| value.is_string() && has_references(value);

/// Elsewhere a value is what it is.
pub(crate) const NOTHING: IsLater = |_| false;

/// Adds what is wrong with a value at `path`, but for what becomes another value later.
pub(crate) fn check(
    shape: &Shape,
    value: &Value,
    path: &str,
    is_later: IsLater,
    findings: &mut Vec<Finding>,
) {
    let Shape { schema, validator } = shape;
    for error in validator.iter().flat_map(|validator| validator.iter_errors(value)) {
        let within = error.instance_path().as_str();
        if value.pointer(within).is_some_and(is_later) {
            continue;
        }
        let place = format!("{path}{within}");
        match error.kind() {
            // What has no fields at all says so of what it is given, and not what that is called.
            ValidationErrorKind::FalseSchema => {
                for name in value.pointer(within).and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                    let message = format!("there is no field `{name}` here");
                    let finding = Finding::error("unknown-field", child(&place, name), message);
                    findings.extend((!findings.contains(&finding)).then_some(finding));
                }
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let owner = error.schema_path().as_str().rsplit_once('/').map_or("", |(owner, _)| owner);
                let known = schema.pointer(&format!("{owner}/properties")).and_then(Value::as_object);
                let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                for name in unexpected {
                    let message = format!("there is no field `{name}` here");
                    let finding = Finding::error("unknown-field", child(&place, name), message);
                    findings.push(finding.suggest_or_list(name, known.iter().copied()));
                }
            }
            ValidationErrorKind::Required { property } => {
                let message = format!("`{}` is missing", property.as_str().unwrap_or_default());
                findings.push(Finding::error("missing-field", place, message));
            }
            ValidationErrorKind::Maximum { limit } => {
                let finding =
                    Finding::error("wrong-value", place, format!("this is more than there can be: {limit}"));
                findings.push(finding.help(format!("write {limit} or less")));
            }
            _ => {
                let names = schema.pointer(error.schema_path().as_str()).map_or_else(Vec::new, words);
                let written = value.pointer(within).and_then(Value::as_str);
                findings.push(match written.filter(|_| !names.is_empty()) {
                    Some(written) => {
                        let message = format!("`{written}` is none of: {}", names.join(", "));
                        Finding::error("wrong-value", place, message).suggest(written, names)
                    }
                    None => {
                        let message: String = error.to_string().chars().take(200).collect();
                        let finding = Finding::error("wrong-value", place, message);
                        match written.is_some_and(|written| written.contains("${")) {
                            true => finding.help("variables are referred to within a node's `config` only"),
                            false => finding,
                        }
                    }
                });
            }
        }
    }
}

/// The words that a list of alternatives consists of, if it consists of words.
fn words(alternatives: &Value) -> Vec<&str> {
    let alternatives = alternatives.as_array().into_iter().flatten();
    alternatives
        .flat_map(|one| {
            let several = one["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            one.as_str().or(one["const"].as_str()).into_iter().chain(several)
        })
        .collect()
}

/// Texts that stand where numbers or booleans are wanted become those.
pub(crate) fn coerced(schema: &Value, mut config: Value) -> Value {
    for (name, value) in config.as_object_mut().into_iter().flatten() {
        let field = &schema["properties"][name.as_str()];
        let Some(text) = value.as_str() else { continue };
        if wants(field, "string") || !["number", "integer", "boolean"].iter().any(|kind| wants(field, kind)) {
            continue;
        }
        if let Ok(meant) = serde_json::from_str::<Value>(text)
            && (meant.is_number() || meant.is_boolean())
        {
            *value = meant;
        }
    }
    config
}

/// What references came to, as the texts that are wanted where they stand: written as within a text.
pub(crate) fn with_texts(whole: &Value, schema: &Value, value: Value) -> Value {
    let named = schema["$ref"].as_str().and_then(|name| whole.pointer(name.trim_start_matches('#')));
    let schema = named.unwrap_or(schema);
    match value {
        Value::String(_) => value,
        Value::Null if wants(schema, "null") => value,
        other if wants(schema, "string") => Value::String(shown(&other)),
        Value::Array(items) => {
            items.into_iter().map(|item| with_texts(whole, &schema["items"], item)).collect()
        }
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let value = with_texts(whole, &schema["properties"][&name], value);
                (name, value)
            })
            .collect(),
        other => other,
    }
}

/// Whether a schema takes values of a kind.
fn wants(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(several) => several.iter().any(|one| one == kind),
        _ => false,
    }
}
