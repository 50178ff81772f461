//! What a user sees of `convoke`: every command on stores made by hand, and on runs of a real workflow.
//!
//! Snapshots hold the command, its exit code and both streams. `INSTA_UPDATE=always cargo test -p convoke-cli` writes
//! them anew; read the difference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod agentfiles;
mod answer;
mod attach;
mod attend;
mod chat;
mod chat_terminal;
mod config;
mod corpus;
mod doctor;
mod earlier_builds;
mod errors;
mod eval;
mod eval_turns;
mod examples;
mod failed_build;
mod fork;
mod graph_commands;
mod graphs;
mod host;
mod init;
mod journal;
mod json;
mod knowledge;
mod local;
mod manual;
mod mcp;
mod mcp_edit;
mod memory;
mod model;
mod observe;
mod own_packs;
mod pack_inputs;
mod pack_limits;
mod package;
mod packs;
mod page;
mod place;
mod policy;
mod purge;
mod questions;
mod record;
mod replay;
mod resume;
mod resume_refused;
mod resume_told;
mod rm;
mod run;
mod run_config;
mod run_examples;
mod run_lacking;
mod run_mcp_stop;
mod run_person;
mod run_secrets;
mod run_skills;
mod run_stop;
mod run_terminal;
mod run_tools;
mod run_tools_absent;
#[cfg(target_os = "linux")]
mod run_tools_chains;
mod run_tools_kept;
mod run_tools_more;
mod run_tools_stop;
mod runs;
mod send;
mod session_log;
mod show;
mod sink;
mod stats;
mod store_place;
mod subfolder;
mod workshop;
