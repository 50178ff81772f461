//! What a server was given and nobody else may see, so that it can be taken out of texts that are shown or written down.

use std::path::Path;

use serde_json::Value;

/// The shortest value that counts as a secret. Shorter ones (a port, a flag) are none, and are part of many words.
const SHORTEST: usize = 6;

/// What stands in the place of a secret.
const HIDDEN: &str = "(secret)";

/// Values that must not be shown.
#[derive(Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter().filter(|value| value.len() >= SHORTEST && !is_place(value));
        let mut values: Vec<String> = values.flat_map(|value| [in_json(&value), value]).collect();
        // One may be part of another: the longer one goes first, or its rest would stay.
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Self(values)
    }

    /// The text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
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

    /// A text whose beginning is missing without them, and without what may be the rest of one.
    pub(crate) fn hide_in_rest(&self, text: &str) -> String {
        let rests = self.0.iter().flat_map(|secret| secret.char_indices().map(|(at, _)| &secret[at..]));
        let rest = rests.filter(|rest| text.starts_with(rest)).map(str::len).max().unwrap_or(0);
        self.hide(&text[rest..])
    }
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

/// Says nothing.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_one_is_hidden_too() {
        let secrets = Secrets::new(["hush-hush".to_owned()]);
        assert_eq!(secrets.hide_in_rest("sh-hush and hush-hush"), " and (secret)");
        assert_eq!(secrets.hide_in_rest("and so on"), "and so on");
    }

    #[test]
    fn they_are_found_in_values_and_in_json_and_a_folder_is_none() {
        let folder = std::env::temp_dir().display().to_string();
        let secrets = Secrets::new(["hush\"hush".to_owned(), folder.clone()]);
        assert_eq!(secrets.hide(r#"{"key": "hush\"hush"}"#), r#"{"key": "(secret)"}"#);
        let value = serde_json::json!({"keys": ["hush\"hush", 7], "in": folder});
        let hidden = serde_json::json!({"keys": ["(secret)", 7], "in": folder});
        assert_eq!(secrets.hide_in_value(value), hidden);
    }

    #[test]
    fn the_longer_one_is_hidden_whole() {
        let secrets = Secrets::new(["abcdef", "Bearer abcdef", "8080", ""].map(str::to_owned));
        assert_eq!(secrets.hide("Bearer abcdef or abcdef at 8080"), "(secret) or (secret) at 8080");
        assert!(!format!("{secrets:?}").contains("abcdef"));
    }
}
