//! Implementations of [`Model`](convoke_core::Model).
//!
//! **What it is for.** The kernel knows one trait for everything that answers a request; this crate holds the things
//! that do. Today that is the [`ScriptedModel`], which answers from rules and replies written down beforehand, in
//! Rust or in a file. It is the public way to test an agent: no network, no key, no cost, the same answer every time,
//! and every fault a provider can have, on demand. Providers come later, each in a module of its own.
//!
//! **What it may know.** The message, tool and model types of `convoke-core`; nothing of steps, goals, graphs, stores
//! or servers.
//!
//! **What it must never do.** Keep global state; journal, retry or count budgets (the kernel does, for every model
//! alike); hold a lock while it waits; turn a failure into an answer. A model here that reaches no real one says so
//! with [`Reality::Simulated`](convoke_core::Reality::Simulated), so that tests can forbid all others.
//!
//! ```
//! use convoke_core::ModelRequest;
//! use convoke_models::{Match, Reply, ScriptedModel};
//! use serde_json::json;
//!
//! let model = ScriptedModel::builder()
//!     .when(Match::last_contains("weather"), Reply::tool("weather", json!({"city": "Oslo"})))
//!     .when(Match::has_tool_result(), "It is sunny in Oslo.")
//!     .otherwise("I don't know.")
//!     .build();
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let reply = model.answer(ModelRequest::new("How is the weather?")).await?;
//! assert_eq!(reply.tool_calls()[0].name, "weather");
//! assert_eq!(model.calls(), 1);
//! # Ok::<(), convoke_core::ModelError>(())
//! # }).unwrap();
//! ```

pub mod scripted;

pub use scripted::{Match, Reply, ScriptError, ScriptedModel};
