//! Standing approvals: those a person has given for the whole of a run.
//!
//! An approval is for one call, unless whoever gives it says that it holds for all that the question covers. That is part of
//! the answer, and so of the journal: a run that is resumed knows it again. A fork is another run, and does not. It is given to
//! the interceptor that asked, and to no other.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::ask::{Answer, Question};
use crate::intercept::{asked_by, guarded_by};
use crate::store::RunRecord;
use crate::{EffectKind, Entry, Path, Phase, RecordedOutcome};

/// What need not be asked about again. Most runs have nothing of the kind, so it takes no room in them.
#[derive(Debug, Default)]
pub(crate) struct Grants(Box<Mutex<Approved>>);

/// What was approved, by the interceptor that asked.
pub(super) type Approved = BTreeSet<(String, String)>;

impl Grants {
    /// What was approved before, and in the past that these entries tell of.
    pub(super) fn of(approved: Approved, record: &RunRecord, entries: &[Entry]) -> Self {
        let mut asked: HashMap<(&Path, u32), &Entry> = HashMap::new();
        let grants = Self::approved_before(approved);
        let own = entries.iter().filter(|entry| !record.has_inherited(entry.seq, entry.at));
        for entry in own.filter(|entry| entry.effect == EffectKind::Ask) {
            match entry.phase {
                Phase::Started => drop(asked.insert((&entry.path, entry.ordinal), entry)),
                Phase::Finished => {
                    let question = asked.get(&(&entry.path, entry.ordinal));
                    if is_for_the_run(entry)
                        && is_about_an_effect(entry, entries)
                        && let Some(asker) = asked_by(&entry.path)
                        && let Some(question) =
                            question.and_then(|entry| read::<Question>(entry.request.as_deref()))
                    {
                        grants.add(&asker, question.covers);
                    }
                }
                Phase::Superseded => {}
            }
        }
        grants
    }

    /// What was approved before.
    pub(super) fn approved_before(approved: Approved) -> Self {
        Self(Box::new(Mutex::new(approved)))
    }

    /// All of it.
    pub(super) fn approved(&self) -> Approved {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a person has approved this for the whole run when that interceptor asked.
    pub(crate) fn cover(&self, interceptor: &str, covers: &str) -> bool {
        let approved = || (interceptor.to_owned(), covers.to_owned());
        !covers.is_empty() && self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&approved())
    }

    /// A person has.
    pub(crate) fn add(&self, interceptor: &str, covers: String) {
        if !covers.is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((interceptor.to_owned(), covers));
        }
    }
}

fn is_for_the_run(answered: &Entry) -> bool {
    matches!(
        read::<RecordedOutcome<Answer>>(answered.outcome.as_deref()),
        Some(RecordedOutcome::Ok(answer)) if answer.for_run && answer.is_approval()
    )
}

fn read<T: for<'de> Deserialize<'de>>(json: Option<&[u8]>) -> Option<T> {
    serde_json::from_slice(json?).ok()
}

/// Whether a question is about the effect in whose scope it was asked: an interceptor asks about nothing else, and somebody else who
/// asks in such a place is none.
fn is_about_an_effect(asked: &Entry, entries: &[Entry]) -> bool {
    let outer = asked.path.as_str().rsplit_once('/').map_or("", |(outer, _)| outer);
    let (path, ordinal) = guarded_by(&asked.path).unwrap_or((Path::from(outer), 0));
    let mut about = entries.iter().filter(|entry| entry.path == path && entry.ordinal == ordinal);
    about.any(|entry| entry.digest == asked.digest)
}
