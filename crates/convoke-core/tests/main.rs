//! Everything that is promised of the kernel, topic by topic: tried with typed steps, models and stores as users have them.
//!
//! One program: one per file would take minutes to link. A new file is named here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acting_once;
mod asking_tools;
mod asleep;
mod attendant;
mod awaited_calls;
mod bounds;
mod budgets;
mod clocks;
#[allow(dead_code, reason = "the kernel's tests and those of steps need different parts of it")]
mod common;
mod custom_effects;
mod failure_policy;
mod forking;
mod generations;
mod go_on;
mod intercepted;
mod interrupted;
mod labels;
mod limits_and_resume;
mod mail;
mod model_calls;
mod objections;
mod observers;
mod past;
mod prepared_tools;
mod publishing;
mod questions;
mod refused_arguments;
mod refused_replies;
mod registry;
mod renaming;
mod replies_told;
mod resume;
mod side_output;
mod subscriptions;
mod time_over_generations;
mod time_over_life;
mod tool_ends;
mod transcripts;
mod unsaid_usage;
mod waiting;
mod workflow;
