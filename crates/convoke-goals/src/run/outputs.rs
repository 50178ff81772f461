//! Parses output values out of an answer.
//!
//! A model is asked for one JSON object. What comes back may have words or a fence around it, or something else
//! altogether; what can be read is read, and what cannot is named.

use std::collections::BTreeMap;

use convoke_core::{OutputSchema, json_text};
use serde_json::{Map, Value, json};

use crate::agentfile::model::Type;
use crate::state::Values;
use crate::tree::Output;

/// The field that says that nothing is left to improve.
pub(super) const CONVERGED: &str = "converged";

/// The outputs found in an answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ParsedOutputs {
    pub(super) fields: Values,
    /// What is missing, and why.
    pub(super) missing: Vec<MissingOutput>,
}

#[derive(Debug, PartialEq)]
pub(super) struct MissingOutput {
    pub(super) field: String,
    pub(super) problem: String,
}

impl ParsedOutputs {
    /// What is wrong, in one sentence.
    pub(super) fn problem(&self) -> String {
        let all = self.missing.iter().map(|missing| format!("`{}` {}", missing.field, missing.problem));
        all.collect::<Vec<_>>().join("; ")
    }

    /// Where one text is asked for and the answer is prose, that is the text: an answer that is an object and lacks the field
    /// is something else, and asked for once more.
    pub(super) fn or_prose(mut self, answer: &str, outputs: &[Output]) -> Self {
        let said = unfenced(answer);
        if let [output] = outputs
            && *output.ty() == Type::String
            && self.fields.is_empty()
            && !said.is_empty()
            && !said.starts_with('{')
        {
            self.fields.set(output.name(), answer.trim());
            self.missing.clear();
        }
        self
    }

    /// What an answer before this one had and this one has not is taken from there.
    pub(super) fn or(mut self, earlier: Self) -> Self {
        for (name, value) in earlier.fields.iter() {
            if self.fields.get(name).is_none() {
                self.fields.set(name, value.clone());
            }
        }
        self.missing.retain(|missing| self.fields.get(&missing.field).is_none());
        self
    }
}

/// The shape an answer must have.
pub(super) fn schema(name: &str, outputs: &[Output], converging: bool) -> OutputSchema {
    // In order of their names: the list of those that are required is part of the request, and of its digest.
    let mut properties: BTreeMap<String, Value> =
        outputs.iter().map(|output| (output.name().to_owned(), output.ty().schema())).collect();
    if converging && !properties.contains_key(CONVERGED) {
        properties.insert(CONVERGED.to_owned(), Type::Bool.schema());
    }
    let required: Vec<&String> = properties.keys().collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    OutputSchema { name: identifier(name), description: String::new(), schema }
}

/// A name as providers take it: letters, digits, `_` and `-`, not too many.
fn identifier(name: &str) -> String {
    let fit = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    name.chars().map(fit).take(64).collect()
}

/// Reads what was asked for out of an answer.
pub(super) fn read(text: &str, outputs: &[Output]) -> ParsedOutputs {
    let Some(object) = object_in(text, outputs) else {
        let missing = outputs.iter().map(|output| MissingOutput {
            field: output.name().to_owned(),
            problem: "is missing: there is no JSON object in the answer".to_owned(),
        });
        return ParsedOutputs { fields: Values::new(), missing: missing.collect() };
    };
    let mut read = ParsedOutputs::default();
    for output in outputs {
        match object.get(output.name()) {
            None => read.missing.push(MissingOutput {
                field: output.name().to_owned(),
                problem: "is missing in the JSON object".to_owned(),
            }),
            Some(value) => match typed(value, output.ty()) {
                Some(value) => read.fields.set(output.name(), value),
                None => read.missing.push(MissingOutput {
                    field: output.name().to_owned(),
                    problem: format!("must be {}", output.ty().in_words()),
                }),
            },
        }
    }
    read
}

/// Takes the field out that says that nothing is left to improve. Gives what it says, and the text without it.
pub(super) fn take_converged(text: &str, outputs: &[Output]) -> Option<(bool, String)> {
    let mut object = object_in(text, outputs)?;
    let said = object.get(CONVERGED)?.as_bool()?;
    if outputs.iter().any(|output| output.name() == CONVERGED) {
        return Some((said, text.to_owned()));
    }
    object.remove(CONVERGED);
    Some((said, json_text(&Value::Object(object))))
}

