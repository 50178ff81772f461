//! Loading a run from a store.

use std::collections::HashMap;

use bytes::Bytes;

use super::{Conversations, Effect, EffectStatus, Ending, History, OpenQuestion, Spent, Steps, Tree, effect};
use convoke_core::ask::QuestionId;
use convoke_core::journal::restore_replies;
use convoke_core::store::{RunRecord, Store, StoreError, read_entries};
use convoke_core::{Digest, EffectKind, Entry, Error, RunId};

impl OpenQuestion {
    /// Reads the open questions of a run, or of all runs, oldest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn read(store: &dyn Store, run: Option<&RunId>) -> Result<Vec<Self>, StoreError> {
        let mut questions = Vec::new();
        for pending in store.questions(run).await? {
            let answers = store.answers(&pending.run, &pending.id).await?;
            questions.push(Self { pending, answers });
        }
        Ok(questions)
    }
}

impl History {
    /// Reads a run. Nothing is written and no lease is taken.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such run, and failures of the store.
    pub async fn load(store: &dyn Store, run: &RunId) -> Result<Self, Error> {
        let record = store.run(run).await?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
        let entries = read_entries(store, run).await?;
        let digests = store.blob_digests(run).await?;
        let stored = store.blobs(run, &digests).await?;
        let questions = OpenQuestion::read(store, Some(run)).await?;
        let mut history = Self::assemble(record, &entries, stored, questions);
        for question in history.withdrawn() {
            let answers = store.answers(run, &question).await?;
            if !answers.is_empty() {
                history.unheard.insert(question, answers);
            }
        }
        Ok(history)
    }

    /// Returns what a run has spent so far, without reading what was said. The store's own sum is brought up to date only when
    /// a run's status changes; this one is always current.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn spent_so_far(store: &dyn Store, run: &RunId) -> Result<Spent, Error> {
        let effects = effect::gather(&read_entries(store, run).await?, 0, &Conversations::default());
        Ok(effects.iter().fold(Spent::default(), |sum, effect| sum + effect.spent()))
    }

    pub(super) fn assemble(
        record: RunRecord,
        entries: &[Entry],
        mut stored: HashMap<Digest, Bytes>,
        questions: Vec<OpenQuestion>,
    ) -> Self {
        restore_replies(&mut stored, entries);
        let conversations = Conversations::new(stored);
        let gathered = effect::gather(entries, record.generation.number, &conversations);
        let (notes, effects): (Vec<_>, Vec<_>) = gathered.into_iter().partition(Effect::is_note);
        let tree = Tree::new(&record, &effects);
        let steps = record.outline.as_deref().map(Steps::declared_in).unwrap_or_default();
        let ending = record.outcome.as_deref().map(Ending::read);
        let unheard = HashMap::new();
        Self { record, ending, effects, notes, tree, steps, questions, unheard, conversations }
    }

    /// Questions that nobody went on from, and that are not asked any more.
    fn withdrawn(&self) -> Vec<QuestionId> {
        let asked = self.effects.iter().filter(|effect| effect.kind == EffectKind::Ask);
        let unfinished = asked.filter(|effect| effect.status() == EffectStatus::Begun);
        let keys = unfinished.map(|effect| effect.key(&self.record.id));
        keys.filter(|key| self.questions.iter().all(|open| open.pending.id != *key)).collect()
    }
}
