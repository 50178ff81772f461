//! Results of requests.

use convoke_core::store::RunStatus;
use convoke_core::{Error, Message, Outcome, Part, Role, RunId, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::work::{ATTEMPTS, VERDICT};
use super::{Agent, Verdict};
use crate::Board;
use crate::board::{INTERRUPTED_NODE, MAIN_CHANNEL};

/// The status of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It is being worked on, or is about to be.
    Working,
    /// It is done.
    Completed,
    /// It failed: with an error, or by its time limit.
    Failed,
    /// A person has to answer; then it goes on.
    InputRequired,
    /// Somebody ended it.
    Canceled,
    /// Nobody works on it and nobody is asked: it sleeps, waits for mail, or was left by a process that is gone. It can go on.
    Interrupted,
    /// It was ended by a budget, a supervisor or a policy.
    Aborted,
}

impl Status {
    /// The status of a run that somebody works on or not, and that asks something or not.
    pub(super) fn of(run: RunStatus, is_held: bool, asks: bool) -> Self {
        match run {
            RunStatus::Running if is_held => Self::Working,
            RunStatus::Running => Self::Interrupted,
            RunStatus::Suspended if asks => Self::InputRequired,
            RunStatus::Suspended => Self::Interrupted,
            RunStatus::Completed => Self::Completed,
            RunStatus::Cancelled => Self::Canceled,
            RunStatus::BudgetExhausted | RunStatus::Halted | RunStatus::Denied => Self::Aborted,
            _ => Self::Failed,
        }
    }
}

/// Tokens that were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// What models were given.
    pub input_tokens: u64,
    /// What they said.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let (input_tokens, output_tokens) = (usage.input_tokens, usage.output_tokens);
        Self { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }
    }
}

/// Something that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// The channel it was said in.
    pub name: String,
    /// What it consists of.
    pub parts: Vec<Part>,
}

/// The result of a request, whatever became of it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AgentResult {
    /// The task, by whoever asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The run: what it did can be shown, and gone on with.
    pub run_id: RunId,
    /// Where it stands.
    pub status: Status,
    /// What was said in the main channel, the request first.
    pub messages: Vec<Message>,
    /// What was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What models used, over the whole life of the run.
    pub usage: TokenUsage,
    /// How often the agent has tried: more than once if a referee wanted a revision.
    pub attempts: u32,
    /// What the referees said last.
    pub verdict: Verdict,
    /// The board as it was left, also if the run has not come to its end.
    pub board: Board,
    /// Why it did not come to its end.
    #[serde(skip)]
    pub error: Option<Error>,
    #[serde(skip)]
    answer_key: String,
}

impl AgentResult {
    pub(super) fn of(agent: &Agent, task_id: Option<String>, outcome: Outcome<Board>) -> Self {
        let asks = !outcome.questions().is_empty();
        let mut artifacts: Vec<Artifact> = Vec::new();
        for channel in agent.artifacts.iter().filter(|channel| *channel != MAIN_CHANNEL) {
            let parts: Vec<Part> = outcome
                .state
                .channel(channel)
                .iter()
                .flat_map(|message| message.parts.iter().cloned())
                .collect();
            if !parts.is_empty() && !artifacts.iter().any(|known| known.name == *channel) {
                artifacts.push(Artifact { name: channel.clone(), parts });
            }
        }
        Self {
            task_id,
            run_id: outcome.run,
            status: Status::of(outcome.status, false, asks),
            messages: outcome.state.new_messages(MAIN_CHANNEL),
            artifacts,
            usage: outcome.totals.usage.into(),
            attempts: outcome.state.typed(ATTEMPTS).unwrap_or(1),
            verdict: outcome.state.typed(VERDICT).unwrap_or_default(),
            board: outcome.state,
            error: outcome.error,
            answer_key: agent.strategy.answer_key().to_owned(),
        }
    }

    /// Returns whether it counts, and is remembered: it completed, and no referee discarded it.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.status == Status::Completed && !matches!(self.verdict, Verdict::Discard(_))
    }

    /// The last thing that an assistant said in words; empty if there is none.
    #[must_use]
    pub fn text(&self) -> String {
        let said = self.messages.iter().rev().filter(|message| message.role == Role::Assistant);
        said.map(Message::text).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// The answer, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Value> {
        self.board.get(&self.answer_key)
    }

    /// The node that waits for a person.
    #[must_use]
    pub fn interrupted_node(&self) -> Option<&str> {
        self.board.get(INTERRUPTED_NODE)?.as_str()
    }
}
