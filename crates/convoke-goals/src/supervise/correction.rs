//! Corrections: what is to be done differently.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A correction: what is to be done differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The source.
    pub source: CorrectionSource,
    /// The text.
    pub text: String,
}

/// The corrections of something that may be tried again when it fails: what a person has said stands, whatever becomes of
/// the try that was to heed it.
#[derive(Debug, Default)]
pub(crate) struct StandingCorrections {
    inherited: Vec<Correction>,
    own: Mutex<Vec<Correction>>,
}

impl StandingCorrections {
    /// For a part of something that was corrected.
    pub(crate) fn inheriting(inherited: Vec<Correction>) -> Self {
        Self { inherited, own: Mutex::default() }
    }

    /// All so far, oldest first.
    pub(crate) fn all(&self) -> Vec<Correction> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        self.inherited.iter().chain(own.iter()).cloned().collect()
    }

    /// How many of those are of what it is part of.
    pub(crate) fn inherited(&self) -> usize {
        self.inherited.len()
    }

    pub(crate) fn add(&self, correction: Correction) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).push(correction);
    }
}

/// The source of a correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionSource {
    /// The supervisor.
    Supervisor,
    /// A person.
    Human,
}

impl CorrectionSource {
    /// Returns its name in prompts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Supervisor => "supervisor",
            Self::Human => "human",
        }
    }
}
