//! Generations: continuing a run with another state.
//!
//! One batch ends the generation and begins the next: before it, whoever goes on with the run comes to the same end once more, by
//! the journal; after it, the run is in the next one. By then everything the generation did has ended, because the error that
//! says so has come all the way up.

use std::ops::Range;

use bytes::Bytes;
use serde_json::{Value, json};

use super::carryover::{Carryover, PreviousGeneration};
use super::time_limit::RunClock;
use super::{Grants, Names, Run, State, Workflow};
use crate::budget::Budget;
use crate::intercept::Labels;
use crate::journal::{Draft, RunJournal};
use crate::json_source;
use crate::store::{Batch, NextGeneration, RunChange, RunStatus, Store, StoreError, WaitConditions};
use crate::{Digest, EffectKind, Error, Path, Phase, RecordedOutcome};

/// What a generation begins with.
pub(super) struct GenerationStart<S> {
    /// How often the run has continued before it.
    pub(super) number: u32,
    pub(super) state: S,
    /// `None`: that of the id.
    pub(super) seed: Option<u64>,
    pub(super) journal: Option<RunJournal>,
    /// What a person has approved for the whole run.
    pub(super) grants: Grants,
    /// What the journal calls the steps.
    pub(super) names: Names,
    /// What it has from those before it.
    pub(super) carried: Carryover,
}

/// A generation that has ended.
pub(super) struct FinishedGeneration<'a> {
    pub(super) run: &'a Run,
    pub(super) carried: Carryover,
    pub(super) budget: Option<&'a Budget>,
    pub(super) time: &'a RunClock,
    /// What is known of everything that was learnt in it.
    pub(super) learnt: Labels,
}

impl FinishedGeneration<'_> {
    /// Lets the run continue with this state.
    pub(super) async fn continue_with<S: State>(
        mut self,
        workflow: &Workflow<S>,
        input: &Bytes,
    ) -> Result<GenerationStart<S>, Error> {
        let (state, long_texts) = self.read(workflow, input)?;
        let (number, seed) = (self.run.generation.saturating_add(1), next_seed(self.run.seed()));
        if let Some(journal) = &self.run.journal {
            self.note_beginning(&**journal.store()).await?;
        }
        let learnt = std::mem::take(&mut self.learnt);
        let carried = Carryover { learnt, long_texts, ..self.carried.onwards(self.run, self.budget) };
        let next = NextGeneration {
            generation: crate::store::Generation { number, begins_at: 1, carried: Some(carried.stored()?) },
            version: workflow.version_number(),
            seed,
            input: input.clone(),
        };
        let journal = match &self.run.journal {
            Some(journal) => Some(self.write(journal, next, workflow.stored_outline()).await?),
            None => None,
        };
        let grants = Grants::approved_before(carried.approved.clone());
        let (seed, names) = (Some(seed), Names::default());
        Ok(GenerationStart { number, state, seed, journal, grants, names, carried })
    }

    /// The state, and where its long texts stand.
    fn read<S: State>(&self, workflow: &Workflow<S>, input: &Bytes) -> Result<(S, Vec<Range<usize>>), Error> {
        json_source::read(input).map_err(|error| {
            Error::Refused(
                format!(
                    "run `{}` cannot continue with a state that is not one of `{}`, a {}: {error}. Give \
                     `continue_with` the state of the whole workflow",
                    self.run.id,
                    workflow.name(),
                    std::any::type_name::<S>()
                )
                .into(),
            )
        })
    }

    /// Keeps how this generation began, and what the run is known by to whoever starts it once more.
    async fn note_beginning(&mut self, store: &dyn Store) -> Result<(), Error> {
        let run = &self.run.id;
        let record = store.run(run).await?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
        if self.carried.began_with.is_none() {
            self.carried.began_with = Some(Digest::of_json(&serde_json::from_slice(&record.input)?));
        }
        self.carried.before = Some(PreviousGeneration::of(&record, &self.carried)?);
        Ok(())
    }

    /// Takes everything down together, and gives the next journal when that is durable.
    async fn write(
        &self,
        journal: &RunJournal,
        mut next: NextGeneration,
        outline: Bytes,
    ) -> Result<RunJournal, Error> {
        let asked = journal.store().questions(Some(&self.run.id)).await?;
        let whole = Path::from("");
        let number = next.generation.number;
        let end = Draft {
            path: &whole,
            ordinal: 0,
            effect: EffectKind::Continue,
            phase: Phase::Finished,
            digest: Digest::default(),
            labels: Labels::new(),
            request: None,
            outcome: Some(
                serde_json::to_vec(&RecordedOutcome::<Value>::Ok(json!({ "generation": number })))?.into(),
            ),
        };
        let change = RunChange {
            status: RunStatus::Running,
            outcome: None,
            totals: self.run.totals(),
            worked: self.time.worked(),
            waits: WaitConditions::default(),
        };
        let journal = journal.next_generation(end, |begins_at| {
            next.generation.begins_at = begins_at;
            Batch {
                // Whoever asked them is over.
                closed: asked.into_iter().map(|pending| pending.id).collect(),
                change: Some(change),
                outline: Some(outline),
                next: Some(next),
                ..Batch::default()
            }
        });
        journal.settle().await?;
        Ok(journal)
    }
}

/// What the random numbers of the next generation follow from: addresses come again, numbers should not.
fn next_seed(seed: u64) -> u64 {
    let digest = Digest::of_parts(&[b"next generation", &seed.to_le_bytes()]);
    let (first, _) = digest.as_bytes().split_at(8);
    first.iter().fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}
