//! The state of a conversation between turns, which goes on with it when the run continues.

use std::collections::BTreeMap;

use convoke_core::{Digest, Transcript};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::workflow::{Context, Status};

/// The choice whether there is more to come after the first answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Talk {
    /// The person is asked again and again, until the workflow is over.
    #[default]
    Ongoing,
    /// One turn, and whatever events follow it.
    Once,
}

/// A conversation over a workflow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MachineState {
    /// What the caller sets, for the prompts of all states.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// What the person says first, if that is known from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// The composition that is run as a function, instead of the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The prompt that is talked with, instead of the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The name under which it is remembered, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The state that the workflow begins in, instead of its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Whether others may send the events of every state, also of those that only a model moves on from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hears_every_event: bool,
    /// Whether there is more to come.
    pub talk: Talk,
    /// Where the workflow is; nothing before it is opened. A context that was stored is gone on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// What the current state was told when it was entered.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub brief: String,
    /// What the current state knows of what was said.
    #[serde(with = "convoke_core::kept_transcript", skip_serializing_if = "Transcript::is_empty")]
    pub said: Transcript,
    /// How much of that was known when a state was entered last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) entered: BTreeMap<String, usize>,
    /// What was said with the current state's instructions before it, as its model was asked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) opened: Option<KeptOpening>,
    /// What was answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The states, and the agents of compositions, that a limit was the end of when they worked last, and which.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cut_short: BTreeMap<String, String>,
    /// How the workflow stands.
    pub status: Status,
}

/// Instructions before a long conversation: with the digest that both have together, nobody need read it to know what the model was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptOpening {
    pub(super) instructions: String,
    pub(super) digest: Digest,
}

impl MachineState {
    /// A conversation that begins with these words.
    #[must_use]
    pub fn saying(words: impl Into<String>) -> Self {
        Self { opening: Some(words.into()), ..Self::default() }
    }

    /// Runs a composition as a function on these words, instead of the workflow.
    #[must_use]
    pub fn calling(composition: impl Into<String>, words: impl Into<String>) -> Self {
        Self { function: Some(composition.into()), ..Self::saying(words) }
    }

    /// Sets whether there is more to come after the first answer.
    #[must_use]
    pub fn talk(mut self, talk: Talk) -> Self {
        self.talk = talk;
        self
    }

    /// Sets a variable, for the prompts of all states.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
}
