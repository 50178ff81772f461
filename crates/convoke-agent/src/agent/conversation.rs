//! The agent as a step by itself, and the conversation it works on.

use convoke_core::{BoxFuture, Error, Nature, Scope, Step, Transcript};
use serde::{Deserialize, Serialize};

use super::{Agent, AgentResult};

/// The state of an agent that is run by itself: something to say, and what came of it.
///
/// Agents that are a part of something larger are given their words, and their result is taken, by a step that knows
/// the state around them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conversation {
    /// What the agent is given.
    pub messages: Transcript,
    /// What it came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<AgentResult>,
}

impl Conversation {
    /// The agent's answer; empty if there is none yet.
    #[must_use]
    pub fn text(&self) -> String {
        self.result.as_ref().map(AgentResult::text).unwrap_or_default()
    }
}

impl<T: Into<Transcript>> From<T> for Conversation {
    fn from(messages: T) -> Self {
        Self { messages: messages.into(), result: None }
    }
}

impl Step<Conversation> for Agent {
    fn name(&self) -> &str {
        self.name()
    }

    fn run<'a>(&'a self, scope: &'a Scope, talk: &'a mut Conversation) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            talk.result = Some(self.run(scope, talk.messages.clone()).await?);
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "agent"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}
