//! The result of an agent, and why it stopped.

use std::fmt;

use convoke_core::{ModelReply, ToolCall, Transcript, Usage};
use serde::{Deserialize, Serialize};

/// The reason why an agent stopped.
///
/// These are ways to end well: each comes with a result. A failing model, a cancelled run, an open question are errors
/// of [`Agent::run`](crate::Agent::run).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentStop {
    /// The model was done.
    Complete,
    /// It had no turns left; its last one was made without tools.
    MaxTurns,
    /// Its own time was up; the result is what there was by then.
    TimedOut,
    /// The agent's [`stop_when`](crate::AgentBuilder::stop_when) said so.
    Custom,
    /// The agent's [`hand_off_when`](crate::AgentBuilder::hand_off_when) said so, after the calls of its last turn.
    HandedOff,
    /// Every call the model wanted was rejected.
    Rejected,
    /// The model wants tools called that are executed by the client.
    ClientToolCalls,
    /// What it may use was used up; if there was enough for it, a last turn was made without tools.
    BudgetExhausted,
    /// The model repeated a call after it was told that repeating it is of no use; its last turn was made without tools.
    Looping,
}

impl AgentStop {
    /// The reason's name as events and files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::MaxTurns => "max_turns",
            Self::TimedOut => "timed_out",
            Self::Custom => "custom",
            Self::HandedOff => "handed_off",
            Self::Rejected => "rejected",
            Self::ClientToolCalls => "client_tool_calls",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Looping => "looping",
        }
    }

    /// Says in words which limit was the end of what an agent did in so many turns; `None` if none was: it was done, or somebody else
    /// goes on.
    #[must_use]
    pub fn limit(self, turns: u32) -> Option<String> {
        Some(match self {
            Self::Complete | Self::Custom | Self::HandedOff | Self::ClientToolCalls | Self::Rejected => {
                return None;
            }
            Self::MaxTurns if turns == 1 => "it reached its limit of 1 turn".to_owned(),
            Self::MaxTurns => format!("it reached its limit of {turns} turns"),
            Self::TimedOut => "its time was up".to_owned(),
            Self::BudgetExhausted => "what it may use was used up".to_owned(),
            Self::Looping => "it kept making the same call".to_owned(),
        })
    }
}

impl fmt::Display for AgentStop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The result of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentResult {
    /// The model's last reply; `None` if time was up before the first.
    pub reply: Option<ModelReply>,
    /// The whole conversation: the agent's instructions, what it was given, every reply and every result.
    ///
    /// A completed one ends with the model's answer. Every call in it has its result, except
    /// [`pending_calls`](Self::pending_calls).
    pub transcript: Transcript,
    /// How many replies there were.
    pub turns: u32,
    /// Why it stopped.
    pub stop: AgentStop,
    /// The limit that made its last turn one without tools, also where something else stopped it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<AgentStop>,
    /// What the agent itself used; agents it called count for themselves.
    pub usage: Usage,
    /// The calls of the last reply that are left to whoever reads this.
    pub pending_calls: Vec<ToolCall>,
}

impl AgentResult {
    /// The text of the last reply; empty if there is none.
    #[must_use]
    pub fn text(&self) -> String {
        self.reply.as_ref().map(ModelReply::text).unwrap_or_default()
    }

    /// Says why its work was cut short, in words; `None` if the model was done.
    #[must_use]
    pub fn cut_short(&self) -> Option<String> {
        let turns = self.turns;
        Some(match self.stop {
            AgentStop::Complete => return None,
            AgentStop::MaxTurns => format!("it reached its limit of {turns} turns"),
            AgentStop::TimedOut | AgentStop::BudgetExhausted | AgentStop::Looping => {
                return self.stop.limit(turns);
            }
            AgentStop::Rejected => "every call it wanted to make was rejected".to_owned(),
            AgentStop::ClientToolCalls => "it wants tools called that the client executes".to_owned(),
            AgentStop::Custom | AgentStop::HandedOff => format!("it stopped: {}", self.stop),
        })
    }
}
