//! Providers: remote models, reached over HTTP.
//!
//! **What it is for.** [`ProviderModel`] is one model of one provider. All providers share one path: a request is
//! written down in the provider's `Protocol`, sent through a [`Transport`](crate::Transport) once the
//! [`Gate`](crate::Gate) lets it pass, and its reply is decoded piece by piece as it comes. What differs lies in one
//! module per protocol, and is only translation: no protocol sends, waits or tries again.
//!
//! **What it must never do.** Keep a conversation; retry (see [`crate::resilience`]); show a key; change the bytes of an
//! earlier message because a later one came (providers' caches live on that).

mod anthropic;
mod chat;
mod excerpt;
mod exchange;
mod failure;
mod gemini;
mod json;
mod model;
mod ollama;
mod origin;
mod reply_size;
mod responses;
mod settings;
mod structured;
mod unframed;
mod usage_asked;
mod wire;

pub(crate) use excerpt::excerpt;
pub(crate) use exchange::Exchange;
pub(crate) use gemini::resource as gemini_resource;
pub use model::ProviderModel;
pub use settings::{PromptCache, Provider, ProviderSettings, TimeLimits};
pub use structured::StructuredOutput;
pub(crate) use wire::{Decoder, Protocol, WireRequest};
