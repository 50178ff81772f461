//! Google's Gemini: `generateContent`, streamed.
//!
//! **What it is for.** Translation between our messages and Gemini's contents, both ways, as models of the generations
//! 2.5 and 3 want it. Nothing here sends, waits or tries again.
//!
//! **Thought signatures.** Gemini signs parts of its replies, not only thoughts, and wants every signature back on the
//! part it came on. Our messages have a signature on thoughts only, so a signature travels in a
//! [`Part::Reasoning`](convoke_core::Part::Reasoning) next to the part it belongs to; `signature.rs` describes the form.
//! Thoughts without a signature of this model at this address (unsigned summaries, thoughts of others) are not sent back.
//!
//! **Order of messages.** System messages at the beginning become the `systemInstruction`; later ones stay where they
//! are, as the user's, because moving them would change what the provider has cached. Tool messages that follow one
//! another become one content: Gemini wants the results of a turn together.
//!
//! **What it must never do.** Send a signature of another model or provider; reorder what was said.

mod contents;
mod decoder;
mod fault;
mod request;
mod signature;
mod thinking;

use convoke_core::{CallContext, ModelError, ModelRequest};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::origin::fingerprint;
use super::{Decoder, Protocol, ProviderSettings, WireRequest};

/// The protocol, as one model at one address speaks it.
pub(super) struct GenerateContent {
    /// Where signatures come from, and may go back to.
    origin: String,
}

impl GenerateContent {
    /// The protocol of this model at this address.
    pub(super) fn new(base_url: &str, model: &str) -> Self {
        Self { origin: fingerprint(base_url, model) }
    }
}

impl Protocol for GenerateContent {
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn write(
        &self,
        model: &str,
        request: &ModelRequest,
        _: &CallContext,
        _: &ProviderSettings,
    ) -> Result<WireRequest, ModelError> {
        Ok(WireRequest {
            path: format!("/{}:streamGenerateContent?alt=sse", resource(model)),
            headers: HeaderMap::new(),
            body: request::body(model, request, &self.origin)?,
        })
    }

    fn decoder(&self, _: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(decoder::GeminiDecoder::new(&self.origin))
    }

    fn failure(&self, status: StatusCode, body: &Value) -> Option<ModelError> {
        fault::in_body(status.as_u16(), body)
    }
}

/// Where a model is: `gemini-2.5-flash` among the models, `tunedModels/mine` where it says.
pub(crate) fn resource(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
