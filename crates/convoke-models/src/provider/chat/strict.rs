//! Translates schemas into OpenAI's strict dialect, which the model cannot but follow.
//!
//! The dialect wants every member required and none besides, and knows only some keywords. A schema is rewritten only if
//! whatever the strict one admits, the original admits too; so a member that may be left out and may not be null, a
//! map with free keys or a keyword the dialect does not know means: not strictly.

use serde_json::{Map, Value, json};

/// Objects and lists within one another.
const DEEPEST: usize = 10;
/// Members in all.
const MOST_MEMBERS: usize = 5_000;
/// Values of enums in all.
const MOST_VALUES: usize = 1_000;

/// Keywords that the dialect enforces as they are.
const ENFORCED: [&str; 10] = [
    "type",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];
/// Keywords that explain, and are kept.
const EXPLAINING: [&str; 2] = ["title", "description"];
/// Keywords that constrain nothing; the dialect stumbles over some of them.
const IDLE: [&str; 8] =
    ["$schema", "$id", "$comment", "default", "deprecated", "examples", "readOnly", "writeOnly"];
/// Formats the dialect knows. Others constrain nothing anywhere.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The schema in the strict dialect, if it can be put into it.
pub(in crate::provider) fn strict(schema: &Value) -> Option<Value> {
    let mut found = StrictRewriter::default();
    let strict = found.rewrite(schema, 0)?;
    let is_object = strict.get("type").is_some_and(|kind| kind == "object") && strict.get("anyOf").is_none();
    (is_object && found.members <= MOST_MEMBERS && found.values <= MOST_VALUES).then_some(strict)
}

#[derive(Default)]
struct StrictRewriter {
    members: usize,
    values: usize,
}

impl StrictRewriter {
    fn rewrite(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        let schema = schema.as_object().filter(|_| depth <= DEEPEST)?;
        let mut strict = Map::new();
        for (keyword, value) in schema {
            let value = match keyword.as_str() {
                "properties" | "required" | "additionalProperties" => continue,
                idle if IDLE.contains(&idle) => continue,
                kept if ENFORCED.contains(&kept) || EXPLAINING.contains(&kept) => value.clone(),
                "format" if value.as_str().is_some_and(|format| FORMATS.contains(&format)) => value.clone(),
                "format" => continue,
                // Looking around is more than the dialect's patterns can.
                "pattern" if value.as_str().is_some_and(|pattern| !pattern.contains("(?")) => value.clone(),
                "$ref" if value.as_str().is_some_and(|place| place.starts_with('#')) => value.clone(),
                "$defs" | "definitions" => self.each_member(value)?,
                "items" => self.rewrite(value, depth + 1)?,
                "anyOf" => self.each_form(value, depth)?,
                "oneOf" => {
                    let forms = self.each_form(value, depth)?;
                    strict.insert("anyOf".to_owned(), exclusive(forms)?);
                    continue;
                }
                _ => return None,
            };
            self.values += if keyword == "enum" { value.as_array().map_or(0, Vec::len) } else { 0 };
            strict.insert(keyword.clone(), value);
        }
        if is_object(schema) {
            self.close(schema, &mut strict, depth)?;
        }
        let says_something =
            ["type", "$ref", "anyOf", "enum", "const"].iter().any(|key| strict.contains_key(*key));
        says_something.then(|| alone(strict))
    }

