//! Approvals that a fork does not inherit.
//!
//! Whoever approves a call approves one call of one run. If the call is in the past that a fork shares, the journal
//! answers it and nothing is done again. If it is not, the fork is about to make it a second time, and the approval is
//! asked for anew.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use crate::ask::{Answer, Question};
use crate::intercept::guarded_by;
use crate::{EffectKind, Entry, Path, Phase, RecordedOutcome};

/// The address of an effect.
type Address<'a> = (&'a Path, u32);

/// What was approved, or called: a tool and its arguments.
#[derive(Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
}

/// An approval that was given.
struct Approved<'a> {
    path: &'a Path,
    /// The entry with the answer.
    answered: u64,
    /// The call it is for, if it is an agent's.
    call: Option<Call>,
    /// The address of the effect it is for, if it was given to an interceptor.
    intercepts: Option<(Path, u32)>,
}

/// The numbers of the entries with answers that a fork at `at` must not have. `kept` is its past, `all` the other run's
/// whole journal.
pub(super) fn spent(kept: &[Entry], all: &[Entry], at: u64) -> HashSet<u64> {
    let finished: HashSet<Address<'_>> =
        kept.iter().filter(|entry| entry.phase == Phase::Finished).map(address).collect();
    let mut calls_left = finished_calls(kept, &finished);
    let mut spent = HashSet::new();
    for approval in approvals(kept, at) {
        let is_used = match (&approval.intercepts, &approval.call) {
            (Some((path, ordinal)), _) => finished.contains(&(path, *ordinal)),
            (None, Some(call)) => calls_left.take(approval.path, call),
            (None, None) => guarded(&approval, all).is_none_or(|acted| finished.contains(&address(acted))),
        };
        if !is_used {
            spent.insert(approval.answered);
        }
    }
    spent
}

/// The approvals in a past, in the order they were asked for. An answer at the fork was said by whoever forks.
fn approvals(kept: &[Entry], at: u64) -> impl Iterator<Item = Approved<'_>> {
    let answers: HashMap<Address<'_>, &Entry> = kept
        .iter()
        .filter(|entry| entry.effect == EffectKind::Ask && entry.phase == Phase::Finished && entry.seq != at)
        .map(|entry| (address(entry), entry))
        .collect();
    let asked = kept.iter().filter(|entry| entry.effect == EffectKind::Ask && entry.phase == Phase::Started);
    asked.filter_map(move |asked| {
        let answered = answers.get(&address(asked))?;
        match read::<RecordedOutcome<Answer>>(answered.outcome.as_deref())? {
            RecordedOutcome::Ok(answer) if answer.is_approval() => {}
            _ => return None,
        }
        let question: Question = read(asked.request.as_deref())?;
        let call = Call::deserialize(question.subject).ok();
        let intercepts = guarded_by(&asked.path);
        Some(Approved { path: &asked.path, answered: answered.seq, call, intercepts })
    })
}

/// The first thing that was done to the world in the scope of an approval after it was given. Only what must not be
/// repeated blindly has its beginning written down.
fn guarded<'a>(approval: &Approved<'_>, all: &'a [Entry]) -> Option<&'a Entry> {
    let acts = |entry: &&Entry| matches!(entry.effect, EffectKind::Tool | EffectKind::Custom);
    let mut begun = all.iter().filter(|entry| entry.phase == Phase::Started).filter(acts);
    begun.find(|entry| entry.seq > approval.answered && entry.path.is_within(approval.path))
}

/// Calls that have ended, by where they were made.
struct FinishedCalls<'a>(Vec<(&'a Path, Call)>);

impl FinishedCalls<'_> {
    /// Whether there is such a call that no other approval was for: beside this approval, if an agent asked for it, or
    /// around it, if a gate did.
    fn take(&mut self, approval: &Path, call: &Call) -> bool {
        let found = self.0.iter().position(|(place, made)| {
            let near = parent(place) == parent(approval) || approval.is_within(place);
            near && made.tool == call.tool && made.arguments == call.arguments
        });
        found.map(|index| self.0.swap_remove(index)).is_some()
    }
}

fn finished_calls<'a>(kept: &'a [Entry], finished: &HashSet<Address<'_>>) -> FinishedCalls<'a> {
    let tools = kept.iter().filter(|entry| entry.effect == EffectKind::Tool && entry.request.is_some());
    let finished = tools.filter(|entry| finished.contains(&address(entry)));
    let calls = finished.filter_map(|entry| Some((&entry.path, read(entry.request.as_deref())?)));
    FinishedCalls(calls.collect())
}

fn address(entry: &Entry) -> Address<'_> {
    (&entry.path, entry.ordinal)
}

fn parent(path: &Path) -> &str {
    path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn read<T: for<'de> Deserialize<'de>>(json: Option<&[u8]>) -> Option<T> {
    serde_json::from_slice(json?).ok()
}
