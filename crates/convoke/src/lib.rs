//! Orchestrate LLM agents in Rust: every run durable, replayable, bounded, observable and safe.
//!
//! One dependency, one state struct, and steps over it. This crate puts Convoke's parts together; each also stands
//! alone: [`core`] (the kernel), [`steps`] (typed steps), [`goals`] (declared goals, supervised; Agentfiles), [`agent`]
//! (tools and the agent loop), [`models`], [`config`], [`store`],
//! [`history`], [`tools`] and [`telemetry`].
//!
//! The [`guide`] starts from nothing and is compiled with the tests.

/// The kernel: steps, scopes, effects, the journal, events and budgets.
pub use convoke_core as core;

/// Typed tools, structured output and the agent loop.
pub use convoke_agent as agent;

/// Models by name: providers, retries and fallbacks, cassettes, prices, and the scripted one for tests.
pub mod models {
    pub use convoke_config::{OpenError, connect};
    pub use convoke_models::*;
}

/// The configuration: `convoke.toml`, the environment and the command line in layers.
pub use convoke_config as config;

/// Goals: what is to be achieved, by whom, and under whose eyes, in Rust or as an Agentfile.
///
/// Some of its names are those of steps too, so they are written with the module: `goals::Workflow`, `goals::Agent`. The
/// others are in the [prelude].
pub use convoke_goals as goals;

/// Stored runs, for whoever shows them: what was done, where, in which order, for how much.
pub use convoke_history as history;

/// A model in the process.
#[cfg(feature = "local")]
pub use convoke_local as local;

/// The files of models that run in the process.
#[cfg(feature = "local")]
pub use convoke_weights as weights;

/// What runs do, for those who watch: OpenTelemetry traces and metrics, and log lines.
pub use convoke_telemetry as telemetry;

/// Hands for agents, and what confines them: files, a sandboxed shell, git, the policy.
pub use convoke_tools as tools;

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
