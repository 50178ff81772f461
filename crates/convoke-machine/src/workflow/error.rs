//! Errors of refused commands. Whatever is refused leaves the context as it was.

use std::sync::Arc;

use serde::Serialize;

use super::Status;

/// The reasons why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowError {
    /// The state does not know the event.
    #[error("invalid event `{event}` in state `{state}`: the events there are {}", listed(available))]
    InvalidEvent {
        /// The state.
        state: Arc<str>,
        /// The event.
        event: String,
        /// The events it knows, sorted.
        available: Vec<Arc<str>>,
    },
    /// The context is in a state that the pack does not have.
    #[error(
        "invalid event `{event}`: state `{state}` is not in the workflow; restore a context of this pack"
    )]
    UnknownState {
        /// The state.
        state: Arc<str>,
        /// What was to happen.
        event: String,
    },
    /// The workflow has ended in this state.
    #[error("state `{state}` is terminal: no event leads out of it")]
    TerminalState {
        /// The state.
        state: Arc<str>,
    },
    /// A state was to be entered once too often.
    #[error(transparent)]
    MaxVisitsExceeded(Box<MaxVisitsExceeded>),
    /// The states to go to instead lead to each other, and none may be entered.
    #[error("redirect cycle: {} have all reached max_visits; let one of them lead elsewhere", listed(chain))]
    RedirectCycle {
        /// The states that were tried.
        chain: Vec<Arc<str>>,
    },
    /// Something it is limited by is used up.
    #[error(transparent)]
    BudgetExhausted(Box<BudgetExhausted>),
    /// Something ended the workflow before.
    #[error("the workflow has ended: {status}")]
    Concluded {
        /// How.
        status: Status,
    },
    /// No state declares the artifact.
    #[error("no artifact `{name}` is declared: there are {}", listed(declared))]
    UnknownArtifact {
        /// Its name.
        name: String,
        /// Those that are declared, sorted.
        declared: Vec<Arc<str>>,
    },
    /// An artifact of a JSON type would hold something else.
    #[error("artifact `{name}` holds JSON: {reason}")]
    InvalidArtifact {
        /// Its name.
        name: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// An artifact would be too long.
    #[error("artifact `{name}` would have {bytes} bytes; at most {max} are kept")]
    ArtifactTooLarge {
        /// Its name.
        name: String,
        /// How many bytes it would have.
        bytes: usize,
        /// How many it may have.
        max: usize,
    },
}

/// A state was to be entered once too often, and there was nowhere else to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("max visits exceeded: state \"{state}\" visited {visit_count} times (max {max_visits})")]
#[non_exhaustive]
pub struct MaxVisitsExceeded {
    /// The state it would have left.
    pub from_state: Arc<str>,
    /// The state that the event says.
    pub original_target: Arc<str>,
    /// The state that had no further one to go to: the original target, or the last of a chain.
    #[serde(skip)]
    pub state: Arc<str>,
    /// The event.
    pub event: Arc<str>,
    /// How often that state was entered.
    pub visit_count: u64,
    /// How often it may be.
    pub max_visits: u64,
}

/// Something the workflow is limited by is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("workflow budget exhausted: {limit} {current} reached limit {max}")]
#[non_exhaustive]
pub struct BudgetExhausted {
    /// What: its name in the pack.
    pub limit: &'static str,
    /// How much was used.
    pub current: u64,
    /// How much may be.
    pub max: u64,
    /// The state it is in.
    pub current_state: Arc<str>,
}

/// The reasons why a stored context cannot be gone on with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// It is in a state that the pack does not have.
    #[error(
        "the stored context is in state `{state}`, which this pack does not have: there are {}",
        listed(known)
    )]
    UnknownState {
        /// The state.
        state: Arc<str>,
        /// Those of the pack, sorted.
        known: Vec<Arc<str>>,
    },
    /// It is not the JSON of a context.
    #[error("the stored context cannot be read: {0}")]
    Unreadable(String),
}

impl WorkflowError {
    /// Returns what the workflow ends with if it ends because of this.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::MaxVisitsExceeded(_) | Self::RedirectCycle { .. } => Some(Status::MaxVisitsExceeded),
            Self::BudgetExhausted(_) => Some(Status::BudgetExhausted),
            Self::Concluded { status } => Some(*status),
            _ => None,
        }
    }
}

fn listed(names: &[Arc<str>]) -> String {
    match names {
        [] => "none".into(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}
