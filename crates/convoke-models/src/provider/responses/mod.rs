//! OpenAI's Responses API.
//!
//! **What it is for.** A request into the body of `POST /responses`, and the events that come back into pieces of a
//! reply. Nothing is kept at OpenAI (`store` is false): the whole conversation goes along each time.
//!
//! **Thoughts** of these models are sealed. Each comes as an item with an id, perhaps a summary, and its encrypted
//! content, which goes back in its place before the words or calls that followed from it. All of that survives in the
//! signature of the thought (see [`thoughts`]); what came from elsewhere is not sent.
//!
//! **What it must never do.** Take a reply for finished before its last event came; write a message differently because
//! another one follows.

mod decoder;
mod input;
mod thoughts;
mod write;

use convoke_core::{CallContext, ModelError, ModelRequest};
use http::StatusCode;
use serde_json::Value;

use super::chat::{common, failure};
use super::{Decoder, Protocol, ProviderSettings, WireRequest};
use decoder::ResponsesDecoder;
use thoughts::Seal;

/// The protocol, as one model at one address speaks it.
pub(super) struct Responses {
    seal: Seal,
}

impl Responses {
    /// The protocol of this model at this address.
    pub(super) fn new(base_url: &str, model: &str) -> Self {
        Self { seal: Seal::of(base_url, model) }
    }
}

impl Protocol for Responses {
    fn write(
        &self,
        model: &str,
        request: &ModelRequest,
        call: &CallContext,
        _: &ProviderSettings,
    ) -> Result<WireRequest, ModelError> {
        let body = write::body(model, request, &self.seal)?;
        Ok(WireRequest { path: "/responses".to_owned(), headers: common::headers(model, call), body })
    }

    fn decoder(&self, _: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(self.seal.clone()))
    }

    fn failure(&self, status: StatusCode, body: &Value) -> Option<ModelError> {
        failure::of_reply(status, body)
    }
}
