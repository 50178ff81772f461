#![doc = include_str!("../README.md")]
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | [`agentfile`] | the language: from text to a checked [`Agentfile`](agentfile::Agentfile), with every mistake explained |
//! | `tree` | the nodes: [`Workflow`], [`Sequence`], [`Goal`], [`Agent`] |
//! | `plan` | a prepared tree: everything resolved, checked as a whole |
//! | [`embedded`] | workflows of other kinds as goals: packs, for instance |
//! | `secret` | secret inputs: [`Secrets`], and seals around models and tools |
//! | `skills` | skills that are taken up while working: [`SkillShelf`] |
//! | [`context`] | what those who pursue a goal are told |
//! | `rules` | rules that have changed since journals were first written, and that a run keeps for its whole life |
//! | `run` | execution: a prepared tree as steps of the kernel |
//! | [`supervise`] | commitment, assessment, verdicts, people |
//! | [`workspace`] | what there is to know of a folder at a glance |

pub mod agentfile;
mod compile;
pub mod context;
mod coverage;
pub mod embedded;
mod equipment;
mod plan;
mod rules;
mod run;
mod secret;
mod skills;
mod state;
pub mod supervise;
mod tree;
pub mod workspace;

pub use agentfile::model::{
    Condition, Retry, SecurityMode, Supervision, Test, TestKind, Tools, Type, Within,
};
pub use equipment::{CommandReader, Equipment, Models, Spawning, StandIn};
pub use plan::{
    Availability, BoundInputs, InputProblem, InvalidInputs, InvalidWorkflow, PreparedWorkflow, Problem,
    ProblemKind,
};
pub use run::GoalError;
pub use secret::Secrets;
pub use skills::SkillShelf;
pub use state::{GoalState, Values};
pub use tree::{
    Agent, Goal, GoalNodeKind, Input, ModelChoice, Name, Node, NodeRef, Order, Output, Overrides, Persona,
    Sequence, Subject, Text, ToolChoice, Workflow, when,
};

/// The examples of the guide are run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/goals.md")]
#[doc = include_str!("../../../docs/skills.md")]
struct Guide;
