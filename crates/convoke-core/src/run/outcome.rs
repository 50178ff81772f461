//! Outcomes of runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ask::PendingQuestion;
use crate::store::{RunRecord, RunStatus, Totals};
use crate::{Error, Path, RunId};

/// The outcome of a run: how it ended, with everything it did until then.
#[derive(Debug, Clone)]
#[must_use = "a run may have failed or be waiting for an answer"]
pub struct Outcome<S> {
    /// The run.
    pub run: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// The state it came to, also if it did not come to the end.
    pub state: S,
    /// Why it stopped, if it did not complete.
    pub error: Option<Error>,
    /// What it used.
    pub totals: Totals,
}

impl<S> Outcome<S> {
    /// The final state of a completed run.
    ///
    /// # Errors
    /// Why it did not complete.
    pub fn completed(self) -> Result<S, Error> {
        match self.error {
            None => Ok(self.state),
            Some(error) => Err(error),
        }
    }

    /// The questions it waits for, if it is suspended.
    #[must_use]
    pub fn questions(&self) -> &[PendingQuestion] {
        match self.error.as_ref().map(Error::root) {
            Some(Error::Suspended(suspension)) => &suspension.questions,
            _ => &[],
        }
    }
}

/// What the store keeps of an outcome.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredOutcome {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The innermost steps that failed: what to try again on resume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed_at: Vec<Path>,
    /// The scopes whose limits they failed by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) limits: Vec<Path>,
    /// Whether it is never to be resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) for_good: bool,
    /// Where a model gave the replies that they could not use. Records of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unusable: Option<Vec<Path>>,
    /// The steps that failed by an effect of theirs, which may be a call that failed and is in the journal as one that was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_effects: Vec<Path>,
    /// The steps that failed by themselves: nothing below them is to be tried again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_themselves: Vec<Path>,
}

impl StoredOutcome {
    /// What a run came to that has ended.
    pub(crate) fn of(record: &RunRecord) -> Option<Self> {
        let outcome = record.outcome.as_deref().filter(|_| record.status.is_final())?;
        serde_json::from_slice(outcome).ok()
    }
}
