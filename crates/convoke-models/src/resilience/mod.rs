//! Wrappers around models: retries, fallback, caching, deferred opening.
//!
//! | to have | use |
//! |---|---|
//! | a retry after a transient failure | [`Retrying`] |
//! | another model after a permanent failure | [`Fallback`] |
//! | a cached reply to the same request | [`ResponseCache`] |
//! | a model that is opened only if it is needed | [`Deferred`] |
//!
//! Each is a [`Model`](convoke_core::Model) around others, so they nest. The usual order, from the outside: a cache
//! around a fallback around a retry around each model.
//!
//! **What it must never do.** Change a request; hide what an attempt cost; pass half an answer off as a whole one; know a
//! provider or a protocol. Whoever drops a stream stops all that was going on for it: nothing here runs in the
//! background.
//!
//! ```
//! use std::sync::Arc;
//!
//! use convoke_core::{Model, ModelError};
//! use convoke_models::resilience::{Attempts, Fallback, Retrying};
//! use convoke_models::{Reply, ScriptedModel};
//!
//! let first = ScriptedModel::replies([Reply::error(ModelError::of_status(401, "wrong key"))]);
//! let second = ScriptedModel::replies([Reply::error(ModelError::of_status(503, "busy")), "Hello!".into()]);
//! let retrying = |model| Arc::new(Retrying::new(Arc::new(model), Attempts::default()));
//! let model: Arc<dyn Model> = Arc::new(Fallback::new(retrying(first)).or(retrying(second)));
//! ```

mod attempt;
mod attempt_sequence;
mod attempts;
mod cache;
mod deferred;
mod delegate;
mod fallback;
mod partial;
mod retry;
mod tally;

pub use attempts::Attempts;
pub use cache::{MemoryReplies, ReplyStore, ResponseCache};
pub use deferred::Deferred;
pub use fallback::Fallback;
pub use partial::PartialReply;
pub use retry::Retrying;
