//! The dialect of providers that enforce a schema word by word.

use serde_json::{Map, Value, json};

/// A schema that cannot be enforced word by word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be enforced strictly: {reason}")]
pub struct NotStrict {
    /// Where in the schema, as a JSON Pointer.
    pub path: String,
    /// Why not, and what to do about it.
    pub reason: String,
}

/// A schema in the strict dialect (OpenAI's and its kin): every property is required and optional ones are nullable,
/// and there are no properties besides.
///
/// What the dialect cannot say is refused, not dropped: maps with free keys, values of any shape, tuples. Send such a
/// schema without strictness.
///
/// ```
/// use convoke_agent::strict_schema;
/// use serde_json::json;
///
/// let strict = strict_schema(&json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
///     "required": ["city"],
/// }))?;
/// assert_eq!(strict, json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
///     "required": ["city", "days"],
///     "additionalProperties": false,
/// }));
///
/// let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
/// assert!(strict_schema(&map).is_err());
/// # Ok::<(), convoke_agent::NotStrict>(())
/// ```
///
/// # Errors
/// [`NotStrict`] says where and why.
pub fn strict_schema(schema: &Value) -> Result<Value, NotStrict> {
    strict(schema, "")
}

const UNSUPPORTED: [(&str, &str); 9] = [
    ("prefixItems", "tuples are not supported; use a struct with named fields"),
    ("patternProperties", "maps are not supported; use a list of entries"),
    ("propertyNames", "maps are not supported; use a list of entries"),
    ("unevaluatedProperties", "it is not supported; use a plain struct"),
    ("allOf", "combinations of schemas are not supported; use one struct"),
    ("not", "negations are not supported"),
    ("if", "conditions are not supported"),
    ("dependentSchemas", "conditions are not supported"),
    ("dependentRequired", "conditions are not supported"),
];

fn strict(schema: &Value, path: &str) -> Result<Value, NotStrict> {
    let refused = |reason: &str| NotStrict { path: shown(path), reason: reason.to_owned() };
    let Some(members) = schema.as_object() else {
        return Err(refused(
            "a value of any shape is not supported; say what it looks like, or do without strictness",
        ));
    };
    if let Some((_, reason)) = UNSUPPORTED.iter().find(|(keyword, _)| members.contains_key(*keyword)) {
        return Err(refused(reason));
    }
    let mut output = Map::new();
    for (keyword, value) in members {
        let inner = format!("{path}/{keyword}");
        match keyword.as_str() {
            "default" | "required" | "additionalProperties" | "properties" => {}
            "$defs" | "definitions" => {
                output.insert(keyword.clone(), each_member(value, &inner)?);
            }
            "items" => {
                output.insert(keyword.clone(), strict(value, &inner)?);
            }
            // There is no `oneOf` in the dialect; `anyOf` admits the same values where the forms exclude each other.
            "anyOf" | "oneOf" => {
                output.insert("anyOf".to_owned(), each_item(value, &inner)?);
            }
            _ => {
                output.insert(keyword.clone(), value.clone());
            }
        }
    }
    if is_object(members) {
        let open = members.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
        let Some(properties) = members.get("properties").and_then(Value::as_object).filter(|_| !open) else {
            return Err(refused(
                "maps with free keys are not supported; use a list of entries, or do without strictness",
            ));
        };
        let properties = all_required(properties, members, path)?;
        output.insert("required".to_owned(), properties.keys().cloned().collect());
        output.insert("properties".to_owned(), Value::Object(properties));
        output.insert("additionalProperties".to_owned(), Value::Bool(false));
    } else if says_nothing(&output) {
        return Err(refused(
            "a value of any shape is not supported; say what it looks like, or do without strictness",
        ));
    }
    Ok(Value::Object(output))
}

fn all_required(
    properties: &Map<String, Value>,
    schema: &Map<String, Value>,
    path: &str,
) -> Result<Map<String, Value>, NotStrict> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let mut strict_properties = Map::new();
    for (name, property) in properties {
        let property = strict(property, &format!("{path}/properties/{name}"))?;
        let property = if is_required(name) { property } else { nullable(property) };
        strict_properties.insert(name.clone(), property);
    }
    Ok(strict_properties)
}

/// The same, or null.
fn nullable(mut schema: Value) -> Value {
    let null = json!({"type": "null"});
    if let Some(forms) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        if !forms.contains(&null) {
            forms.push(null);
        }
        return schema;
    }
    if let Some(options) = schema.get_mut("enum").and_then(Value::as_array_mut)
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    // A reference or a constant has no place for null beside it.
    if schema.get("$ref").is_some() || schema.get("const").is_some() {
        return json!({"anyOf": [schema, null]});
    }
    if let Some(types) = schema.get_mut("type") {
        let mut names = match types.take() {
            Value::Array(names) => names,
            name => vec![name],
        };
        if !names.contains(&json!("null")) {
            names.push(json!("null"));
        }
        *types = Value::Array(names);
    }
    schema
}

fn is_object(schema: &Map<String, Value>) -> bool {
    schema.contains_key("properties")
        || match schema.get("type") {
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.contains(&json!("object")),
            _ => false,
        }
}

fn says_nothing(schema: &Map<String, Value>) -> bool {
    !["type", "$ref", "anyOf", "enum", "const"].iter().any(|keyword| schema.contains_key(*keyword))
}

fn each_member(schemas: &Value, path: &str) -> Result<Value, NotStrict> {
    let members = schemas.as_object().into_iter().flatten();
    members
        .map(|(name, schema)| Ok((name.clone(), strict(schema, &format!("{path}/{name}"))?)))
        .collect::<Result<Map<_, _>, _>>()
        .map(Value::Object)
}

fn each_item(schemas: &Value, path: &str) -> Result<Value, NotStrict> {
    let items = schemas.as_array().into_iter().flatten().enumerate();
    items.map(|(index, schema)| strict(schema, &format!("{path}/{index}"))).collect()
}

fn shown(path: &str) -> String {
    if path.is_empty() { "#".to_owned() } else { format!("#{path}") }
}
