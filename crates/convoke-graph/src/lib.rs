#![doc = include_str!("../README.md")]
//!
//! - [`Board`]: variables and channels of messages, which nodes share;
//! - [`GraphDefinition`]: nodes and edges, as they are written;
//! - [`read`] and [`CompiledGraph`]: everything that is wrong with a graph at once, or a graph that can be run;
//! - [`NodeTypes`] and [`Node`]: what nodes do;
//! - [`Graph`]: a graph with everything it needs, as a step of the kernel;
//! - [`agents`]: agents that are asked, with conversations and tasks.
//!
//! **What this crate must never do.** Reach the world but through the scope of a node; open a file; let timing decide what a run
//! comes to.

pub mod agents;
mod board;
mod compile;
mod condition;
mod definition;
mod fault;
mod inputs;
mod node;
mod reference;
mod run;
mod way;

pub use board::{
    Board, BoardError, CUT_SHORT, INTERRUPTED_NODE, MAIN_CHANNEL, MergeConflict, Reducer, TOOL_CALLS,
};
pub use compile::{CompiledGraph, InvalidGraph, Metadata, lint, looks_like_a_graph, read, read_with};
pub use condition::{Condition, ConditionError};
pub use definition::{
    END, EdgeDefinition, GraphDefinition, InputDefinition, InputType, NodeDefinition, schema,
};
pub use fault::GraphFault;
pub use inputs::{InvalidInputs, QUERY};
pub use node::{
    GraphEquipment, ModelSource, NestedResult, NestedWorkflow, Node, NodeCall, NodeSite, NodeType, NodeTypes,
    Port, PortType, Ports, WorkflowSource,
};
pub use reference::ReferenceError;
pub use run::Graph;
pub use run::schedule::NodeBudgetExhausted;
pub use way::{GraphWay, NodeTrace};
