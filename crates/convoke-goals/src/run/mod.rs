//! Execution: a prepared tree becomes steps of the kernel.
//!
//! | to understand | read |
//! |---|---|
//! | the root step, and sequences | `workflow.rs`, `sequence.rs`, `rounds.rs` |
//! | one goal, from its condition to its values | `goal.rs` |
//! | one worker, asked until there is an answer | `worker.rs`, `outputs.rs` |
//! | several workers at the same goal | `fan_out.rs`, `synthesis.rs`, `agent.rs`, `subworkflow.rs` |
//! | a goal that is a workflow of another kind | `embedded.rs` |
//! | a goal that is improved on | `convergence.rs`, `judge.rs` |
//! | agents that are spawned at run time | `spawn/` |
//! | texts that are too long for a prompt | `condense.rs` |
//! | supervision, and which tools a supervisor is told of | `supervised_work.rs`, `available_tools.rs`, `called_tools.rs` |
//!
//! Nothing here is done but through the scope, prompts are pure functions of the state, and order is declared order. So a
//! run that was cut short anywhere goes on where it was.

mod agent;
mod available_tools;
mod called_tools;
mod condense;
mod convergence;
mod embedded;
mod error;
mod events;
mod fan_out;
mod goal;
mod judge;
mod outputs;
mod reply_check;
mod retry;
mod rounds;
mod run_settings;
mod sequence;
mod spawn;
mod subworkflow;
mod supervised_work;
mod synthesis;
mod worker;
mod workflow;
mod workflow_context;

use std::sync::Arc;

use convoke_core::Step;

pub use error::GoalError;
pub(crate) use spawn::{SPAWN_AGENT, SPAWN_AGENTS};

use crate::equipment::Equipment;
use crate::plan::Plan;
use crate::state::GoalState;

/// The plan as a step.
pub(crate) fn step(plan: Arc<Plan>, equipment: Arc<Equipment>) -> impl Step<GoalState> {
    workflow::WorkflowStep::outermost(plan, equipment)
}
