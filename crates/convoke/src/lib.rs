#![doc = include_str!("../README.md")]
//!
//! Each part also stands alone, in a crate of its own. The [`guide`] starts from nothing and is compiled with the tests.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The kernel: steps, scopes, effects, the journal, events and budgets.
pub use convoke_core as core;

/// Typed tools, structured output and the agent loop.
pub use convoke_agent as agent;

/// Models: providers by name, retries and fallback, cassettes, prices, and the scripted one for tests.
///
/// Without the feature `providers` there are the scripted model and the models that wrap others.
pub mod models {
    #[cfg(feature = "providers")]
    pub use convoke_config::{OpenError, connect};
    pub use convoke_models::*;
}

/// The configuration: `convoke.toml`, the environment and the command line in layers.
#[cfg(feature = "providers")]
pub use convoke_config as config;

#[cfg(feature = "goals")]
pub mod goals;

/// Graphs of nodes over a board, and agents that are asked.
#[cfg(feature = "graph")]
pub use convoke_graph as graph;

/// From a file to an equipped, guarded, watched run: what `convoke run` does, for your own program.
#[cfg(feature = "host")]
pub use convoke_host as host;

/// Documents that agents look things up in: taken in, searched by words and by meaning, cited.
#[cfg(feature = "knowledge")]
pub use convoke_knowledge as knowledge;

/// Stored runs, for whoever shows them: what was done, where, in which order, for how much.
pub use convoke_history as history;

/// A model in the process (feature `local`), and an embedder (feature `embeddings`).
#[cfg(any(feature = "local", feature = "embeddings"))]
pub use convoke_local as local;

/// Tools of MCP servers.
#[cfg(feature = "mcp")]
pub use convoke_mcp as mcp;

#[cfg(feature = "packs")]
pub mod packs;

/// Signed packages of Agentfiles: packed, verified, installed.
#[cfg(feature = "packages")]
pub use convoke_package as packages;

/// The files of models and embedders that run in the process.
#[cfg(any(feature = "local", feature = "embeddings"))]
pub use convoke_weights as weights;

/// OpenTelemetry traces and metrics of runs, and log lines.
#[cfg(feature = "telemetry")]
pub use convoke_telemetry as telemetry;

/// Built-in tools and what confines them: files, a sandboxed shell, git, the web, memory, the policy.
#[cfg(feature = "tools")]
pub use convoke_tools as tools;

/// Typed steps: chains, routers, loops, retries, fan-outs.
pub use convoke_steps as steps;

/// Stores: memory, and SQLite (feature `sqlite`).
pub use convoke_store as store;

pub mod prelude;

#[doc = include_str!("../guide/guide.md")]
#[cfg_attr(feature = "packs", doc = include_str!("../guide/packs.md"))]
#[cfg_attr(feature = "graph", doc = include_str!("../guide/graphs.md"))]
#[cfg_attr(feature = "host", doc = include_str!("../guide/files.md"))]
pub mod guide {}

pub use convoke_core::{Error, Outcome, RunId, RunStatus, Runtime, Scope, Step, Workflow};

/// The code of the project's README must compile too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
