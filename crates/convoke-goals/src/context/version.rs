//! Which wording prompts have.

use serde::{Deserialize, Serialize};

/// Which wording prompts have. What models were asked is part of the journal, so a run keeps the wording it began with,
/// whatever has been learnt since about putting things better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub(crate) enum PromptVersion {
    /// As runs began that do not say.
    V1,
    /// Tools on demand; a first iteration is not told how to end the iterations; a reply that is none is asked for again.
    V2,
}

impl PromptVersion {
    /// The wording of runs that begin now.
    pub(crate) const CURRENT: Self = Self::V2;
}

impl From<PromptVersion> for u32 {
    fn from(version: PromptVersion) -> Self {
        match version {
            PromptVersion::V1 => 1,
            PromptVersion::V2 => 2,
        }
    }
}

impl TryFrom<u32> for PromptVersion {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        match number {
            1 => Ok(Self::V1),
            2 => Ok(Self::V2),
            newer => Err(format!("the run has prompts of version {newer}, which this program does not know: it was begun by a newer one")),
        }
    }
}
