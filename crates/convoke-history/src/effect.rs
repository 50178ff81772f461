//! Effects, each put together from its entries.

use std::collections::HashMap;

use serde::de::DeserializeOwned;

use super::{Attempt, Conversations, Detail, Spent};
use convoke_core::{EffectKind, Entry, IdempotencyKey, Path, Phase, RecordedError, RunId, StepNote};

/// One effect of a run, with everything the journal has about it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Effect {
    /// The scope that performed it.
    pub path: Path,
    /// Its number within that scope.
    pub ordinal: u32,
    /// What kind it is.
    pub kind: EffectKind,
    /// Each time it was performed, at least one; the last one counts.
    pub attempts: Vec<Attempt>,
    /// In which generation of the run it was performed.
    pub generation: u32,
    /// Where its key is derived from, if that is not its own path.
    keyed_as: Option<Path>,
}

/// The status of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EffectStatus {
    /// Its outcome is on record.
    Finished,
    /// It was begun, and has no end. A question waits, a tool is at work or was interrupted.
    Begun,
    /// It failed or was interrupted, and is to be performed anew.
    Superseded,
}

impl Effect {
    /// The attempt that counts.
    ///
    /// # Panics
    /// If somebody emptied [`attempts`](Self::attempts).
    #[must_use]
    pub fn current(&self) -> &Attempt {
        self.attempts.last().expect("an effect has been attempted")
    }

    /// Returns how far it has come.
    #[must_use]
    pub fn status(&self) -> EffectStatus {
        match self.current() {
            attempt if attempt.is_interrupted() => EffectStatus::Superseded,
            Attempt { superseded: Some(_), .. } => EffectStatus::Superseded,
            Attempt { ended: Some(_), .. } => EffectStatus::Finished,
            _ => EffectStatus::Begun,
        }
    }

    /// Whether it is a note on its step, and nothing that was done.
    pub(super) fn is_note(&self) -> bool {
        let notes = [StepNote::Route, StepNote::LeftOut];
        self.kind == EffectKind::Decision && notes.iter().any(|note| note.ordinal() == self.ordinal)
    }

    /// Returns what was decided, if it is a decision or a note that can be read as this.
    #[must_use]
    pub fn choice<T: DeserializeOwned>(&self) -> Option<T> {
        match &self.current().detail {
            Detail::Decision { choice: Some(choice) } if self.status() == EffectStatus::Finished => {
                serde_json::from_value(choice.clone()).ok()
            }
            _ => None,
        }
    }

    /// The number of its first entry.
    #[must_use]
    pub fn first_seq(&self) -> u64 {
        self.attempts.first().map_or(0, Attempt::first_seq)
    }

    /// The number of its last entry.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.attempts.iter().flat_map(Attempt::marks).map(|mark| mark.seq).max().unwrap_or(0)
    }

    /// Returns what the attempt that counts failed with.
    #[must_use]
    pub fn error(&self) -> Option<&RecordedError> {
        self.current().error.as_ref()
    }

    /// Returns what all its attempts spent.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.attempts.iter().fold(Spent::default(), |sum, attempt| sum + attempt.spent(self.kind))
    }

    /// The key it was performed with in this run. Of a question, it is the question's id.
    #[must_use]
    pub fn key(&self, run: &RunId) -> IdempotencyKey {
        let path = self.keyed_as.as_ref().unwrap_or(&self.path);
        IdempotencyKey::derive_in(run, self.generation, path, self.ordinal)
    }
}

/// Puts entries with the same address together. Addresses come again when a run continues; this is the generation it is in.
pub(super) fn gather(entries: &[Entry], last: u32, conversations: &Conversations) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    let mut places: HashMap<(&Path, u32), usize> = HashMap::new();
    let mut requests: HashMap<(&Path, u32), &[u8]> = HashMap::new();
    // A fork has the last one only.
    let ended = entries.iter().filter(|entry| entry.effect == EffectKind::Continue).count();
    let mut generation = last.saturating_sub(u32::try_from(ended).unwrap_or(u32::MAX));
    for entry in entries {
        let address = (&entry.path, entry.ordinal);
        if let Some(request) = &entry.request {
            requests.insert(address, request);
        }
        let Some(place) = places.get(&address) else {
            places.insert(address, effects.len());
            effects.push(Effect {
                path: entry.path.clone(),
                ordinal: entry.ordinal,
                kind: entry.effect,
                attempts: vec![Attempt::new(entry, conversations)],
                generation,
                keyed_as: keyed_as(entry),
            });
            if entry.effect == EffectKind::Continue {
                generation += 1;
                places.clear();
                requests.clear();
            }
            continue;
        };
        let effect = &mut effects[*place];
        // Another kind at the same address means that another version of the code went on from here.
        effect.kind = entry.effect;
        effect.keyed_as = keyed_as(entry).or_else(|| effect.keyed_as.take());
        match effect.attempts.last_mut() {
            Some(attempt) if attempt.superseded.is_none() && !begins_anew(attempt, entry) => {
                attempt.add(entry, requests.get(&address).copied(), conversations);
            }
            _ => effect.attempts.push(Attempt::new(entry, conversations)),
        }
    }
    effects
}

/// Only acts are ever keyed as others.
fn keyed_as(entry: &Entry) -> Option<Path> {
    matches!(entry.effect, EffectKind::Tool | EffectKind::Custom).then(|| entry.keyed_as())?
}

/// Whether an entry cannot belong to the attempt before it.
fn begins_anew(attempt: &Attempt, entry: &Entry) -> bool {
    match entry.phase {
        Phase::Started => true,
        Phase::Finished => attempt.ended.is_some(),
        // A call that was interrupted.
        Phase::Superseded => entry.outcome.is_some(),
    }
}
