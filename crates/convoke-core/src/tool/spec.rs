//! Tool specifications: name, schema, effects, time limit, and how much a result may hold.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ToolEffects;

/// The description of a tool for models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// The description of a tool for the kernel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// What the model is told.
    pub definition: ToolDefinition,
    /// What it does to the world.
    pub effects: ToolEffects,
    /// What may happen to a call that was interrupted.
    pub repeat: Repeat,
    /// Where it is executed.
    pub execution: Execution,
    /// How long a call may work; `None` leaves it to whoever calls. Waiting for a person does not count.
    pub timeout: Option<Timeout>,
    /// The longest result, in bytes. A longer one is an error, not a cut.
    pub max_output: usize,
    /// Whether a failure ends the step instead of going back to the model.
    pub fatal: bool,
    /// Whether it keeps what it is told, for later calls or runs: then it is told marks in the place of secrets.
    pub keeps: bool,
}

/// The time limit of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// This long.
    After(Duration),
    /// As long as it takes; what it does inside is bounded on its own.
    Unbounded,
}

impl From<Option<Duration>> for Timeout {
    fn from(limit: Option<Duration>) -> Self {
        limit.map_or(Self::Unbounded, Self::After)
    }
}

/// The treatment of a call that had begun when the process died.
///
/// Another attempt at the same, as under a `Retry`, is something else: it takes over what calls came to that must never be made again, and
/// those of any tool that [makes changes](ToolEffects::make_changes). What only looks is looked at anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// It is made again with the same key: it changes nothing, or the key makes the second call harmless.
    Safe,
    /// It is never made again behind anyone's back: the tool is asked to reconcile, then a person. So is one whose end nobody knows: it ran
    /// out of time, or [says so](crate::CategorisedError::in_doubt).
    Never,
    /// It is entered again, and its own effects answer from the journal: it is a workflow or an agent. Another attempt enters it too, and
    /// takes over what was done in it call by call.
    Reenter,
}

/// The place where a tool is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// Here.
    #[default]
    Server,
    /// By whoever started the run: the agent's turn ends and hands the call over.
    Client,
}

impl ToolSpec {
    /// The default for [`max_output`](Self::max_output): 1 MiB.
    pub const DEFAULT_MAX_OUTPUT: usize = 1 << 20;

    /// A tool with these effects. Whether it may be repeated follows from them.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, effects: ToolEffects) -> Self {
        Self {
            definition: ToolDefinition {
                name: name.into(),
                description: description.into(),
                parameters: json!({"type": "object", "properties": {}}),
            },
            effects,
            repeat: if effects.changes_the_world() { Repeat::Never } else { Repeat::Safe },
            execution: Execution::Server,
            timeout: None,
            max_output: Self::DEFAULT_MAX_OUTPUT,
            fatal: false,
            keeps: false,
        }
    }

    /// Whether another attempt at the same takes over what a call came to.
    pub(crate) fn is_taken_over(&self) -> bool {
        match self.repeat {
            Repeat::Never => true,
            Repeat::Safe => self.effects.make_changes(),
            Repeat::Reenter => false,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.definition.parameters = schema;
        self
    }

    /// Says what may happen to an interrupted call.
    #[must_use]
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        self.repeat = repeat;
        self
    }

    /// Says where it is executed.
    #[must_use]
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Limits how long a call may take.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(Timeout::After(limit));
        self
    }

    /// Takes any limit off a call.
    #[must_use]
    pub fn unbounded(mut self) -> Self {
        self.timeout = Some(Timeout::Unbounded);
        self
    }

    /// Sets the longest result, in bytes.
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }

    /// Makes a failure end the step.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.fatal = true;
        self
    }

    /// Says that it keeps what it is told, so that no secret may reach it.
    #[must_use]
    pub fn keeps(mut self) -> Self {
        self.keeps = true;
        self
    }
}
