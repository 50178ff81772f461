//! What a user sees of `convoke`: every command on stores made by hand, and on runs of a real workflow.
//!
//! Snapshots hold the command, its exit code and both streams. `INSTA_UPDATE=always cargo test -p convoke-cli` writes
//! them anew; read the difference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod agentfiles;
mod answer;
mod chat;
mod doctor;
mod errors;
mod examples;
mod fork;
mod journal;
mod json;
mod local;
mod model;
mod place;
mod purge;
mod questions;
mod replay;
mod resume;
mod runs;
mod show;