    /// Makes all members of an object required, and allows no others.
    fn close(
        &mut self,
        schema: &Map<String, Value>,
        strict: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
            return None;
        }
        let members = schema.get("properties")?.as_object()?;
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if required.iter().any(|name| !members.contains_key(*name)) {
            return None;
        }
        self.members += members.len();
        let mut all = Map::new();
        for (name, member) in members {
            let member = self.rewrite(member, depth + 1)?;
            if !required.contains(&name.as_str()) && !admits_null(&member) {
                return None;
            }
            all.insert(name.clone(), member);
        }
        strict.insert("type".to_owned(), schema.get("type").cloned().unwrap_or_else(|| json!("object")));
        strict.insert("required".to_owned(), all.keys().cloned().collect());
        strict.insert("properties".to_owned(), Value::Object(all));
        strict.insert("additionalProperties".to_owned(), Value::Bool(false));
        Some(())
    }

    fn each_member(&mut self, schemas: &Value) -> Option<Value> {
        let members = schemas.as_object()?.iter();
        members.map(|(name, schema)| Some((name.clone(), self.rewrite(schema, 0)?))).collect()
    }

    fn each_form(&mut self, schemas: &Value, depth: usize) -> Option<Value> {
        schemas.as_array()?.iter().map(|schema| self.rewrite(schema, depth)).collect()
    }
}

fn is_object(schema: &Map<String, Value>) -> bool {
    schema.contains_key("properties") || types(schema.get("type")).contains(&"object")
}

