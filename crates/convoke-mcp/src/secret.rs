//! The secrets given to a server, redacted in texts that are shown or written down.

use std::path::Path;

use convoke_text::redaction;
use serde_json::Value;

/// The length below which a value of digits or small letters alone is a setting.
const SHORTEST_WORD: usize = 6;

/// Values that must not be shown.
#[derive(Debug, Default)]
pub(crate) struct ServerSecrets(redaction::Secrets);

impl ServerSecrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter().filter(|value| !is_setting(value) && !is_place(value));
        Self(values.flat_map(|value| [in_json(&value), value]).collect())
    }

    /// The text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.hide(text)
    }

    /// A text whose beginning is missing without them, and without what may be the rest of one.
    pub(crate) fn hide_in_rest(&self, text: &str) -> String {
        self.0.hide_rest(text)
    }

    /// The value without them.
    pub(crate) fn hide_in_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide_in_value(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, field)| (self.hide(&name), self.hide_in_value(field)))
                .collect(),
            other => other,
        }
    }
}

/// Whether a value is a port, a flag or a level (`8080`, `true`, `debug`), which are part of many words: a server's
/// variables hold those as well as secrets.
fn is_setting(value: &str) -> bool {
    let is_all = |wanted: fn(&u8) -> bool| value.as_bytes().iter().all(wanted);
    value.len() < SHORTEST_WORD && (is_all(u8::is_ascii_digit) || is_all(u8::is_ascii_lowercase))
}

/// Whether a value is a file or folder of this machine, which is none: results of a server that works there would make no
/// sense without it.
fn is_place(value: &str) -> bool {
    let path = Path::new(value);
    path.is_absolute() && path.exists()
}

/// A value as it stands within JSON.
fn in_json(value: &str) -> String {
    let written = Value::from(value).to_string();
    written[1..written.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_in_values_and_in_json_and_a_folder_is_none() {
        let folder = std::env::temp_dir().display().to_string();
        let secrets = ServerSecrets::new(["hush\"hush".to_owned(), folder.clone()]);
        assert_eq!(secrets.hide(r#"{"key": "hush\"hush"}"#), r#"{"key": "(hidden)"}"#);
        let value = serde_json::json!({"keys": ["hush\"hush", 7], "in": folder});
        let hidden = serde_json::json!({"keys": ["(hidden)", 7], "in": folder});
        assert_eq!(secrets.hide_in_value(value), hidden);
    }

    #[test]
    fn the_longer_one_is_hidden_whole() {
        let secrets = ServerSecrets::new(["abcdef", "Bearer abcdef", "8080", ""].map(str::to_owned));
        assert_eq!(secrets.hide("Bearer abcdef or abcdef at 8080"), "(hidden) or (hidden) at 8080");
        assert!(!format!("{secrets:?}").contains("abcdef"));
    }

    #[test]
    fn a_short_token_is_hidden_and_a_setting_is_not() {
        let secrets = ServerSecrets::new(["aB3-x", "debug", "true", "8080", "t-1"].map(str::to_owned));
        assert_eq!(secrets.hide("aB3-x debug true 8080 t-1"), "(hidden) debug true 8080 t-1");
    }
}
