//! Commitments before work, and assessments after it.
//!
//! Models are asked for them by their schemas. What stands there, the comments of fields among it, is part of what a run asked, and must be
//! the same when it is gone on with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commitment to what is going to be done, made before it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "What is going to be done, said before it is.", extend("additionalProperties" = false))]
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
#[schemars(
    description = "How what was done compares with what was said before.",
    extend("additionalProperties" = false)
)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_asked_in_the_words_that_runs_under_way_were_begun_with() {
        let words = |schema: schemars::Schema| schema.get("description").cloned();
        let commitment = words(schemars::schema_for!(Commitment));
        assert_eq!(commitment, Some("What is going to be done, said before it is.".into()));
        let assessment = words(schemars::schema_for!(Assessment));
        assert_eq!(assessment, Some("How what was done compares with what was said before.".into()));
    }
}
