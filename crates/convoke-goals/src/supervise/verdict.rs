//! Verdicts of supervisors.

use serde::{Deserialize, Serialize};

/// A verdict of a supervisor. There is no other verdict: what is none of these is not a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It is good as it is.
    Continue {
        /// Why.
        reason: String,
    },
    /// It is to be done again, differently.
    Reorient {
        /// What to do differently.
        correction: String,
        /// Why.
        reason: String,
    },
    /// A person is to decide.
    AskHuman {
        /// What to ask.
        question: String,
        /// Why.
        reason: String,
    },
    /// It is to end here.
    Halt {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// Returns its name in prompts and events.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Continue { .. } => "continue",
            Self::Reorient { .. } => "reorient",
            Self::AskHuman { .. } => "ask_human",
            Self::Halt { .. } => "halt",
        }
    }

    /// Returns the reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Continue { reason }
            | Self::Reorient { reason, .. }
            | Self::AskHuman { reason, .. }
            | Self::Halt { reason } => reason,
        }
    }
}
