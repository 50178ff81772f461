#![doc = include_str!("../README.md")]
//!
//! With the feature `llama`, `LocalModel` runs a GGUF file with llama.cpp and is a [`Model`](convoke_core::Model) like
//! any other: it streams, calls tools, and answers in the shape it is asked for. Requests share one loaded model.
//!
//! What a small model lacks in judgement is made up for by grammar: an answer with a schema, and the arguments of every
//! tool call, are decoded under a grammar made of the schema, so they are valid however small the model is.
//!
//! With the feature `embeddings`, `LocalEmbedder` turns texts into vectors; see the module `embedding`. It needs nothing of
//! the other feature, and no compiler but Rust's.
//!
//! Without features only the parts are here that need no engine: [`ChatTemplate`] makes prompts, [`ToolCallReader`]
//! reads tool calls, [`LocalSettings`] says how a model is run. Building `llama` takes cmake, a C++ compiler and
//! libclang.
//!
//! # What this crate must never do
//! Fetch anything: it opens files it is given. Print: the engine's log goes to `tracing`, target `llama-cpp-2`. Take
//! text for a tool call that was not written under a grammar.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod prompt;
mod reply;
mod settings;

#[cfg(feature = "embeddings")]
pub mod embedding;
#[cfg(feature = "llama")]
mod engine;
#[cfg(feature = "llama")]
mod grammar;
#[cfg(feature = "llama")]
mod sampling;

#[cfg(feature = "embeddings")]
pub use embedding::{EmbedderSettings, LocalEmbedder, LongTexts};
#[cfg(feature = "llama")]
pub use engine::{LocalModel, LocalStatus};
pub use error::LocalError;
pub use prompt::{ChatTemplate, ControlTokens, Piece};
pub use reply::ToolCallReader;
pub use settings::LocalSettings;
