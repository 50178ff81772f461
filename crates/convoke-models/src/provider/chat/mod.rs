//! Chat completions, as OpenAI began them and as llama.cpp, vLLM, LM Studio, OpenRouter, Groq, Mistral, DeepSeek,
//! Together and many gateways speak them.
//!
//! **What it is for.** A request into the body of `POST /chat/completions`, and the chunks that come back into pieces of
//! a reply. Servers differ in what they send and refuse; what is read is read generously, what is written keeps to what
//! all of them know, and [`Dialect`] holds the few exceptions.
//!
//! **Thoughts** are given in fields that OpenAI never defined, and are wanted back by some servers and refused by others.
//! So a thought carries the field it came in and a fingerprint of the server and model it came from as its signature
//! (see [`thoughts`]), and goes back in that field to that server and model only.
//!
//! **What it must never do.** Take a reply for finished whose `finish_reason` never came; write a message differently
//! because another one follows.
//!
//! What the [Responses](super::responses) protocol has in common with this one is here as well: [`common`], [`failure`]
//! and [`strict`].

mod calls;
pub(super) mod common;
mod decoder;
mod dialect;
pub(super) mod failure;
pub(super) mod messages;
pub(super) mod strict;
mod thoughts;
mod usage;
mod write;

use convoke_core::{CallContext, ModelError, ModelRequest};
use http::StatusCode;
use serde_json::Value;

use super::origin::fingerprint;
use super::{Decoder, Protocol, ProviderSettings, WireRequest};
use decoder::ChatDecoder;
use dialect::Dialect;

/// The protocol, as one model of one server speaks it.
pub(super) struct ChatCompletions {
    dialect: Dialect,
    /// Where thoughts come from, and may go back to.
    origin: String,
}

impl ChatCompletions {
    /// The protocol of this model at this address.
    pub(super) fn new(base_url: &str, model: &str) -> Self {
        Self { dialect: Dialect::of(base_url, model), origin: fingerprint(base_url, model) }
    }
}

impl Protocol for ChatCompletions {
    fn write(
        &self,
        model: &str,
        request: &ModelRequest,
        call: &CallContext,
        settings: &ProviderSettings,
    ) -> Result<WireRequest, ModelError> {
        let dialect = self.dialect.asking(settings.structured_output);
        let body = write::body(model, request, &dialect, &self.origin)?;
        Ok(WireRequest { path: "/chat/completions".to_owned(), headers: common::headers(model, call), body })
    }

    fn decoder(&self, _: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(&self.origin))
    }

    fn failure(&self, status: StatusCode, body: &Value) -> Option<ModelError> {
        failure::of_reply(status, body)
    }
}
