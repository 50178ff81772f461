//! Decides whether a stored run can be resumed.
//!
//! A run that a person or a supervisor ended has that decision in its journal, and comes to the same end each time. So has
//! one that was cancelled for good, which nothing resumes.

use convoke_core::RunStatus;
use convoke_core::store::RunRecord;
pub use convoke_history::is_cancelled_for_good;

/// Checks whether resuming can lead to another end than the one it has.
#[must_use]
pub fn can_go_on(record: &RunRecord) -> bool {
    let has_ended = matches!(record.status, RunStatus::Completed | RunStatus::Halted);
    !has_ended && !is_cancelled_for_good(record)
}
