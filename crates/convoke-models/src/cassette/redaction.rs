//! Redacts secrets before they reach the file.

use std::fmt;
use std::sync::Arc;

use convoke_http::secrets_of;
use convoke_text::redaction::Secrets;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::exchange::EventData;
use crate::http::HttpRequest;

/// Replies' headers that mean something to a client and nothing to anybody else. Those that tell how much of a rate is
/// left are not among them: they differ with every recording, and would slow down a replay.
const KEPT_HEADERS: [&str; 7] = [
    "content-type",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-goog-request-id",
    "x-request-id",
    "x-should-retry",
];

type Rule = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// The redaction that the user configured.
#[derive(Clone, Default)]
pub(super) struct Redaction {
    texts: Vec<String>,
    rules: Vec<Rule>,
}

impl Redaction {
    pub(super) fn hide(&mut self, text: String) {
        self.texts.push(text);
    }

    pub(super) fn rewrite(&mut self, rule: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.rules.push(Arc::new(rule));
    }

    /// For one exchange: also what this request carries in secret.
    pub(super) fn of_request(&self, request: &HttpRequest) -> Redactor {
        let mut secrets = secrets_of(&request.headers, &request.url);
        self.texts.iter().for_each(|text| secrets.add(text.clone()));
        Redactor { secrets, rules: self.rules.clone() }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redaction({} texts, {} rules)", self.texts.len(), self.rules.len())
    }
}

/// Hides what must be hidden in one exchange.
#[derive(Clone)]
pub(super) struct Redactor {
    secrets: Secrets,
    rules: Vec<Rule>,
}

impl Redactor {
    pub(super) fn text(&self, text: &str) -> String {
        self.secrets.hide(text)
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.secrets.hide_bytes(bytes)
    }

    pub(super) fn value(&self, value: &mut Value) {
        for rule in &self.rules {
            rule(value);
        }
        self.hide_in(value);
    }

    /// A JSON text, unchanged to the byte unless something in it had to be. `None` if it is no JSON.
    pub(super) fn json(&self, text: &str) -> Option<String> {
        let before: Value = serde_json::from_str(text).ok()?;
        let mut after = before.clone();
        self.value(&mut after);
        // A key that is there twice is in the text twice, and once in the value.
        let is_clean = after == before && !self.secrets.are_in(text);
        Some(if is_clean { text.to_owned() } else { after.to_string() })
    }

    /// What an event says: JSON if it is some and stands on one line.
    pub(super) fn data(&self, text: &str) -> EventData {
        let is_line = !text.contains(['\n', '\r']);
        match self.json(text).filter(|_| is_line) {
            // Blanks around the value would be lost in the file.
            Some(json) if json.trim() == json => EventData::Json(json),
            Some(json) => EventData::Text(json),
            None => EventData::Text(self.text(text)),
        }
    }

    /// The headers of a reply that are kept.
    pub(super) fn headers(&self, headers: &HeaderMap) -> HeaderMap {
        let mut kept = HeaderMap::new();
        for name in KEPT_HEADERS {
            let Some(value) = headers.get(name).filter(|value| !value.is_sensitive()) else { continue };
            let Some(value) =
                value.to_str().ok().and_then(|text| HeaderValue::from_str(&self.text(text)).ok())
            else {
                continue;
            };
            kept.insert(HeaderName::from_static(name), value);
        }
        kept
    }

    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if self.secrets.are_in(text) {
                    *text = self.text(text);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(object) => {
                if object.keys().any(|key| self.secrets.are_in(key)) {
                    let entries = std::mem::take(object);
                    object.extend(entries.into_iter().map(|(key, value)| (self.text(&key), value)));
                }
                object.values_mut().for_each(|value| self.hide_in(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
