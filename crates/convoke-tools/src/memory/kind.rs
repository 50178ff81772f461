//! Kinds and scopes of memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A fact.
    Finding,
    /// What follows from facts.
    Insight,
    /// What to do, or not to do, next time.
    Lesson,
}

impl Kind {
    /// In the order they are told.
    pub(super) const ALL: [Self; 3] = [Self::Finding, Self::Insight, Self::Lesson];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Finding => "finding",
            Self::Insight => "insight",
            Self::Lesson => "lesson",
        }
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Finding => "Findings:",
            Self::Insight => "Insights:",
            Self::Lesson => "Lessons:",
        }
    }
}

/// Whom a memory is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    /// Whoever works in this workspace.
    #[default]
    Workspace,
    /// The user, in every workspace.
    User,
}

/// A text as it is compared: in lower case, with single blanks, without the stop at its end.
pub(super) fn plain(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").to_lowercase().trim_end_matches(['.', '!', ';', ',']).to_owned()
}
