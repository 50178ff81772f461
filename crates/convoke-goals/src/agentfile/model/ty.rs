//! Types of inputs and outputs.

use std::fmt;

use convoke_text::nearest;
use serde_json::{Number, Value, json};

use crate::agentfile::lexer::{Keyword, is_name};

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Type {
    /// Any text. What has no type is this.
    #[default]
    String,
    /// A whole number.
    Int,
    /// Any number.
    Number,
    /// Yes or no.
    Bool,
    /// Anything that JSON can say.
    Json,
    /// One of these texts.
    OneOf(Vec<String>),
    /// Any number of values of a type.
    List(Box<Type>),
}

impl Type {
    /// The types that have names.
    pub const NAMES: &[&str] = &["string", "int", "number", "bool", "json"];

    /// The value that was perhaps meant by a text which is none, if it has few.
    pub(crate) fn nearest(&self, text: &str) -> Option<&str> {
        match self {
            Self::OneOf(values) => nearest(text, values.iter().map(String::as_str)),
            _ => None,
        }
    }

    /// The type of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "int" => Self::Int,
            "number" => Self::Number,
            "bool" => Self::Bool,
            "json" => Self::Json,
            _ => return None,
        })
    }

    /// The value that a text stands for, on a command line or in a file.
    ///
    /// ```
    /// use convoke_goals::agentfile::model::Type;
    /// use serde_json::json;
    ///
    /// assert_eq!(Type::Int.read("3"), Ok(json!(3)));
    /// assert_eq!(Type::String.read("3"), Ok(json!("3")));
    /// assert_eq!(Type::List(Box::new(Type::String)).read("a, b"), Ok(json!(["a", "b"])));
    /// assert_eq!(Type::Bool.read("maybe").unwrap_err(), "must be `true` or `false`");
    /// ```
    ///
    /// # Errors
    /// If it stands for none. The error says what it must be.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let trimmed = text.trim();
        match self {
            Self::String => Ok(Value::String(text.to_owned())),
            Self::Int => {
                trimmed.parse::<i64>().map(Value::from).map_err(|_| "must be a whole number".to_owned())
            }
            Self::Number => trimmed
                .parse::<i64>()
                .map(Value::from)
                .ok()
                .or_else(|| trimmed.parse().ok().and_then(Number::from_f64).map(Value::Number))
                .ok_or_else(|| "must be a number".to_owned()),
            Self::Bool => match trimmed {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err("must be `true` or `false`".to_owned()),
            },
            Self::Json => serde_json::from_str(text).map_err(|error| format!("must be JSON: {error}")),
            Self::OneOf(values) if values.iter().any(|value| value == text) => {
                Ok(Value::String(text.to_owned()))
            }
            Self::OneOf(_) => Err(format!("must be {}", self.in_words())),
            Self::List(inner) => {
                if trimmed.starts_with('[') {
                    let value =
                        serde_json::from_str(trimmed).map_err(|error| format!("must be JSON: {error}"))?;
                    return if self.admits(&value) {
                        Ok(value)
                    } else {
                        Err(format!("must be {}", self.in_words()))
                    };
                }
                if trimmed.is_empty() {
                    return Ok(Value::Array(Vec::new()));
                }
                trimmed
                    .split(',')
                    .map(|item| inner.read(item.trim()))
                    .collect::<Result<_, _>>()
                    .map(Value::Array)
            }
        }
    }

    /// Returns whether a value is of this type.
    #[must_use]
    pub fn admits(&self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Int => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::Json => true,
            Self::OneOf(values) => value.as_str().is_some_and(|value| values.iter().any(|one| one == value)),
            Self::List(inner) => {
                value.as_array().is_some_and(|items| items.iter().all(|item| inner.admits(item)))
            }
        }
    }

    /// Converts it to a JSON Schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        match self {
            Self::String => json!({"type": "string"}),
            Self::Int => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Bool => json!({"type": "boolean"}),
            Self::Json => json!({}),
            Self::OneOf(values) => json!({"type": "string", "enum": values}),
            Self::List(inner) => json!({"type": "array", "items": inner.schema()}),
        }
    }

    /// In words, for messages.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::String => "a text".to_owned(),
            Self::Int => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Json => "JSON".to_owned(),
            Self::OneOf(values) => {
                let quoted: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::List(inner) => format!("a list of which each is {}", inner.in_words()),
        }
    }
}

/// As it is written in a file.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String => f.write_str("string"),
            Self::Int => f.write_str("int"),
            Self::Number => f.write_str("number"),
            Self::Bool => f.write_str("bool"),
            Self::Json => f.write_str("json"),
            Self::OneOf(values) => {
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        f.write_str("|")?;
                    }
                    f.write_str(&written(value))?;
                }
                Ok(())
            }
            Self::List(inner) => write!(f, "[{inner}]"),
        }
    }
}

/// A value as it is written: with quotes only if it needs them.
pub(crate) fn written(value: &str) -> String {
    let word = is_name(value)
        && Keyword::from_word(value).is_none()
        && Type::from_name(value).is_none()
        && !["NOT", "IS", "IN", "AND", "OR", "CONTAINS"].iter().any(|word| value.eq_ignore_ascii_case(word));
    let number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if word || number {
        return value.to_owned();
    }
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}
