//! Schema validation, with errors that a model can act on.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::nulls::without_needless_nulls;

/// How many problems are told at once; fixing these usually fixes the rest.
const SHOWN_PROBLEMS: usize = 5;

/// The longest piece of a value or schema that is shown.
const SHOWN_LENGTH: usize = 240;

/// A JSON Schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a usable JSON Schema: {problem}; correct it where it is written")]
pub struct InvalidSchema {
    /// What is wrong with it.
    pub problem: String,
}

/// A schema, compiled once.
pub(crate) struct SchemaCheck {
    schema: Value,
    validator: Validator,
}

impl SchemaCheck {
    pub(crate) fn new(mut schema: Value) -> Result<Self, InvalidSchema> {
        // Models read what is expected of them, and the journal keeps what they read.
        convoke_core::sort_keys(&mut schema);
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| InvalidSchema { problem: shortened(&error.to_string()) })?;
        Ok(Self { schema, validator })
    }

    /// The value as it was meant: models write `null` for what they leave out.
    pub(crate) fn meant(&self, value: &Value) -> Value {
        without_needless_nulls(&self.schema, value)
    }

    /// Whether a value has the shape; the error names each place, what is wrong there and what is expected.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        // What is wrong is said in the order in which it stands, and with what stands there.
        let mut value = value.clone();
        convoke_core::sort_keys(&mut value);
        let problems: Vec<String> = self.validator.iter_errors(&value).map(|e| self.explain(&e)).collect();
        let mut shown = problems[..problems.len().min(SHOWN_PROBLEMS)].join("; ");
        if problems.len() > SHOWN_PROBLEMS {
            shown.push_str(&format!("; and {} more", problems.len() - SHOWN_PROBLEMS));
        }
        Err(shown)
    }

    fn explain(&self, error: &ValidationError<'_>) -> String {
        let place = place(error.instance_path().as_str());
        let problem = match error.kind() {
            ValidationErrorKind::Required { property } => format!("{property} is missing"),
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                return format!(
                    "{place}: fits none of the {} forms allowed there{}",
                    context.len(),
                    nearest(context)
                );
            }
            _ => shortened(&error.to_string()),
        };
        match self.expectation(error) {
            Some(expected) => format!("{place}: {problem}; expected {expected}"),
            None => format!("{place}: {problem}"),
        }
    }

    /// The piece of the schema that was not followed.
    fn expectation(&self, error: &ValidationError<'_>) -> Option<String> {
        let (owner, _) = error.schema_path().as_str().rsplit_once('/')?;
        let expected = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str()?.replace('~', "~0").replace('/', "~1");
                self.schema.pointer(&format!("{owner}/properties/{name}"))?
            }
            _ => self.schema.pointer(owner)?,
        };
        let text = expected.to_string();
        // What is longer than a line no longer helps.
        (text.len() <= SHOWN_LENGTH && text != "{}").then_some(text)
    }
}

/// Of several forms the value could have had: the one it comes closest to, and what is wrong with it.
fn nearest(forms: &[Vec<ValidationError<'static>>]) -> String {
    let depth = |errors: &[ValidationError<'_>]| {
        errors.iter().map(|error| error.instance_path().as_str().matches('/').count()).max().unwrap_or(0)
    };
    // Something of another kind altogether, such as the nothing that an optional value may be, is never what was meant.
    let is_of_the_kind = |errors: &[ValidationError<'_>]| {
        !errors.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }))
    };
    let closest = forms
        .iter()
        .max_by_key(|errors| (depth(errors), is_of_the_kind(errors), std::cmp::Reverse(errors.len())));
    match closest.and_then(|errors| errors.first()) {
        Some(error) => {
            format!(
                "; closest to fitting: {}: {}",
                place(error.instance_path().as_str()),
                shortened(&error.to_string())
            )
        }
        None => String::new(),
    }
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { "at the top".to_owned() } else { format!("`{pointer}`") }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, value: Value) -> String {
        SchemaCheck::new(schema).unwrap().check(&value).unwrap_err()
    }

    #[test]
    fn a_problem_names_the_place_what_is_wrong_and_what_is_expected() {
        let schema = json!({"type": "object", "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 0},
        }, "required": ["city"]});
        assert_eq!(
            check(schema.clone(), json!({"days": -1})),
            "at the top: \"city\" is missing; expected {\"type\":\"string\"}; \
             `/days`: -1 is less than the minimum of 0; expected {\"minimum\":0,\"type\":\"integer\"}"
        );
        assert_eq!(
            check(schema, json!({"city": 5})),
            "`/city`: 5 is not of type \"string\"; expected {\"type\":\"string\"}"
        );
    }

    #[test]
    fn of_several_forms_the_closest_is_explained() {
        let schema = json!({"oneOf": [
            {"type": "string"},
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        ]});
        assert_eq!(
            check(schema, json!({"n": "x"})),
            "at the top: fits none of the 2 forms allowed there; closest to fitting: `/n`: \"x\" is not of type \"integer\""
        );
    }

    #[test]
    fn of_a_value_that_may_be_missing_those_that_there_are_are_named() {
        let schema = json!({"anyOf": [{"enum": ["finding", "lesson"]}, {"type": "null"}]});
        let said = check(schema, json!("findings"));
        assert!(said.contains("finding\" or \"lesson") && !said.contains("null"), "{said}");
    }

    #[test]
    fn a_huge_wrong_value_does_not_make_a_huge_message() {
        let message = check(json!({"type": "integer"}), json!("x".repeat(1_000_000)));
        assert!(message.len() < 500, "{}", message.len());
    }
}
