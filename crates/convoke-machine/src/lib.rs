#![doc = include_str!("../README.md")]
//!
//! - [`pack`]: what a file says, its templates and variables, and everything that is wrong with it;
//! - [`workflow`]: the state machine itself, as pure functions: no clock, no locks, nothing of the kernel;
//! - [`conversation`]: a conversation over the state machine, as a step of the kernel;
//! - [`stage`]: how the states of a pack speak: the document and the conversation put together;
//! - [`finding`]: one thing that is wrong with a pack, by JSON path.
//!
//! This crate never opens a file, calls a provider or prints: the kernel performs effects, the host finds files.

pub mod conversation;
pub mod pack;
pub mod stage;
mod whole;
pub mod workflow;

pub use convoke_text::finding;
