//! What a person has approved for the whole of a run.
//!
//! An approval is for one call, unless whoever gives it says that it holds for all that the question covers. That is part of
//! the answer, and so of the journal: a run that is resumed knows it again. A fork is another run, and does not. It is given to
//! the interceptor that asked, and to no other.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::ask::{Answer, Question};
use crate::history::is_from_another_run;
use crate::intercept::asked_by;
use crate::store::RunRecord;
use crate::{EffectKind, Entry, Path, Phase, Recorded};

/// What need not be asked about again. Most runs have nothing of the kind, so it takes no room in them.
#[derive(Debug, Default)]
pub(crate) struct Grants(Box<Mutex<BTreeSet<(String, String)>>>);

impl Grants {
    /// What was approved in a run's past.
    pub(super) fn of(record: &RunRecord, entries: &[Entry]) -> Self {
        let mut asked: HashMap<(&Path, u32), &Entry> = HashMap::new();
        let grants = Self::default();
        let own = entries.iter().filter(|entry| !is_from_another_run(record, entry.seq, entry.at));
        for entry in own.filter(|entry| entry.effect == EffectKind::Ask) {
            match entry.phase {
                Phase::Started => drop(asked.insert((&entry.path, entry.ordinal), entry)),
                Phase::Finished => {
                    let question = asked.get(&(&entry.path, entry.ordinal));
                    if is_for_the_run(entry)
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
        read::<Recorded<Answer>>(answered.outcome.as_deref()),
        Some(Recorded::Ok(answer)) if answer.for_run && answer.is_approval()
    )
}

fn read<T: for<'de> Deserialize<'de>>(json: Option<&[u8]>) -> Option<T> {
    serde_json::from_slice(json?).ok()
}
