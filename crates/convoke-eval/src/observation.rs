//! What is known of a run that is over: everything that assertions are about.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a run came to, by the state it ended with. Which of it there is depends on what was run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The state that a workflow is in.
    pub state: Option<String>,
    /// How a workflow stands: `running`, `completed`.
    pub workflow: Option<String>,
    /// The states that were entered, in order.
    pub path: Vec<String>,
    /// Artifacts by name.
    pub artifacts: Map<String, Value>,
    /// Outputs by name.
    pub outputs: Map<String, Value>,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observation {
    /// How it ended: `completed`, `failed`, `suspended`.
    pub status: String,
    /// Why it did not complete, or what it waits for.
    pub error: Option<String>,
    /// What it came to, as text.
    pub result: String,
    /// What else it came to.
    pub facts: Facts,
    /// The turns of a conversation, as far as it came.
    pub turns: Vec<ObservedTurn>,
    /// What models called, in order.
    pub calls: Vec<ObservedCall>,
    /// What it used.
    pub usage: ObservedUsage,
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObservedTurn {
    /// What was said in answer; empty if nothing was.
    pub content: String,
    /// The state it began in.
    pub from: Option<String>,
    /// The state it ended in.
    pub state: Option<String>,
    /// What models called in it.
    pub calls: Vec<ObservedCall>,
    /// What went wrong in it.
    pub trouble: Option<String>,
}

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedCall {
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Value,
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ObservedUsage {
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Tokens in all.
    pub tokens: u64,
    /// Dollars; nothing if the price of a call is not known.
    pub cost: Option<f64>,
}
