#![doc = include_str!("../README.md")]
//!
//! A workflow is a tree of steps over a plain struct. Leaves do the work ([`func`], [`task`], [`prompt`], [`ToolStep`],
//! [`AgentStep`]); composites decide what runs when ([`Chain`], [`Router`], [`Classifier`], [`Parallel`], [`Merge`],
//! [`Map`], [`Dag`], [`Loop`], [`Retry`]). All of them are [`Step`](convoke_core::Step)s, so they nest as you like, and all of
//! them run the same way whether anybody listens or not.
//!
//! # What this crate must never do
//! Touch the world. Whatever a step does besides changing its state goes through the [`Scope`](convoke_core::Scope).

mod agent;
mod bounded;
mod chain;
mod classifier;
mod dag;
mod error;
mod fan;
mod func;
mod join;
mod map;
mod merge;
mod on_error;
mod parallel;
mod prompt;
mod repeat;
mod retry;
mod retry_policy;
mod router;
mod tool;

pub use agent::{AgentStep, AgentStepBuilder};
pub use bounded::{Bounded, StepExt};
pub use chain::Chain;
pub use classifier::{Classifier, ClassifierBuilder};
pub use dag::{Dag, DagBuilder};
pub use error::{ArgumentsError, BuildError, StepsError};
pub use fan::{BranchEnd, BranchProgress};
pub use func::{AsyncFunc, AsyncFunction, Func, IntoStepResult, func, task, task_boxed};
pub use join::{Join, JoinWithoutRest, RemainingBranches};
pub use map::{Map, MappedItem};
pub use merge::{Merge, MergeBuilder, MergedSource};
pub use on_error::OnError;
pub use parallel::{BranchReport, Parallel, ParallelBuilder};
pub use prompt::{Prompt, PromptBuilder, prompt};
pub use repeat::{DEFAULT_MAX_ITERATIONS, Loop};
pub use retry::Retry;
pub use retry_policy::{InvalidRetryPolicy, RetryPolicy};
pub use router::Router;
pub use tool::{ToolStep, ToolStepBuilder};
