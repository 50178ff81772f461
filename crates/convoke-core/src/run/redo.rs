//! Selects what a resumed run performs again: the effects it ended by, and nothing else.
//!
//! Everything that did not end the run keeps its outcome, failures that the run had coped with included. What a model
//! replied and the step refused is in the journal as a success; it ended the run all the same. So is a tool's failure, which is
//! something for a model to read, unless it failed the step.

use super::LackingReplies;
use super::outcome::StoredOutcome;
use crate::intercept::Labels;
use crate::journal::{Draft, JournalIndex, RecordedCall};
use crate::store::RunRecord;
use crate::{
    CategorisedError, EffectKind, Entry, Error, Path, Phase, RecordedError, RecordedOutcome, UnusableReply,
};

/// How the store is to remember the end of a run that may be resumed.
pub(super) fn stored_outcome(
    error: Option<&Error>,
    state: Option<serde_json::Value>,
    lacking: &LackingReplies,
) -> StoredOutcome {
    let mut stored = StoredOutcome {
        state,
        error: error.map(ToString::to_string),
        failed_at: Vec::new(),
        limits: Vec::new(),
        for_good: false,
        unusable: None,
        by_effects: Vec::new(),
        by_themselves: Vec::new(),
    };
    // A stop (somebody cancelled, the store broke) is no outcome of any effect: there is nothing to forget.
    if let Some(failure) = error.filter(|error| !error.is_stop()) {
        stored.unusable = Some(unusable_replies(failure, lacking));
        failure.every_root(&mut |failed_at, root| {
            stored.failed_at.extend(failed_at.cloned());
            stored.limits.extend(match root {
                Error::TimedOut(timed_out) => Some(timed_out.owner.clone()),
                Error::Budget(exhausted) => Some(exhausted.owner.clone()),
                _ => None,
            });
            let stated = root.downcast_ref::<CategorisedError>();
            let is_of_effect = root.downcast_ref::<RecordedError>().is_some()
                || stated.is_some_and(CategorisedError::is_of_effect);
            let is_of_step = stated.is_some_and(CategorisedError::is_of_step);
            let here = || failed_at.cloned().unwrap_or_else(|| Path::from(""));
            stored.by_effects.extend(is_of_effect.then(here));
            stored.by_themselves.extend(is_of_step.then(here));
        });
        if stored.failed_at.is_empty() {
            stored.failed_at.push(crate::Path::from(""));
        }
    }
    stored
}

/// Where the replies came from that the failed steps could not use.
fn unusable_replies(failure: &Error, lacking: &LackingReplies) -> Vec<Path> {
    let mut places = Vec::new();
    failure.every_root(&mut |failed_at, root| {
        let here = || failed_at.cloned().unwrap_or_else(|| Path::from(""));
        if let Some(unusable) = root.downcast_ref::<UnusableReply>() {
            let earlier = unusable.what_lacks().and_then(|what| lacking.place(what));
            places.push(earlier.unwrap_or_else(here));
        } else if matches!(root, Error::Model(_)) {
            // The call failed, or its reply is not what it should be: the journal knows which.
            places.push(here());
        }
    });
    places
}

/// The journal without the failures that ended the run, and the entries that say so.
pub(super) fn forget_failures(record: &RunRecord, entries: Vec<Entry>) -> (JournalIndex, Vec<Entry>) {
    let outcome = StoredOutcome::of(record);
    let Some(StoredOutcome { failed_at, limits, unusable, by_effects, by_themselves, .. }) = outcome else {
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
    let last = failed_at.iter().filter(|path| !by_themselves.contains(path)).filter_map(|path| {
        let call = by_effects.contains(path).then(|| index.last_failed_call_within(path)).flatten();
        index.last_failure_within(path).into_iter().chain(call).max_by_key(|entry| entry.seq)
    });
    let refused = refused_replies(&index, &failed_at, unusable.as_deref());
    let mut failures: Vec<&Entry> = by_limit.chain(last).chain(refused).collect();
    failures.sort_unstable_by_key(|entry| entry.seq);
    failures.dedup_by_key(|entry| entry.seq);
    let again: Vec<Entry> = failures.into_iter().flat_map(|failure| superseding(&index, failure)).collect();
    with(entries, again)
}

/// The journal with entries that say what no longer counts, and these.
fn with(entries: Vec<Entry>, again: Vec<Entry>) -> (JournalIndex, Vec<Entry>) {
    (JournalIndex::new(entries.into_iter().chain(again.iter().cloned()).collect()), again)
}

/// The replies that the failed steps could not use, with what followed from them.
fn refused_replies<'a>(
    index: &'a JournalIndex,
    failed_at: &[Path],
    unusable: Option<&[Path]>,
) -> Vec<&'a Entry> {
    let places = unusable.unwrap_or(failed_at).iter();
    let refused = places.filter_map(|place| {
        // What a step cannot use and an earlier one was told, everybody in between may have been told as well.
        let whole_run = Path::from("");
        let told = if failed_at.contains(place) { place } else { &whole_run };
        let reply = index.last_reply_within(place)?;
        if failed_at.contains(place) && index.last_failure_within(place).is_some_and(|it| it.seq > reply.seq)
        {
            return None;
        }
        // An older version did not say why it failed; that a reply is not whole was always a reason.
        (unusable.is_some() || !is_whole(reply)).then(|| from_reply_on(index, reply, told))
    });
    refused.flatten().collect()
}

/// A reply and everything after it; nothing if anything in it has touched the world or come from outside: that is not to
/// happen twice, and would not fit another reply.
fn from_reply_on<'a>(index: &'a JournalIndex, reply: &'a Entry, told: &Path) -> Vec<&'a Entry> {
    let later: Vec<&Entry> = index.known_within(told).filter(|entry| entry.seq >= reply.seq).collect();
    let is_harmless = |entry: &&Entry| {
        use EffectKind::{Ask, Continue, Custom, Decision, Model, Now, Receive, Sleep, Tool};
        match entry.effect {
            Model | Sleep | Now | Decision => true,
            Tool | Ask | Custom | Receive | Continue => false,
        }
    };
    if later.iter().all(is_harmless) { later } else { Vec::new() }
}

fn is_whole(reply: &Entry) -> bool {
    match serde_json::from_slice::<RecordedCall>(reply.outcome.as_deref().unwrap_or_default()) {
        Ok(RecordedCall::Ok(reply)) => reply.whole().is_ok(),
        _ => true,
    }
}

/// What takes the place of a failure. What was under way when its time was up, or ended so that nobody knows more, may have
/// taken effect all the same, and is as good as interrupted.
fn superseding(index: &JournalIndex, failure: &Entry) -> impl Iterator<Item = Entry> + use<> {
    let superseded = Entry {
        phase: Phase::Superseded,
        request: None,
        outcome: None,
        labels: Labels::new(),
        ..failure.clone()
    };
    let slot = index.get(&failure.path, failure.ordinal).filter(|_| failure.leaves_doubt());
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
        labels: entry.labels.clone(),
    }
}

fn error_of(entry: &Entry) -> Option<RecordedError> {
    let outcome = entry.outcome.as_deref()?;
    match serde_json::from_slice::<RecordedOutcome<serde::de::IgnoredAny>>(outcome) {
        Ok(RecordedOutcome::Err(error)) => Some(error),
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
    entry.limit_out_of_time().is_some_and(|owner| owner.as_str().is_empty())
}
