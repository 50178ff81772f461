//! Decides whether a stored run can be resumed.
//!
//! A run that a person or a supervisor ended has that decision in its journal, and comes to the same end each time. So has
//! one that was cancelled for good, which nothing resumes.

use convoke_core::RunStatus;
use convoke_core::store::RunRecord;
use serde::Deserialize;

/// As much of a run's end as is needed to tell whether it is one for good.
#[derive(Deserialize)]
struct End {
    #[serde(default)]
    for_good: bool,
}

/// Checks whether a run was cancelled for good.
#[must_use]
pub fn is_cancelled_for_good(record: &RunRecord) -> bool {
    let outcome = record.outcome.as_deref().filter(|_| record.status == RunStatus::Cancelled);
    outcome.is_some_and(|json| serde_json::from_slice::<End>(json).is_ok_and(|end| end.for_good))
}

/// Checks whether resuming can lead to another end than the one it has.
#[must_use]
pub fn can_go_on(record: &RunRecord) -> bool {
    let has_ended = matches!(record.status, RunStatus::Completed | RunStatus::Halted);
    !has_ended && !is_cancelled_for_good(record)
}
