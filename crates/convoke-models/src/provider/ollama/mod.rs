//! Ollama's own chat API.
//!
//! **What it is for.** Translating between our messages and `POST /api/chat`, of which replies come as a JSON object
//! per line.
//!
//! **What it must never do.** Let anything go missing without a word: Ollama cuts conversations to fit unless it is
//! told not to, and drops tools when a shape is asked for. Send a model the thoughts of another.

mod body;
mod decoder;
mod error;
mod thoughts;

use convoke_core::{CallContext, ModelError, ModelRequest};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::{Decoder, Protocol, ProviderSettings, WireRequest};
use crate::http::Framing;
use thoughts::Mark;

/// The protocol, as one model at one address speaks it.
pub(super) struct OllamaChat {
    mark: Mark,
}

impl OllamaChat {
    /// The protocol of this model at this address.
    pub(super) fn new(base_url: &str, model: &str) -> Self {
        Self { mark: Mark::of(base_url, model) }
    }
}

impl Protocol for OllamaChat {
    fn write(
        &self,
        model: &str,
        request: &ModelRequest,
        _: &CallContext,
        _: &ProviderSettings,
    ) -> Result<WireRequest, ModelError> {
        Ok(WireRequest {
            path: "/api/chat".to_owned(),
            headers: HeaderMap::new(),
            body: body::write(model, request, &self.mark)?,
        })
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn decoder(&self, _: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(decoder::OllamaDecoder::new(self.mark.clone()))
    }

    fn failure(&self, status: StatusCode, body: &Value) -> Option<ModelError> {
        error::read(body, Some(status))
    }
}
