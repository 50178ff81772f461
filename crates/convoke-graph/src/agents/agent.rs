//! Agents: who they are, what they may use, and how they go about requests.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Referee, Strategy};

/// An agent that can be asked.
#[derive(Clone)]
pub struct Agent {
    pub(super) id: String,
    pub(super) card: AgentCard,
    pub(super) tools: Option<Vec<String>>,
    pub(super) artifacts: Vec<String>,
    pub(super) strategy: Arc<dyn Strategy>,
    pub(super) referees: Vec<Arc<dyn Referee>>,
    pub(super) attempts: u32,
}

/// An agent as others see it, in the form of A2A.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentCard {
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// The media types it understands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_input_modes: Vec<String>,
    /// The media types it answers with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_output_modes: Vec<String>,
    /// How it can be talked to.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// Something that an agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// The ways in which an agent can be talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Whether what it says comes as it says it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streaming: bool,
    /// Whether it calls back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub push_notifications: bool,
    /// Whether it tells what became of a task step by step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub state_transition_history: bool,
}

impl Agent {
    /// An agent with this id, which is also its name.
    pub fn new(id: impl Into<String>, strategy: impl Strategy + 'static) -> Self {
        let id = id.into();
        let capabilities = Capabilities { streaming: true, ..Capabilities::default() };
        let card = AgentCard { name: id.clone(), capabilities, ..AgentCard::default() };
        Self {
            id,
            card,
            tools: None,
            artifacts: Vec::new(),
            strategy: Arc::new(strategy),
            referees: Vec::new(),
            attempts: 2,
        }
    }

    /// Says what it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.card.description = description.into();
        self
    }

    /// Says what others see of it.
    #[must_use]
    pub fn card(mut self, card: AgentCard) -> Self {
        self.card = card;
        self
    }

    /// Names the only tools it may call, whatever its strategy has.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Names channels whose messages are things it makes, besides what it says.
    #[must_use]
    pub fn artifacts<T: Into<String>>(mut self, channels: impl IntoIterator<Item = T>) -> Self {
        self.artifacts = channels.into_iter().map(Into::into).collect();
        self
    }

    /// Has somebody judge what it comes to before it counts, after those before.
    #[must_use]
    pub fn referee(mut self, referee: impl Referee + 'static) -> Self {
        self.referees.push(Arc::new(referee));
        self
    }

    /// Sets how often it may try in all while its referees want a revision; 2 unless said otherwise. Another attempt begins with the
    /// board as it was, and with what the referee said in the variable `revision`.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns what others see of it.
    #[must_use]
    pub fn as_card(&self) -> &AgentCard {
        &self.card
    }

    /// The only tools it may call, if that is limited.
    #[must_use]
    pub fn allowed_tools(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Agent")
            .field("card", &self.card)
            .field("strategy", &self.strategy.kind())
            .finish()
    }
}
