//! Removal of `null` members that could have been left out.
//!
//! Models that are made to mention every field (as in the strict dialect of some providers) write `null` for those
//! they have nothing to say about, and many do so of their own accord. Where the schema does not require a member, its
//! `null` means its absence.

use serde_json::{Map, Value};

/// The value without the nulls of members that need not be there.
pub(super) fn without_needless_nulls(schema: &Value, value: &Value) -> Value {
    strip(schema, schema, value)
}

fn strip(root: &Value, schema: &Value, value: &Value) -> Value {
    let schema = resolve(root, schema);
    match value {
        Value::Object(members) => Value::Object(strip_members(root, schema, members)),
        Value::Array(items) => {
            let of_item = schema.get("items").unwrap_or(&Value::Null);
            items.iter().map(|item| strip(root, of_item, item)).collect()
        }
        other => other.clone(),
    }
}

fn strip_members(root: &Value, schema: &Value, members: &Map<String, Value>) -> Map<String, Value> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let kept = members.iter().filter_map(|(name, member)| {
        let Some(of_member) = schema.get("properties").and_then(|properties| properties.get(name)) else {
            return Some((name.clone(), member.clone()));
        };
        let needless = member.is_null() && !required.contains(&name.as_str());
        (!needless).then(|| (name.clone(), strip(root, of_member, member)))
    });
    kept.collect()
}

/// Follows a reference, and takes the one form of a nullable type that is not null.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        // A reference to a reference is not followed: nobody writes them, and they could go round in circles.
        return target.unwrap_or(&Value::Null);
    }
    if let Some(forms) = schema.get("anyOf").and_then(Value::as_array) {
        let mut other = forms.iter().filter(|form| form.get("type").and_then(Value::as_str) != Some("null"));
        if let (Some(only), None) = (other.next(), other.next()) {
            return match only.get("$ref") {
                Some(_) => resolve(root, only),
                None => only,
            };
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_of_optional_members_go_and_others_stay() {
        let schema = json!({
            "properties": {
                "name": {"type": ["string", "null"]},
                "limit": {"type": "integer"},
                "inner": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]},
                "rows": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
                "free": {},
            },
            "required": ["name"],
            "$defs": {"Inner": {"properties": {"x": {"type": "integer"}}}},
        });
        let value = json!({
            "name": null, "limit": null, "inner": {"x": null}, "rows": [{"x": null}, {"x": 1}],
            "free": {"y": null}, "unknown": null,
        });
        assert_eq!(
            without_needless_nulls(&schema, &value),
            json!({"name": null, "inner": {}, "rows": [{}, {"x": 1}], "free": {"y": null}, "unknown": null})
        );
    }
}
