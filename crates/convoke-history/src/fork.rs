//! Comparison of a run with the one it was forked from.

use std::time::Duration;

use super::EntryMark;
use convoke_core::store::RunRecord;

/// An outcome that was given with the fork is written down a moment before the new run is made.
const MOMENT: Duration = Duration::from_secs(1);

/// Whether the time between two entries is this run's, or the other's. Between what a run was forked from and what it
/// did itself lies time that is nobody's.
pub(super) fn are_together(record: &RunRecord, first: EntryMark, last: EntryMark) -> bool {
    let is_before = |mark: EntryMark| mark.at + MOMENT < record.created;
    record.forked_from.is_none() || is_before(first) == is_before(last)
}