fn types(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn admits_null(schema: &Value) -> bool {
    if let Some(forms) = schema.get("anyOf").and_then(Value::as_array) {
        return forms.iter().any(admits_null);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.contains(&Value::Null);
    }
    schema.get("const").is_some_and(Value::is_null) || types(schema.get("type")).contains(&"null")
}

/// A reference stands alone in the dialect: what explains it goes around it.
fn alone(mut schema: Map<String, Value>) -> Value {
    if schema.len() > 1
        && let Some(place) = schema.remove("$ref")
    {
        schema.insert("anyOf".to_owned(), json!([{"$ref": place}]));
    }
    Value::Object(schema)
}

/// The forms, if no value has two of them: the dialect cannot say that a value has exactly one.
fn exclusive(forms: Value) -> Option<Value> {
    let list = forms.as_array()?;
    let all =
        list.iter().enumerate().all(|(at, form)| list[at + 1..].iter().all(|other| exclude(form, other)));
    all.then_some(forms)
}

/// Whether nothing has both forms, which are in the strict dialect.
fn exclude(one: &Value, other: &Value) -> bool {
    let values = |form: &Value| -> Option<Vec<Value>> {
        form.get("const").map(|value| vec![value.clone()]).or_else(|| form.get("enum")?.as_array().cloned())
    };
    if let (Some(values), Some(others)) = (values(one), values(other)) {
        return values.iter().all(|value| !others.contains(value));
    }
    let (kinds, others) = (types(one.get("type")), types(other.get("type")));
    if kinds.is_empty() || others.is_empty() {
        return false;
    }
    let overlap = |kind: &&str| {
        others.contains(kind)
            || (["integer", "number"].contains(kind)
                && others.iter().any(|kind| ["integer", "number"].contains(kind)))
    };
    if !kinds.iter().any(overlap) {
        return true;
    }
    // Both are closed objects: different members, or one member that cannot be the same, tell them apart.
    let (Some(members), Some(others)) = (
        one.get("properties").and_then(Value::as_object).filter(|_| kinds == ["object"]),
        other.get("properties").and_then(Value::as_object).filter(|_| others == ["object"]),
    ) else {
        return false;
    };
    let differ = members.keys().ne(others.keys());
    differ
        || members.iter().any(|(name, member)| others.get(name).is_some_and(|other| exclude(member, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: Value, required: Value) -> Value {
        json!({"type": "object", "properties": members, "required": required})
    }

    #[test]
    fn objects_are_closed_and_what_may_be_null_becomes_required() {
        let schema = object(
            json!({"city": {"type": "string"}, "days": {"type": ["integer", "null"], "default": null}}),
            json!(["city"]),
        );
        assert_eq!(
            strict(&schema).unwrap(),
            json!({
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
                "required": ["city", "days"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn gains_198_strict_output_requires_everything_and_a_map_is_not_strict() {
        let inner = object(json!({"x": {"type": "integer"}}), json!(["x"]));
        let optional = json!({"anyOf": [inner, {"type": "null"}]});
        let colour = json!({"enum": ["red", "blue", null], "default": null});
        let members = json!({
            "name": {"type": "string"}, "colour": colour, "inner": optional, "rows": {"type": "array", "items": inner},
        });
        let strict_schema = strict(&object(members.clone(), json!(["name", "rows"]))).unwrap();
        assert_eq!(strict_schema["required"], json!(["colour", "inner", "name", "rows"]));
        assert_eq!(
            strict_schema["properties"]["name"],
            json!({"type": "string"}),
            "not optional, so not nullable"
        );
        assert_eq!(strict_schema["properties"]["colour"], json!({"enum": ["red", "blue", null]}));
        for place in ["", "/properties/inner/anyOf/0", "/properties/rows/items"] {
            assert_eq!(
                strict_schema.pointer(place).unwrap()["additionalProperties"],
                json!(false),
                "{place}"
            );
        }
        let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        assert_eq!(strict(&map), None);
        assert_eq!(strict(&object(json!({"it": map}), json!(["it"]))), None);
    }

    #[test]
    fn what_would_mean_something_else_is_not_made_strict() {
        let text = json!({"type": "string"});
        let within = |member: Value| object(json!({"it": member}), json!(["it"]));
        let hopeless = [
            // May be left out, may not be null.
            object(json!({"it": text}), json!([])),
            // Free keys, anything at all, unknown keywords.
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": text}),
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            within(json!({})),
            within(json!(true)),
            within(json!({"type": "string", "minLength": 3})),
            within(json!({"type": "string", "pattern": "(?=a)"})),
            within(json!({"type": "array", "prefixItems": [text]})),
            within(json!({"allOf": [text]})),
            // Something may have both forms.
            within(json!({"oneOf": [{"type": "integer"}, {"type": "number"}]})),
            // The whole is no object.
            json!({"type": "array", "items": text}),
            json!({"anyOf": [within(text.clone())]}),
            json!("text"),
        ];
        for schema in hopeless {
            assert_eq!(strict(&schema), None, "{schema}");
        }
    }

    #[test]
    fn forms_that_exclude_each_other_become_any_of() {
        let within = |member: Value| object(json!({"it": member}), json!(["it"]));
        let tagged = |tag: &str| object(json!({"kind": {"type": "string", "const": tag}}), json!(["kind"]));
        let named = |name: &str| object(json!({name: {"type": "string"}}), json!([name]));
        for forms in [
            json!([{"type": "string", "const": "a"}, {"type": "string", "enum": ["b", "c"]}]),
            json!([{"type": "string"}, {"type": "null"}]),
            json!([tagged("a"), tagged("b")]),
            json!([named("a"), named("b")]),
        ] {
            let made = strict(&within(json!({"oneOf": forms}))).unwrap();
            assert_eq!(made["properties"]["it"]["anyOf"].as_array().map(Vec::len), Some(2), "{forms}");
        }
    }

    #[test]
    fn references_stand_alone() {
        let schema = json!({
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Node", "description": "The next one."}},
            "required": ["next"],
            "$defs": {"Node": {"type": "string", "format": "uri"}},
        });
        let made = strict(&schema).unwrap();
        assert_eq!(
            made["properties"]["next"],
            json!({"description": "The next one.", "anyOf": [{"$ref": "#/$defs/Node"}]})
        );
        assert_eq!(made["$defs"]["Node"], json!({"type": "string"}));
    }

    #[test]
    fn what_is_too_deep_or_too_much_is_not_made_strict() {
        let nested = |levels| {
            (0..levels)
                .fold(json!({"type": "string"}), |inner, _| object(json!({"it": inner}), json!(["it"])))
        };
        assert!(strict(&nested(10)).is_some());
        assert!(strict(&nested(11)).is_none());
        let values: Vec<_> = (0..1_001).collect();
        assert!(strict(&object(json!({"it": {"enum": values}}), json!(["it"]))).is_none());
    }
}
