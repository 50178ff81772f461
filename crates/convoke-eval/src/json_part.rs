//! Parts of JSON values: found by names and indices, or by a JMESPath expression, as scenarios of PromptKit have them.

use convoke_machine::pack::template::{Part, Path, Template};
use serde_json::{Value, json};

/// What the value is called in whose parts a plain path looks.
const ROOT: &str = "value";

/// Expressions are read by recursion, so they have an end.
const LONGEST: usize = 1000;

/// The part of a JSON value that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPart {
    written: String,
    /// Names and indices; without it, what is written is JMESPath.
    plain: Option<Path>,
}

impl JsonPart {
    /// Reads names and indices (`items[0].price`), or JMESPath (`items[?price > \`5\`].name`).
    ///
    /// # Errors
    /// Why it is neither.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} letters"));
        }
        // The usual beginning of JSON paths means the whole value.
        let written = match text.strip_prefix('$') {
            Some(rest) => rest.trim_start_matches('.'),
            None => text,
        };
        let written = if written.is_empty() { "@" } else { written }.to_owned();
        let dot = if written.starts_with('[') { "" } else { "." };
        let template = Template::parse(&format!("{{{{{ROOT}{dot}{written}}}}}"));
        let plain = match template.parts() {
            [Part::Value(path)] => Some(path.clone()),
            _ => None,
        };
        if plain.is_none() {
            jmespath::compile(&written).map_err(|error| first_line(&error.to_string()))?;
        }
        Ok(Self { written, plain })
    }

    /// What its author wrote.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Whether it is the whole value, which is always there.
    pub(crate) fn is_whole(&self) -> bool {
        self.written.trim() == "@"
    }

    /// The part; nothing if it is not there. An expression that finds nothing gives null, so null counts as nothing there.
    pub(crate) fn find(&self, value: &Value) -> Result<Option<Value>, String> {
        if let Some(path) = &self.plain {
            return Ok(path.find(&json!({ROOT: value})).cloned());
        }
        let expression = jmespath::compile(&self.written).map_err(|error| first_line(&error.to_string()))?;
        let found = expression.search(value).map_err(|error| first_line(&error.to_string()))?;
        let found = serde_json::to_value(&*found).map_err(|error| error.to_string())?;
        Ok(Some(found).filter(|found| !found.is_null()))
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Whether two values are the same; 9 and 9.0 are.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}
