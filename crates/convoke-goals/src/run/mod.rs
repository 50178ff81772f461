//! Execution: a prepared tree becomes steps of the kernel.
//!
//! | to understand | read |
//! |---|---|
//! | the whole, and goals in an order | `workflow.rs`, `sequence.rs`, `rounds.rs` |
//! | one goal, from its condition to its values | `goal.rs` |
//! | somebody asked, until there is an answer | `ask.rs`, `outputs.rs` |
//! | several at the same goal | `fan_out.rs`, `synthesis.rs`, `agent.rs`, `subworkflow.rs` |
//! | a goal that is improved on | `convergence.rs`, `judge.rs` |
//! | agents that are called in at run time | `spawn/` |
//! | who watches, and what they know of tools | `watch.rs`, `offered.rs`, `called.rs` |
//!
//! Nothing here is done but through the scope, prompts are pure functions of the state, and order is declared order. So a
//! run that was cut short anywhere goes on where it was.

mod agent;
mod ask;
mod beginning;
mod called;
mod convergence;
mod error;
mod fan_out;
mod goal;
mod judge;
mod offered;
mod outputs;
mod retry;
mod rounds;
mod sequence;
mod spawn;
mod subworkflow;
mod surroundings;
mod synthesis;
mod tell;
mod unanswered;
mod watch;
mod workflow;

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
