//! Everything that is promised of typed steps, topic by topic.
//!
//! One program: one per file would take minutes to link. A new file is named here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent_step;
mod chain;
mod classifier;
#[allow(dead_code, reason = "the kernel's tests and those of steps need different parts of it")]
#[path = "../../convoke-core/tests/common/mod.rs"]
mod common;
mod dag;
mod joins;
mod joins_and_resume;
mod leaf_steps;
mod loops;
mod merge_and_map;
mod on_error;
mod parallel;
mod parallel_failures;
mod prompts;
mod property;
mod retry;
mod router;
mod shapes;
mod threads;
mod tool_step;
mod ui;
