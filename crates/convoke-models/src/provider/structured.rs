//! Structured output: how a server is asked for an answer of a given shape.
//!
//! Most servers take a JSON Schema and see to the shape themselves. Those that refuse it are asked in words: the schema
//! stands in the prompt, and whoever reads the answer checks it in any case. That a server refuses schemas is found out by
//! asking, once for each of its models in the process; whoever knows it beforehand says it in the settings.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use convoke_core::{Digest, Message, ModelError, ModelErrorKind, ModelRequest, json_text};
use http::{HeaderMap, HeaderValue};

use super::{Provider, ProviderSettings};

/// The way in which a server is asked for an answer of a given shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StructuredOutput {
    /// With a JSON Schema that the server enforces.
    JsonSchema,
    /// With the server's mode for any JSON, and the schema in words. Where a protocol has no such mode, in words only.
    JsonObject,
    /// With the schema in words, and nothing else.
    Words,
}

/// Models that refused a schema, by address and name.
static REFUSED: LazyLock<Mutex<HashSet<(String, String)>>> = LazyLock::new(Mutex::default);

impl ProviderSettings {
    /// How this model is asked for a shape.
    pub(super) fn structured_output_of(&self, model: &str) -> StructuredOutput {
        let chosen = self.structured_output.unwrap_or_else(|| {
            let refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
            if refused.contains(&self.place(model)) {
                StructuredOutput::Words
            } else {
                StructuredOutput::JsonSchema
            }
        });
        match chosen {
            StructuredOutput::JsonObject if self.provider != Provider::OpenAiCompatible => {
                StructuredOutput::Words
            }
            chosen => chosen,
        }
    }

    /// Whether a server that refuses a schema may be asked in words: nothing else is said, and it is one of the many that
    /// speak this protocol and know different parts of it.
    pub(super) fn may_ask_in_words(&self) -> bool {
        self.structured_output.is_none() && self.provider == Provider::OpenAiCompatible
    }

    /// Remembers that this model refuses schemas.
    pub(super) fn remember_refusal(&self, model: &str) {
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).insert(self.place(model));
    }

    fn place(&self, model: &str) -> (String, String) {
        (self.base_url.clone(), model.to_owned())
    }
}

/// The request with its schema in words. They stand at the beginning: what stands there stays there, however long the
/// conversation grows.
pub(super) fn in_words(mut request: ModelRequest) -> ModelRequest {
    if let Some(output) = request.output.take() {
        let told = Message::system(instruction(&output.schema));
        request.messages = std::iter::once(told).chain(request.messages.iter().cloned()).collect();
    }
    request
}

/// Marks a request that is asked in another way, such as in words, as another one than before: the same key with another body
/// is an error, or the first one's reply.
pub(super) fn another_key(headers: &mut HeaderMap, way: &str) {
    if let Some(key) = headers.get_mut("idempotency-key")
        && let Ok(other) =
            HeaderValue::from_str(&Digest::of_parts(&[key.as_bytes(), way.as_bytes()]).to_string())
    {
        *key = other;
    }
}

/// Whether a server that was given a schema may have refused it. Where there is no such model, or nobody is let in, words do
/// not help; any other error may be one, whatever its status, if it names the shape.
pub(super) fn is_refusal(error: &ModelError) -> bool {
    use ModelErrorKind as Kind;
    if let Some(401 | 403 | 429) = error.status {
        return false;
    }
    match error.kind {
        Kind::Authentication | Kind::Quota | Kind::RateLimited | Kind::Forbidden | Kind::TimedOut => false,
        Kind::InvalidRequest if error.status != Some(404) => true,
        _ => names_shape(&error.message),
    }
}

/// Whether somebody speaks of the shape of an answer.
pub(super) fn names_shape(text: &str) -> bool {
    sign_of_shape(text).is_some()
}

/// The words by which somebody speaks of the shape of an answer.
pub(super) fn sign_of_shape(text: &str) -> Option<&'static str> {
    const SIGNS: [&str; 9] = [
        "response_format",
        "response format",
        "responseformat",
        "json_schema",
        "json schema",
        "structured output",
        "structured_output",
        "guided_json",
        "grammar",
    ];
    let text = text.to_lowercase();
    SIGNS.into_iter().find(|sign| text.contains(sign))
}

/// What is said about a schema in words.
pub(super) fn instruction(schema: &serde_json::Value) -> String {
    format!("Answer with nothing but one JSON object that follows this JSON Schema: {}", json_text(schema))
}
