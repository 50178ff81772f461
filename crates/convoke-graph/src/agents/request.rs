//! Requests to agents.

use convoke_core::{Message, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The request that an agent is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The task it belongs to, by whoever asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The conversation it is part of. Without one nothing is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The run that it becomes; a new one unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// What is said.
    pub message: Message,
    /// Variables of the board.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
}

impl Request {
    /// A request that somebody says in words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Message::user(text.into()))
    }

    /// A request with this message.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self { task_id: None, context_id: None, run_id: None, message, inputs: Map::new() }
    }

    /// Adds a variable.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.inputs.insert(name.into(), value.into());
        self
    }

    /// Says which conversation it is part of.
    #[must_use]
    pub fn context(mut self, id: impl Into<String>) -> Self {
        self.context_id = Some(id.into());
        self
    }

    /// Says which task it belongs to.
    #[must_use]
    pub fn task(mut self, id: impl Into<String>) -> Self {
        self.task_id = Some(id.into());
        self
    }

    /// Says which run it becomes.
    #[must_use]
    pub fn run(mut self, id: RunId) -> Self {
        self.run_id = Some(id);
        self
    }
}
