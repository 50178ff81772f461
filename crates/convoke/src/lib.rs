//! Orchestrate LLM agents in Rust: every run durable, replayable, bounded, observable and safe.
//!
//! One dependency, one state struct, and steps over it. This crate puts Convoke's parts together; each also stands
//! alone: [`core`] (the kernel), [`steps`] (typed steps), [`agent`] (tools and the agent loop), [`models`] and
//! [`store`].
//!
//! The [`guide`] starts from nothing and is compiled with the tests.

/// The kernel: steps, scopes, effects, the journal, events and budgets.
pub use convoke_core as core;

/// Typed tools, structured output and the agent loop.
pub use convoke_agent as agent;

/// Models by name: providers, retries and fallbacks, cassettes, prices, and the scripted one for tests.
pub use convoke_models as models;

/// A model in the process.
#[cfg(feature = "local")]
pub use convoke_local as local;

/// The files of models that run in the process.
#[cfg(feature = "local")]
pub use convoke_weights as weights;

/// Typed steps: chains, routers, loops, retries, fan-outs.
pub use convoke_steps as steps;

/// Stores: SQLite, and memory.
pub use convoke_store as store;

pub mod prelude;

#[doc = include_str!("../guide/guide.md")]
pub mod guide {}

pub use convoke_core::{Error, Outcome, RunId, RunStatus, Runtime, Scope, Step, Workflow};

/// The README's code must compile too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
