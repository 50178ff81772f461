#![doc = include_str!("../README.md")]
//!
//! | to have | use |
//! |---|---|
//! | a model that calls tools | [`Agent`] |
//! | a tool out of a Rust function | [`FunctionTool`] |
//! | a tool the client executes | [`ClientTool`] |
//! | a model's answer as a Rust type | [`structured`], [`AnswerShape`] |
//! | an agent as another's tool | [`AgentTool`], [`SpecialistRegistry`] |
//! | a workflow as an agent's tool | [`WorkflowTool`] |
//! | somebody in this process who answers questions | [`QuestionBroker`] |
//! | a conversation that comes back in later runs | [`memory`] |
//!
//! **What it may know.** The kernel (`convoke-core`) and JSON Schema; nothing of single providers, of stores, of servers,
//! or of how the steps around an agent are written.
//!
//! **What it must never do.** Perform an effect but through the scope it is given; start a task; keep anything between
//! runs; make a limit into a failure where there is something to answer with.

mod agent;
mod broker;
mod delegate;
pub mod memory;
mod schema;
mod structured;
mod tool;

pub use agent::{
    Agent, AgentBuilder, AgentResult, AgentStop, AnsweredCall, Approval, Conversation, InvalidAgent,
    OnRejection, ParallelCalls, answered_calls,
};
pub use broker::{AnswerError, QuestionBroker};
pub use delegate::{AgentTool, DelegatedCalls, Specialist, SpecialistRegistry, WorkflowTool};
pub use schema::{InvalidSchema, schema_name, schema_of};
pub use structured::{AnswerShape, StructuredAnswer, UnmarshalError, structured, structured_value};
pub use tool::{ClientTool, FunctionTool, InterruptedCall, ToolArguments, ToolContext};
