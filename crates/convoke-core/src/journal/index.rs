//! A run's journal, ready to answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;

use super::{EffectKind, Entry, Phase};
use crate::Path;

/// The ordinal under which a step's own fate is kept; effects never get that far.
pub(crate) const FATE: u32 = u32::MAX;

/// What is known about one effect.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) started: Option<Entry>,
    pub(crate) finished: Option<Entry>,
    /// How often it was begun.
    pub(crate) attempts: u32,
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
            Phase::Started => {
                slot.started = Some(entry);
                slot.attempts += 1;
            }
            Phase::Finished => slot.finished = Some(entry),
            Phase::Superseded => *slot = Slot { attempts: slot.attempts, ..Slot::default() },
        }
    }

    pub(crate) fn get(&self, path: &Path, ordinal: u32) -> Option<&Slot> {
        if self.paths.is_empty() {
            return None;
        }
        let effects = self.paths.get(path)?;
        if ordinal == FATE { effects.fate.as_ref() } else { effects.by_ordinal.get(ordinal as usize) }
    }

    /// Whether there is an effect at this very path.
    pub(crate) fn knows(&self, path: &Path) -> bool {
        let effects = if self.paths.is_empty() { None } else { self.paths.get(path) };
        effects.is_some_and(|effects| effects.by_ordinal.iter().any(|slot| slot.first().is_some()))
    }

    /// Where something has happened that counts.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let happened = |effects: &Effects| {
            effects.by_ordinal.iter().chain(&effects.fate).any(|slot| slot.first().is_some())
        };
        self.paths.iter().filter(move |(_, effects)| happened(effects)).map(|(path, _)| path)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Counts a finished effect as told.
    pub(crate) fn mark_used(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    /// The effects at certain paths, in no particular order.
    pub(crate) fn slots_where(&self, is_meant: impl Fn(&Path) -> bool) -> impl Iterator<Item = &Slot> {
        let meant = self.paths.iter().filter(move |(at, _)| is_meant(at));
        meant.flat_map(|(_, effects)| &effects.by_ordinal)
    }

    /// Finished effects the code has not asked for.
    pub(crate) fn unused(&self) -> usize {
        self.finished.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// The last failed effect at or below a path: what to perform anew when a failed run is resumed.
    pub(crate) fn last_failure_within(&self, path: &Path) -> Option<&Entry> {
        self.failures().filter(|entry| entry.path.is_within(path)).max_by_key(|entry| entry.seq)
    }

    /// All failed effects, in no particular order.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Entry> {
        let slots = self.paths.values().flat_map(|effects| effects.by_ordinal.iter().chain(&effects.fate));
        slots.filter_map(|slot| slot.finished.as_ref()).filter(|entry| failed(entry))
    }
}

fn failed(entry: &Entry) -> bool {
    let is_error = entry.outcome.as_ref().is_some_and(|outcome| outcome.starts_with(b"{\"err\""));
    // A fate is a failure by itself; other decisions are not.
    is_error && (entry.effect != EffectKind::Decision || entry.ordinal == FATE)
}
