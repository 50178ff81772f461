//! Forks: a new run out of an old one's past.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::approvals;
use super::carryover::Carryover;
use crate::ask::{PendingQuestion, Question};
use crate::intercept::Labels;
use crate::journal::{referenced, restore_replies};
use crate::store::{
    Batch, ForkPoint, Generation, NewRun, NextGeneration, RunRecord, Store, StoreError, read_entries,
};
use crate::{EffectKind, Entry, Error, IdempotencyKey, Phase, RecordedOutcome, RunId, Timestamp};

/// A fork about to be made.
///
/// The new run has the old one's journal up to, and without, the entry `at`, and of the content what that refers to. Resuming
/// it performs that effect anew, unless [`with_outcome`](Self::with_outcome) says what it gave.
///
/// An approval is for one call of one run. One whose call is not in the common past is asked for again: those of agents'
/// tools, and questions for approval that are followed by something irreversible in the same scope. What a program does
/// on an approval of another step it does again without asking.
///
/// A question that is open at the fork is asked anew: whatever time there is for an answer begins with the fork.
#[derive(Debug, Clone)]
#[must_use = "a fork is not made until `create` is called"]
pub struct Fork {
    source: RunId,
    at: u64,
    id: RunId,
    outcome: Option<Value>,
}

impl Fork {
    /// A fork of `source` at the entry with this number; a number after the last forks at the end.
    pub fn new(source: RunId, at: u64) -> Self {
        Self { source, at, id: RunId::mint(), outcome: None }
    }

    /// Names the new run.
    pub fn id(mut self, id: RunId) -> Self {
        self.id = id;
        self
    }

    /// Says what the effect at the fork gave in the new run, in the form its kind has in the journal.
    pub fn with_outcome(mut self, outcome: Value) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// Makes the new run. Resume it to let it go on: no [attendant](crate::Attendant) does before somebody has.
    ///
    /// # Errors
    /// If there is no such run or entry, or the new id is taken.
    pub async fn create(self, store: &Arc<dyn Store>) -> Result<RunId, Error> {
        let record = store
            .run(&self.source)
            .await?
            .ok_or_else(|| StoreError::NotFound { run: self.source.clone() })?;
        let entries = read_entries(&**store, &self.source).await?;
        let last = entries.last().map_or(0, |entry| entry.seq);
        let first = record.generation.begins_at;
        if self.at == 0 || self.at > last + 1 {
            return Err(Error::Refused(
                format!("run `{}` has entries 1 to {last}; fork it at one of them", self.source).into(),
            ));
        }
        if self.at < first {
            return Err(Error::Refused(
                format!(
                    "run `{}` has continued since entry {}, and what it was working with then is not kept: fork it at one of the \
                     entries {first} to {last}, or at {} to fork it at the end",
                    self.source,
                    self.at,
                    last + 1
                )
                .into(),
            ));
        }
        let digests = store.blob_digests(&self.source).await?;
        let mut blobs = store.blobs(&self.source, &digests).await?;
        let mut next = None;
        let own = entries.partition_point(|entry| entry.seq < first);
        if record.generation.carried.is_some() {
            // Replies that what was said refers to are in entries that the fork does not have.
            restore_replies(&mut blobs, &entries[..own]);
            next = Some(begins_with(&record)?);
        }
        let past = self.past(&entries[own..], record.generation.number)?;
        // Of what was said, only what its past refers to: the rest is the other run's, and is deleted with it.
        let ends = Carryover::of(&record)?.conversations;
        let past = Batch { next, blobs: referenced(blobs, ends, &past.entries), ..past };
        let run = NewRun {
            id: self.id.clone(),
            workflow: record.workflow,
            version: record.version,
            input: record.input,
            outline: record.outline,
            launch: record.launch,
            seed: record.seed,
            forked_from: Some(ForkPoint { run: self.source, at: self.at }),
            past,
        };
        let lease = store.create(run).await?;
        store.release(&lease);
        Ok(self.id)
    }

    fn past(&self, entries: &[Entry], generation: u32) -> Result<Batch, Error> {
        let mut kept: Vec<Entry> = entries.iter().filter(|entry| entry.seq < self.at).cloned().collect();
        if let Some(outcome) = &self.outcome {
            kept.push(self.substituted(entries, outcome)?);
        }
        let spent = approvals::spent(&kept, entries, self.at);
        kept.retain(|entry| !spent.contains(&entry.seq));
        let mut kept = without_dangling(kept);
        let opened = self.ask_again(&mut kept, generation)?;
        Ok(Batch { entries: kept, opened, ..Batch::default() })
    }

    fn substituted(&self, entries: &[Entry], outcome: &Value) -> Result<Entry, Error> {
        let Some(entry) = entries.iter().find(|entry| entry.seq == self.at) else {
            return Err(Error::Refused("there is no effect at the end to say the outcome of".into()));
        };
        Ok(Entry {
            phase: Phase::Finished,
            outcome: Some(serde_json::to_vec(&RecordedOutcome::Ok(outcome))?.into()),
            at: Timestamp::now(),
            // Of what whoever forks says, nothing of the kind is known.
            labels: Labels::new(),
            ..entry.clone()
        })
    }

    /// Questions that were open at the fork are open in the new run too, under keys of its own. They are asked anew, so the
    /// time for an answer begins with the fork: what has expired in the other run would be expired here before anybody could
    /// answer.
    fn ask_again(&self, kept: &mut [Entry], generation: u32) -> Result<Vec<PendingQuestion>, Error> {
        let now = Timestamp::now();
        let settled: HashSet<_> = kept
            .iter()
            .filter(|entry| entry.effect == EffectKind::Ask && entry.phase != Phase::Started)
            .map(|entry| (entry.path.clone(), entry.ordinal))
            .collect();
        let asked = kept.iter_mut().filter(|e| e.effect == EffectKind::Ask && e.phase == Phase::Started);
        let open = asked.filter(|e| !settled.contains(&(e.path.clone(), e.ordinal)));
        open.map(|entry| {
            // Whoever resumes the run reads there when it was asked.
            entry.at = now;
            let question: Question = serde_json::from_slice(entry.request.as_deref().unwrap_or(b"null"))?;
            Ok(PendingQuestion {
                run: self.id.clone(),
                id: IdempotencyKey::derive_in(&self.id, generation, &entry.path, entry.ordinal),
                path: entry.path.clone(),
                asked: now,
                question,
            })
        })
        .collect()
    }
}

/// What the new run has from the generations of the other one that are not in its past.
fn begins_with(record: &RunRecord) -> Result<NextGeneration, Error> {
    let carried = Some(Carryover::of(record)?.for_fork().stored()?);
    Ok(NextGeneration {
        // Its steps may have gone by it.
        generation: Generation { number: record.generation.number, begins_at: 1, carried },
        version: record.version,
        seed: record.seed,
        input: record.input.clone(),
    })
}

/// A call that was begun and not ended before the fork is the other run's: this one makes it anew, under a key of its own.
/// Waits go on from where they were, and questions stay.
fn without_dangling(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut begun = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let address = (entry.path.clone(), entry.ordinal);
        let goes_on = matches!(entry.effect, EffectKind::Ask | EffectKind::Sleep | EffectKind::Receive);
        match entry.phase {
            Phase::Started if !goes_on => begun.insert(address, index),
            _ => begun.remove(&address),
        };
    }
    let dangling: HashSet<usize> = begun.into_values().collect();
    let mut index = 0..;
    entries.retain(|_| index.next().is_none_or(|index| !dangling.contains(&index)));
    for (entry, seq) in entries.iter_mut().zip(1..) {
        entry.seq = seq;
    }
    entries
}
