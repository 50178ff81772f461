//! Everything that is promised of typed steps, topic by topic.
//!
//! One program: one per file would take minutes to link. A new file is named here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acting_once;
mod agent_step;
mod asleep;
mod attendant;
mod bounds;
mod budgets;
mod chain;
mod classifier;
mod clocks;
mod common;
mod failure_policy;
mod forking;
mod go_on;
mod intercepted;
mod interrupted;
mod joins;
mod joins_and_resume;
mod labels;
mod leaf_steps;
mod limits_and_resume;
mod loops;
mod mail;
mod merge_and_map;
mod objections;
mod observers;
mod on_error;
mod parallel;
mod parallel_failures;
mod prepared_tools;
mod prompts;
mod property;
mod publishing;
mod questions;
mod refused_replies;
mod registry;
mod renaming;
mod replies_told;
mod resume;
mod retry;
mod router;
mod speech;
mod threads;
mod tool_ends;
mod tool_step;
mod ui;
mod unsaid_usage;
mod waiting;
mod workflow;
