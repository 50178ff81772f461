//! A table of a script: it knows its keys and where it is, so that every error can say so.

use std::time::Duration;

use convoke_text::{duration, nearest};
use serde_json::{Map, Value};

use crate::scripted::{ScriptError, ScriptLocation};

/// A table whose keys are all known.
pub(super) struct Section {
    pub(super) place: ScriptLocation,
    /// The keys that lead here, each with a dot after it.
    prefix: String,
    values: Map<String, Value>,
}

impl Section {
    /// Opens a table, `name` being the key it has in the rule. A key that is not among `known` is an error.
    pub(super) fn open(
        place: ScriptLocation,
        name: &str,
        value: Value,
        known: &[&str],
    ) -> Result<Self, ScriptError> {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        let values = match value {
            Value::Object(values) => values,
            other => return Err(wrong(&place, name, &other, "a table")),
        };
        if let Some(key) = values.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(ScriptError::UnknownKey {
                hint: nearest(key, known.iter().copied()).map(|near| format!("{prefix}{near}")),
                key: format!("{prefix}{key}"),
                known: known.iter().map(|key| format!("`{prefix}{key}`")).collect(),
                place,
            });
        }
        Ok(Self { place, prefix, values })
    }

    /// Whether the key is there and not read yet.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The value as it is.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.values.remove(key)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, ScriptError> {
        self.read(key, "a text in quotes", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, ScriptError> {
        self.read(key, "`true` or `false`", Value::as_bool)
    }

    /// A flag that has no meaning when it is false, so that it need not be there at all.
    pub(super) fn switch(&mut self, key: &str) -> Result<bool, ScriptError> {
        self.read(key, "`true`, or leave the key out", |value| value.as_bool().filter(|on| *on))
            .map(|on| on.unwrap_or_default())
    }

    pub(super) fn count(&mut self, key: &str) -> Result<Option<usize>, ScriptError> {
        self.read(key, "a whole number, 0 or more", |value| usize::try_from(value.as_u64()?).ok())
    }

    pub(super) fn positive(&mut self, key: &str) -> Result<Option<usize>, ScriptError> {
        self.read(key, "a whole number, 1 or more", |value| {
            usize::try_from(value.as_u64()?).ok().filter(|count| *count > 0)
        })
    }

    pub(super) fn duration(&mut self, key: &str) -> Result<Option<Duration>, ScriptError> {
        let expected = "a time in quotes, such as \"250ms\", \"2s\" or \"1m\"";
        let read = self.read(key, expected, |value| value.as_str().map(duration::parse))?.transpose();
        let (place, key) = (self.place.clone(), self.name(key));
        read.map_err(|error| ScriptError::InvalidDuration { place, key, error })
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>, ScriptError> {
        self.read(key, "a list", |value| value.as_array().cloned())
    }

    /// The table under this key, with these keys known in it.
    pub(super) fn section(&mut self, key: &str, known: &[&str]) -> Result<Option<Self>, ScriptError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        Self::open(self.place.clone(), &self.name(key), value, known).map(Some)
    }

    /// The value of the key, if it is there and `parse` can make something of it.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        parse: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ScriptError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match parse(&value) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(wrong(&self.place, &self.name(key), &value, expected)),
        }
    }

    pub(super) fn missing(&self, key: &str, expected: &'static str) -> ScriptError {
        ScriptError::MissingKey { place: self.place.clone(), key: self.name(key), expected }
    }

    pub(super) fn conflict(
        &self,
        first: &'static str,
        second: &'static str,
        remedy: &'static str,
    ) -> ScriptError {
        ScriptError::Conflict { place: self.place.clone(), first, second, remedy }
    }

    /// The key with the keys that lead to it.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

/// That this value is of the wrong kind.
pub(super) fn wrong(place: &ScriptLocation, key: &str, found: &Value, expected: &'static str) -> ScriptError {
    let found = match found {
        Value::Object(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string(),
    };
    let key = match (key, place.rule, place.reply) {
        ("", None, _) => "document",
        ("", Some(_), None) => "rule",
        ("", Some(_), Some(_)) => "reply",
        (key, _, _) => key,
    };
    ScriptError::WrongValue { place: place.clone(), key: key.to_owned(), found, expected }
}
