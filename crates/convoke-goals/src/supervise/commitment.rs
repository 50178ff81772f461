//! Commitments before work, and assessments after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commitment to what is going to be done, made before it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Commitment {
    /// What the goal asks for, in other words.
    pub interpretation: String,
    /// What belongs to it.
    #[serde(default)]
    pub scope_in: Vec<String>,
    /// What does not, and will be left alone.
    #[serde(default)]
    pub scope_out: Vec<String>,
    /// How it is going to be done.
    #[serde(default)]
    pub approach: String,
    /// The names of the tools that are going to be used; empty if none or if that cannot be said.
    #[serde(default)]
    pub tools_planned: Vec<String>,
    /// What the result is going to look like.
    #[serde(default)]
    pub predicted_output: String,
    /// How likely it is to succeed.
    #[serde(default)]
    pub confidence: Confidence,
    /// What is taken for granted without having been said.
    #[serde(default)]
    pub assumptions: Vec<String>,
}

/// How sure somebody is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Not very.
    Low,
    /// Somewhat.
    #[default]
    Medium,
    /// Very.
    High,
}

impl Confidence {
    /// Returns its name in prompts and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The comparison of what was done with the commitment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Assessment {
    /// Whether the commitment was kept.
    pub met_commitment: bool,
    /// Where it was departed from.
    #[serde(default)]
    pub deviations: Vec<String>,
    /// What is doubtful about the result.
    #[serde(default)]
    pub concerns: Vec<String>,
    /// What came up that nobody had expected.
    #[serde(default)]
    pub unexpected: Vec<String>,
}