/// The value as its type has it: a text that says a number where a number is asked for is a number.
pub(super) fn typed(value: &Value, ty: &Type) -> Option<Value> {
    if ty.admits(value) {
        return Some(value.clone());
    }
    match (ty, value) {
        // A text is asked for unless something else is said, so whatever there is has a text.
        (Type::String, other) => Some(Value::String(json_text(other))),
        (Type::Int, Value::Number(number)) => {
            let number = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15)?;
            Some(Value::from(number as i64))
        }
        (Type::Int | Type::Number | Type::Bool, Value::String(text)) => ty.read(text).ok(),
        (Type::List(inner), Value::Array(items)) => {
            items.iter().map(|item| typed(item, inner)).collect::<Option<_>>().map(Value::Array)
        }
        _ => None,
    }
}

/// A text without the code fence that may stand around all of it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(text, |(_, rest)| rest.trim())
}

/// The JSON object in a text: of those that stand in it, the one that has most of what is asked for, and of those the
/// first.
fn object_in(text: &str, outputs: &[Output]) -> Option<Map<String, Value>> {
    let mut best: Option<(usize, Map<String, Value>)> = None;
    let mut place = 0;
    while let Some(found) = text[place..].find('{') {
        let start = place + found;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Map<String, Value>>();
        match values.next() {
            Some(Ok(object)) => {
                place = start + values.byte_offset();
                let has = outputs.iter().filter(|output| object.contains_key(output.name())).count();
                if best.as_ref().is_none_or(|(most, _)| has > *most) {
                    best = Some((has, object));
                }
            }
            _ => place = start + 1,
        }
    }
    best.map(|(_, object)| object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(names: &[&str]) -> Vec<Output> {
        names.iter().map(|name| Output::new(*name)).collect()
    }

    fn value(text: &str, name: &str) -> Option<Value> {
        read(text, &outputs(&[name])).fields.get(name).cloned()
    }

    #[test]
    fn agentcore_070_an_object_is_found_in_fences_and_prose_and_strings_are_understood() {
        let fenced = "Here it is:\n```json\n{\"a\": \"x\"}\n```\nDone {really}.";
        assert_eq!(value(fenced, "a"), Some(json!("x")));
        assert_eq!(value("{\"a\":\"}\"} and {", "a"), Some(json!("}")));
        assert_eq!(value("see {this} {\"b\": 1} {\"a\": \"y\"}", "a"), Some(json!("y")));
        assert_eq!(value("{\"outer\": {\"a\": 1}}", "a"), None);
        assert_eq!(value("", "a"), None);
    }

    #[test]
    fn agentcore_069_072_073_values_have_their_types() {
        let text = r#"{"a":"x","b":2,"c":"y","obj":{"k":1},"t":true,"n":null,"l":[1,"a"]}"#;
        assert_eq!(value(text, "a"), Some(json!("x")));
        assert_eq!(value(text, "b"), Some(json!("2")), "a text, as nothing else is said");
        assert_eq!(value(text, "obj"), Some(json!("{\"k\":1}")));
        assert_eq!(value(text, "t"), Some(json!("true")));
        assert_eq!(value(text, "n"), Some(json!("null")));
        assert_eq!(value(text, "l"), Some(json!("[1,\"a\"]")));
        let typed = [
            Output::from(("b", Type::Int)),
            Output::from(("t", Type::Bool)),
            Output::from(("l", Type::Json)),
            Output::from(("a", Type::Int)),
        ];
        let read = read(text, &typed);
        assert_eq!(read.fields.get("b"), Some(&json!(2)));
        assert_eq!(read.fields.get("t"), Some(&json!(true)));
        assert_eq!(read.fields.get("l"), Some(&json!([1, "a"])));
        assert_eq!(read.problem(), "`a` must be a whole number");
    }

    #[test]
    fn whether_it_converged_is_taken_out_unless_it_was_asked_for() {
        let said = take_converged(r#"{"a": 1, "converged": true}"#, &outputs(&["a"]));
        assert_eq!(said, Some((true, "{\"a\":1}".to_owned())));
        let text = r#"{"converged": false}"#;
        assert_eq!(take_converged(text, &outputs(&["converged"])), Some((false, text.to_owned())));
        assert_eq!(take_converged("{\"a\": 1}", &outputs(&["a"])), None);
    }
}
