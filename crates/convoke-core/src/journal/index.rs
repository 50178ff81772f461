//! A run's journal, ready to answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{EffectKind, Entry, Phase};
use crate::Path;

/// The ordinal under which a step's own fate is kept; effects never get that far.
pub(crate) const FATE: u32 = u32::MAX;

/// What is known about one effect.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) started: Option<Entry>,
    pub(crate) finished: Option<Entry>,
}

impl Slot {
    /// The entry that says what was asked for.
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.started.as_ref().or(self.finished.as_ref())
    }
}

#[derive(Debug, Default)]
struct Effects {
    by_ordinal: Vec<Slot>,
    fate: Option<Slot>,
}

/// All entries by address.
#[derive(Debug, Default)]
pub(crate) struct JournalIndex {
    paths: HashMap<Path, Effects>,
    finished: usize,
    used: AtomicUsize,
}

impl JournalIndex {
    pub(crate) fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut index = Self::default();
        for entry in entries {
            index.add(entry);
        }
        let slots = index.paths.values().flat_map(|effects| &effects.by_ordinal);
        index.finished = slots.filter(|slot| slot.finished.is_some()).count();
        index
    }

    fn add(&mut self, entry: Entry) {
        let effects = self.paths.entry(entry.path.clone()).or_default();
        let slot = if entry.ordinal == FATE {
            effects.fate.get_or_insert_default()
        } else {
            let ordinal = entry.ordinal as usize;
            if effects.by_ordinal.len() <= ordinal {
                effects.by_ordinal.resize_with(ordinal + 1, Slot::default);
            }
            &mut effects.by_ordinal[ordinal]
        };
        match entry.phase {
            Phase::Started => slot.started = Some(entry),
            Phase::Finished => slot.finished = Some(entry),
            Phase::Superseded => *slot = Slot::default(),
        }
    }

    pub(crate) fn get(&self, path: &Path, ordinal: u32) -> Option<&Slot> {
        if self.paths.is_empty() {
            return None;
        }
        let effects = self.paths.get(path)?;
        if ordinal == FATE { effects.fate.as_ref() } else { effects.by_ordinal.get(ordinal as usize) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Counts a finished effect as told.
    pub(crate) fn mark_used(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts everything below a path as told: whoever asked got the outcome of the whole.
    pub(crate) fn mark_used_below(&self, path: &Path) {
        let below = self.paths.iter().filter(|(at, _)| at.is_within(path) && *at != path);
        let finished =
            below.flat_map(|(_, effects)| &effects.by_ordinal).filter(|slot| slot.finished.is_some());
        self.used.fetch_add(finished.count(), Ordering::Relaxed);
    }

    /// Finished effects the code has not asked for.
    pub(crate) fn unused(&self) -> usize {
        self.finished.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// The last failed effect at or below a path: what to perform anew when a failed run is resumed.
    pub(crate) fn last_failure_within(&self, path: &Path) -> Option<&Entry> {
        let entries = self.paths.iter().filter(|(at, _)| at.is_within(path));
        let finished = entries.flat_map(|(_, effects)| effects.by_ordinal.iter().chain(&effects.fate));
        finished
            .filter_map(|slot| slot.finished.as_ref())
            .filter(|entry| failed(entry))
            .max_by_key(|entry| entry.seq)
    }
}

fn failed(entry: &Entry) -> bool {
    let is_error = entry.outcome.as_ref().is_some_and(|outcome| outcome.starts_with(b"{\"err\""));
    // A fate is a failure by itself; other decisions are not.
    is_error && (entry.effect != EffectKind::Decision || entry.ordinal == FATE)
}
