//! What a run has from the one it branched off from.

use std::time::Duration;

use super::Mark;
use crate::Timestamp;
use crate::store::RunRecord;

/// An outcome that was given with the fork is written down a moment before the new run is made.
const MOMENT: Duration = Duration::from_secs(1);

/// Whether an entry is from the other run's past. Entries keep their times when they are copied, but not always their
/// numbers: calls that were under way at the fork are left out.
pub(super) fn is_inherited(record: &RunRecord, mark: Mark) -> bool {
    is_from_another_run(record, mark.seq, mark.at)
}

/// The same of an entry with this number and time.
pub(crate) fn is_from_another_run(record: &RunRecord, seq: u64, at: Timestamp) -> bool {
    record.forked_from.as_ref().is_some_and(|fork| seq < fork.at) && at < record.created
}

/// Whether the time between two entries is this run's, or the other's. Between what a run was forked from and what it
/// did itself lies time that is nobody's.
pub(super) fn are_together(record: &RunRecord, first: Mark, last: Mark) -> bool {
    let is_before = |mark: Mark| mark.at + MOMENT < record.created;
    record.forked_from.is_none() || is_before(first) == is_before(last)
}
