#![doc = include_str!("../README.md")]
//!
//! **What it is for.** The kernel knows one trait for everything that answers a request; this crate holds the things
//! that do:
//!
//! | module | what is in it |
//! |---|---|
//! | [`scripted`] | answers written down beforehand: the public way to test an agent |
//! | [`provider`] | models somewhere else, over HTTP: one module per protocol |
//! | [`http`] | what goes over the wire |
//! | [`cassette`] | real traffic, recorded once and played back for ever |
//! | [`gate`] | the rate limiter: keeps the whole process within a provider's limits |
//! | [`resilience`] | models that wrap models: retry, fallback, response cache |
//! | [`choose`] | chooses a model: names, keys, configuration |
//! | [`price`] | what models cost |
//! | [`embedding`] | texts as vectors |
//!
//! All but `scripted`, `resilience` and `price` come with the feature `providers`, which is on by default.
//!
//! **What it may know.** The message, tool and model types of `convoke-core`; nothing of steps, goals, graphs, stores
//! or servers.
//!
//! **What it must never do.** Journal or count budgets (the kernel does, for every model alike); hold a lock while it
//! waits; turn a failure into an answer; show a key. A model here that reaches no real one says so with
//! [`Reality::Simulated`](convoke_core::Reality::Simulated), so that tests can forbid all others.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "providers")]
pub mod cassette;
#[cfg(feature = "providers")]
pub mod choose;
#[cfg(feature = "providers")]
pub mod embedding;
#[cfg(feature = "providers")]
pub mod gate;
#[cfg(feature = "providers")]
pub mod http;
pub mod price;
#[cfg(feature = "providers")]
pub mod provider;
pub mod resilience;
pub mod scripted;

#[cfg(feature = "providers")]
pub use cassette::Cassette;
#[cfg(feature = "providers")]
pub use choose::{Chooser, Connector, Credentials, Environment, ModelName, UnknownModel};
#[cfg(feature = "providers")]
pub use embedding::ProviderEmbedder;
#[cfg(feature = "providers")]
pub use gate::Gate;
#[cfg(feature = "providers")]
pub use http::{ApiKey, Transport};
pub use price::PriceTable;
#[cfg(feature = "providers")]
pub use provider::{Provider, ProviderModel, ProviderSettings};
pub use scripted::{Match, Reply, ScriptError, ScriptedModel};
