//! Counts of what runs did.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::{Attempt, Conversations, Detail, Effect, Spent, effect};
use convoke_core::Error;
use convoke_core::store::{RunRecord, Store, read_entries};

/// Counts of what one run did, or several did together.
///
/// What a fork has from the run it branched off from is not counted: that run did it, and paid for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tally {
    /// What was spent.
    pub spent: Spent,
    /// The same by model; only its calls.
    pub models: BTreeMap<String, Spent>,
    /// Questions asked.
    pub questions: u64,
    /// Of these, questions that were answered.
    pub answered: u64,
}

impl Tally {
    /// Counts what a run did so far. Reads its journal, but not what was said.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn read(store: &dyn Store, record: &RunRecord) -> Result<Self, Error> {
        let effects = effect::gather(&read_entries(store, &record.id).await?, 0, &Conversations::default());
        Ok(Self::of(record, &effects))
    }

    pub(super) fn of(record: &RunRecord, effects: &[Effect]) -> Self {
        let mut tally = Self::default();
        let is_own =
            |attempt: &&Attempt| !attempt.marks().all(|mark| record.has_inherited(mark.seq, mark.at));
        for effect in effects {
            let spent = effect.attempts.iter().filter(is_own).map(|attempt| attempt.spent(effect.kind));
            let Some(spent) = spent.reduce(|sum, spent| sum + spent) else { continue };
            tally.spent += spent;
            match &effect.current().detail {
                Detail::Model { model, .. } => *tally.models.entry(model.clone()).or_default() += spent,
                Detail::Ask { answer, .. } => {
                    tally.questions += 1;
                    tally.answered += u64::from(answer.is_some());
                }
                _ => {}
            }
        }
        tally
    }
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, other: &Tally) {
        self.spent += other.spent;
        self.questions += other.questions;
        self.answered += other.answered;
        for (model, spent) in &other.models {
            *self.models.entry(model.clone()).or_default() += *spent;
        }
    }
}
