//! Variables of prompts: every value checked against its declaration, and everything that is wrong said at once.

use regex::Regex;
use serde_json::{Map, Value};

use super::model::Variable;

/// A variable that is given something it cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{variable}` {wrong}")]
#[non_exhaustive]
pub struct Violation {
    /// The variable.
    pub variable: String,
    /// What is wrong.
    pub wrong: Wrong,
}

impl Violation {
    /// Whether it is a value that is wrong, not its type, and not its name or that it is not given.
    #[must_use]
    pub fn is_about_value(&self) -> bool {
        matches!(self.wrong, Wrong::Rule(_) | Wrong::NoValue)
    }

    pub(super) fn new(variable: impl Into<String>, wrong: Wrong) -> Self {
        Self { variable: variable.into(), wrong }
    }
}

/// The mistakes that a value can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Wrong {
    /// It must be given, and is not.
    #[error("must be given")]
    Missing,
    /// It is of another type.
    #[error("must be of type {wanted}")]
    Type {
        /// The type it must have.
        wanted: String,
    },
    /// It breaks a rule.
    #[error("{0}")]
    Rule(String),
    /// It is a place in a prompt, and what is given has nothing for it.
    #[error("has no value, so the prompt cannot be written")]
    NoValue,
    /// There is no such variable.
    #[error("is not a variable of the pack{}", meant.iter().map(|name| format!("; did you mean `{name}`?")).collect::<String>())]
    Unknown {
        /// The one that was perhaps meant.
        meant: Option<String>,
    },
}

/// A declared variable, ready to be compared with values.
#[derive(Debug, Clone)]
pub struct CompiledVariable {
    /// Its declaration.
    pub declaration: Variable,
    pub(super) pattern: Option<Regex>,
}

impl CompiledVariable {
    /// The value to use for what was given, if there is one. A text that stands for a number, a boolean, a list or an object
    /// is taken for it where the declaration wants one, as command lines give nothing but texts.
    pub(super) fn bind(&self, given: Option<&Value>, violations: &mut Vec<Violation>) -> Option<Value> {
        let declared = &self.declaration;
        let value = match given {
            Some(Value::String(text)) if text.is_empty() && declared.required => None,
            Some(value) => Some(value.clone()),
            None => declared.default.clone(),
        };
        let mut wrong = |wrong| violations.push(Violation::new(&declared.name, wrong));
        let Some(value) = value else {
            if declared.required {
                wrong(Wrong::Missing);
            }
            return None;
        };
        match typed(&declared.ty, value) {
            Ok(value) => {
                self.broken_rules(&value).into_iter().map(Wrong::Rule).for_each(wrong);
                Some(value)
            }
            Err(()) => {
                wrong(Wrong::Type { wanted: declared.ty.clone() });
                None
            }
        }
    }

    pub(super) fn broken_rules(&self, value: &Value) -> Vec<String> {
        let rules = &self.declaration.validation;
        let mut broken = Vec::new();
        if let Value::String(text) = value {
            let length = text.chars().count() as u64;
            if let Some(pattern) = &self.pattern
                && !pattern.is_match(text)
            {
                broken.push(format!("does not match `{pattern}`"));
            }
            if let Some(least) = rules.min_length.filter(|least| length < *least) {
                broken.push(format!("has {length} characters, at least {least} are needed"));
            }
            if let Some(most) = rules.max_length.filter(|most| length > *most) {
                broken.push(format!("has {length} characters, at most {most} are allowed"));
            }
        }
        if let Some(number) = value.as_f64() {
            if let Some(least) = rules.minimum.filter(|least| number < *least) {
                broken.push(format!("is {number}, at least {least} is needed"));
            }
            if let Some(most) = rules.maximum.filter(|most| number > *most) {
                broken.push(format!("is {number}, at most {most} is allowed"));
            }
        }
        if let Some(values) = &rules.one_of
            && !values.contains(value)
        {
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            broken.push(format!("must be one of {}", values.join(", ")));
        }
        broken
    }
}

/// The names of types that are checked.
pub(super) const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "object", "array"];

fn is_of(ty: &str, value: &Value) -> bool {
    match ty {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => true,
    }
}

fn typed(ty: &str, value: Value) -> Result<Value, ()> {
    // An explicit null is a value of any type: nothing.
    if is_of(ty, &value) || value.is_null() {
        return Ok(value);
    }
    let read = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    read.filter(|value| is_of(ty, value)).ok_or(())
}

/// Whether a default is of the type that its variable has.
pub(super) fn fits(variable: &Variable) -> bool {
    variable.default.as_ref().is_none_or(|value| is_of(&variable.ty, value) || value.is_null())
}

/// The values of a prompt's variables, all of them checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bound(pub(super) Map<String, Value>);
