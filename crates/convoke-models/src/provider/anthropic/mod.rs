//! Anthropic's Messages API.
//!
//! **What it is for.** Translating between our messages and `POST /v1/messages`. Models differ in what they accept;
//! [`family`] knows how, and nothing else here looks at a model's name.
//!
//! **What it must never do.** Move what stands in a conversation because more came after it: instructions from the
//! middle stay there, and marks for the cache stand outside the messages.

mod body;
mod counts;
mod decoder;
mod error;
mod family;
mod messages;
mod reasoning;
mod shape;
mod thoughts;
mod tools;

use convoke_core::{CallContext, ModelError, ModelRequest, Price};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::origin::fingerprint;
use super::{Decoder, Protocol, ProviderSettings, WireRequest};
use family::Family;

/// The version of the protocol this is written for.
const VERSION: &str = "2023-06-01";

/// The protocol, as one model at one address speaks it.
pub(super) struct Messages {
    /// Where thoughts come from, and may go back to.
    origin: String,
    family: Family,
    price: Option<Price>,
}

impl Messages {
    /// The protocol of this model with these settings.
    pub(super) fn new(model: &str, settings: &ProviderSettings) -> Self {
        let origin = fingerprint(&settings.base_url, model);
        Self { origin, family: Family::of(model), price: settings.price }
    }
}

impl Protocol for Messages {
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn write(
        &self,
        model: &str,
        request: &ModelRequest,
        _: &CallContext,
        settings: &ProviderSettings,
    ) -> Result<WireRequest, ModelError> {
        let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        Ok(WireRequest {
            path: "/v1/messages".to_owned(),
            headers: HeaderMap::from_iter([version]),
            body: body::write(model, request, settings.prompt_cache, &self.origin)?,
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        let by_tool = tools::answers_by_tool(request, self.family);
        Box::new(decoder::AnthropicDecoder::new(&self.origin, self.price, by_tool))
    }

    fn failure(&self, _: StatusCode, body: &Value) -> Option<ModelError> {
        error::read(body)
    }
}
