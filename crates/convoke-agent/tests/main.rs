//! Everything that is promised of agents, topic by topic.
//!
//! One program: one per file would take minutes to link. A new file is named here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent_loop;
mod approval;
mod arguments;
mod common;
mod delegates;
mod forking;
mod gates;
mod limits;
mod many_calls;
mod memory;
mod on_demand;
mod question_broker;
mod resume;
mod stream;
mod structured;
mod time_limits;
mod tools;
mod turns;
mod workflow_tool;
