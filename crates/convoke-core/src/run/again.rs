//! What a run that had ended does again when it is resumed: what it ended by, and nothing else.
//!
//! Everything that did not end the run keeps its outcome, failures that the run had coped with included.

use super::outcome::StoredOutcome;
use crate::journal::{Draft, JournalIndex};
use crate::store::RunRecord;
use crate::{Entry, Error, Phase, Recorded, RecordedError};

/// How the store is to remember the end of a run that may be resumed.
pub(super) fn stored_outcome(error: Option<&Error>, state: Option<serde_json::Value>) -> StoredOutcome {
    let mut stored = StoredOutcome {
        state,
        error: error.map(ToString::to_string),
        failed_at: Vec::new(),
        limits: Vec::new(),
        for_good: false,
    };
    // A stop (somebody cancelled, the store broke) is no outcome of any effect: there is nothing to forget.
    if let Some(failure) = error.filter(|error| !error.is_stop()) {
        stored.failed_at = failure.failed_paths();
        stored.limits = failure.exceeded_limits();
        if stored.failed_at.is_empty() {
            stored.failed_at.push(crate::Path::from(""));
        }
    }
    stored
}

/// The journal without the failures that ended the run, and the entries that say so.
pub(super) fn forget_failures(record: &RunRecord, entries: Vec<Entry>) -> (JournalIndex, Vec<Entry>) {
    let outcome = record.outcome.as_deref().filter(|_| record.status.is_final());
    let outcome = outcome.and_then(|json| serde_json::from_slice::<StoredOutcome>(json).ok());
    let Some(StoredOutcome { failed_at, limits, .. }) = outcome else {
        // A run that was killed before it could say that its time was up has more of it now.
        if !entries.iter().any(is_out_of_the_run_s_time) {
            return (JournalIndex::new(entries), Vec::new());
        }
        let index = JournalIndex::new(entries.clone());
        let late = index.failures().filter(|entry| is_out_of_the_run_s_time(entry));
        let again = late.flat_map(|failure| superseding(&index, failure)).collect();
        return with(entries, again);
    };
    let index = JournalIndex::new(entries.clone());
    // One limit may have ended many effects side by side; the run ended by all of them.
    let by_limit =
        index.failures().filter(|entry| limit_of(entry).is_some_and(|owner| limits.contains(&owner)));
    let last = failed_at.iter().filter_map(|path| index.last_failure_within(path));
    let mut failures: Vec<&Entry> = by_limit.chain(last).collect();
    failures.sort_unstable_by_key(|entry| entry.seq);
    failures.dedup_by_key(|entry| entry.seq);
    let again: Vec<Entry> = failures.into_iter().flat_map(|failure| superseding(&index, failure)).collect();
    with(entries, again)
}

/// The journal with entries that say what no longer counts, and these.
fn with(entries: Vec<Entry>, again: Vec<Entry>) -> (JournalIndex, Vec<Entry>) {
    (JournalIndex::new(entries.into_iter().chain(again.iter().cloned()).collect()), again)
}

/// What takes the place of a failure. What was under way when its time was up may have taken effect all the same, and
/// is as good as interrupted.
fn superseding(index: &JournalIndex, failure: &Entry) -> impl Iterator<Item = Entry> + use<> {
    let superseded = Entry { phase: Phase::Superseded, request: None, outcome: None, ..failure.clone() };
    let slot = index.get(&failure.path, failure.ordinal).filter(|_| is_out_of_time(failure));
    std::iter::once(superseded).chain(slot.and_then(|slot| slot.started.cloned()))
}

/// An entry as the journal of the run that goes on takes it down.
pub(super) fn draft(entry: &Entry) -> Draft<'_> {
    Draft {
        path: &entry.path,
        ordinal: entry.ordinal,
        effect: entry.effect,
        phase: entry.phase,
        digest: entry.digest,
        request: entry.request.clone(),
        outcome: entry.outcome.clone(),
    }
}

fn error_of(entry: &Entry) -> Option<RecordedError> {
    let outcome = entry.outcome.as_deref()?;
    match serde_json::from_slice::<Recorded<serde::de::IgnoredAny>>(outcome) {
        Ok(Recorded::Err(error)) => Some(error),
        _ => None,
    }
}

fn limit_of(entry: &Entry) -> Option<crate::Path> {
    match error_of(entry)? {
        RecordedError::TimedOut(timed_out) => Some(timed_out.owner),
        RecordedError::Budget(exhausted) => Some(exhausted.owner),
        _ => None,
    }
}

/// Whether it ended because the run as a whole was out of time, which nobody in the run can cope with.
fn is_out_of_the_run_s_time(entry: &Entry) -> bool {
    let may_be = entry.outcome.as_ref().is_some_and(|outcome| outcome.starts_with(b"{\"err\""));
    may_be && is_out_of_time(entry) && limit_of(entry).is_some_and(|owner| owner.as_str().is_empty())
}

fn is_out_of_time(entry: &Entry) -> bool {
    matches!(error_of(entry), Some(RecordedError::TimedOut(_)))
}
