//! An index of a run's journal by effect.
//!
//! A long run has many entries, and a replay asks for each of them once: the entries stay where they were read, and
//! what is known about an effect is the places of its entries.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;

use super::{EffectKind, Entry, Phase};
use crate::Path;

/// The ordinal under which a step's own time-out is kept; effects never get that far.
pub(crate) const STEP_TIMEOUT: u32 = u32::MAX;

/// What is known about one effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) started: Option<&'a Entry>,
    pub(crate) finished: Option<&'a Entry>,
    /// How often it was begun.
    pub(crate) attempts: u32,
}

impl<'a> Slot<'a> {
    /// The entry that says what was asked for.
    pub(crate) fn first(&self) -> Option<&'a Entry> {
        self.started.or(self.finished)
    }
}

/// The places of an effect's entries, from 1.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    started: Option<NonZeroU32>,
    finished: Option<NonZeroU32>,
    attempts: u32,
}

impl Places {
    fn is_known(&self) -> bool {
        self.started.or(self.finished).is_some()
    }
}

/// Ordinals this far beyond the last one are kept apart. Steps count by one, so only a damaged journal has such gaps, and the
/// memory it takes must not be up to what it says.
const LARGEST_GAP: usize = 1024;

#[derive(Debug, Default)]
struct Effects {
    by_ordinal: Vec<Places>,
    far: BTreeMap<u32, Places>,
    timeout: Option<Places>,
}

impl Effects {
    fn at(&self, ordinal: u32) -> Option<&Places> {
        self.far.get(&ordinal).or_else(|| self.by_ordinal.get(ordinal as usize))
    }

    fn at_mut(&mut self, ordinal: u32) -> &mut Places {
        let index = ordinal as usize;
        // What is far stays there, also when the others come near it.
        if index >= self.by_ordinal.len() + LARGEST_GAP || self.far.contains_key(&ordinal) {
            return self.far.entry(ordinal).or_default();
        }
        if self.by_ordinal.len() <= index {
            self.by_ordinal.resize_with(index + 1, Places::default);
        }
        &mut self.by_ordinal[index]
    }

    /// Those from this number on.
    fn from(&self, ordinal: u32) -> impl Iterator<Item = &Places> {
        self.by_ordinal
            .iter()
            .skip(ordinal as usize)
            .chain(self.far.range(ordinal..).map(|(_, places)| places))
    }
}

/// All entries by address.
#[derive(Debug, Default)]
pub(crate) struct JournalIndex {
    entries: Vec<Entry>,
    paths: HashMap<Path, Effects>,
    /// The paths in order, for whoever asks what lies below one; made when first asked for.
    sorted: OnceLock<Vec<Path>>,
    finished: usize,
    used: AtomicUsize,
    /// The places of calls of models that were superseded; there are few.
    superseded: Vec<NonZeroU32>,
    /// The scopes whose time was up when the run ended, each with the number of the entry that gives it anew; there are few.
    renewed: Vec<(Path, u64)>,
}

impl JournalIndex {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let mut index = Self::default();
        for (entry, place) in entries.iter().zip(1..) {
            let Some(superseded) = index.add(entry, NonZeroU32::new(place)) else { continue };
            let outcome = &entries[superseded.get() as usize - 1];
            if outcome.effect == EffectKind::Model {
                index.superseded.push(superseded);
            }
            index.renewed.extend(outcome.limit_out_of_time().map(|owner| (owner, entry.seq)));
        }
        let effects = index.paths.values().flat_map(|effects| effects.from(0));
        index.finished = effects.filter(|places| places.finished.is_some()).count();
        index.entries = entries;
        index
    }

    /// Adds an entry. Gives the place of the outcome that it supersedes.
    fn add(&mut self, entry: &Entry, place: Option<NonZeroU32>) -> Option<NonZeroU32> {
        let effects = match self.paths.get_mut(&entry.path) {
            Some(effects) => effects,
            None => self.paths.entry(entry.path.clone()).or_default(),
        };
        let places = if entry.is_step_timeout() {
            effects.timeout.get_or_insert_default()
        } else {
            effects.at_mut(entry.ordinal)
        };
        match entry.phase {
            Phase::Started => {
                places.started = place;
                places.attempts += 1;
            }
            Phase::Finished => places.finished = place,
            Phase::Superseded => {
                // One that was interrupted never counted: what it used is in its only entry.
                let superseded = if entry.outcome.is_some() { place } else { places.finished };
                *places = Places { attempts: places.attempts, ..Places::default() };
                return superseded;
            }
        }
        None
    }

    pub(crate) fn get(&self, path: &Path, ordinal: u32) -> Option<Slot<'_>> {
        if self.paths.is_empty() {
            return None;
        }
        let effects = self.paths.get(path)?;
        let places = if ordinal == STEP_TIMEOUT { effects.timeout.as_ref() } else { effects.at(ordinal) };
        places.map(|places| self.slot(places))
    }

    fn slot(&self, places: &Places) -> Slot<'_> {
        let entry =
            |place: Option<NonZeroU32>| place.and_then(|place| self.entries.get(place.get() as usize - 1));
        Slot { started: entry(places.started), finished: entry(places.finished), attempts: places.attempts }
    }

    /// Whether there is an effect at this very path, of this number or a later one.
    pub(crate) fn knows_from(&self, path: &Path, ordinal: u32) -> bool {
        let effects = if self.paths.is_empty() { None } else { self.paths.get(path) };
        effects.is_some_and(|effects| effects.from(ordinal).any(Places::is_known))
    }

    /// Whether there is an effect at or below this path.
    pub(crate) fn knows_within(&self, path: &Path) -> bool {
        !self.is_empty() && self.slots_within(path).any(|slot| slot.first().is_some())
    }

    /// Where something has happened that counts.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let happened = |effects: &Effects| effects.from(0).chain(&effects.timeout).any(Places::is_known);
        self.paths.iter().filter(move |(_, effects)| happened(effects)).map(|(path, _)| path)
    }

    /// The number of the first entry.
    pub(crate) fn first_number(&self) -> Option<u64> {
        self.entries.first().map(|entry| entry.seq)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Counts a finished effect as told.
    pub(crate) fn mark_used(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    /// The effects at this very path.
    pub(crate) fn slots_at(&self, path: &Path) -> impl Iterator<Item = Slot<'_>> {
        let effects = self.paths.get(path).into_iter().flat_map(|effects| effects.from(0));
        effects.map(|places| self.slot(places))
    }

    /// The effects at or below a path.
    pub(super) fn slots_within(&self, path: &Path) -> impl Iterator<Item = Slot<'_>> {
        self.slots_at(path).chain(self.slots_below(path))
    }

    /// The calls of models at or below a path that were made anew since, or are to be.
    pub(super) fn superseded_within<'a, 'p>(
        &'a self,
        path: &'p Path,
    ) -> impl Iterator<Item = &'a Entry> + use<'a, 'p> {
        let calls = self.superseded.iter().filter_map(|place| self.entries.get(place.get() as usize - 1));
        calls.filter(move |entry| entry.path.is_within(path))
    }

    /// The number of the entry since which a scope has its time anew.
    pub(super) fn renewed(&self, path: &Path) -> Option<u64> {
        self.renewed.iter().filter(|(owner, _)| owner == path).map(|(_, since)| *since).max()
    }

    /// Whether a limit of this scope has ended the run, and is given anew.
    pub(crate) fn is_renewed(&self, path: &Path) -> bool {
        self.renewed(path).is_some()
    }

    /// How many effects at or below a path have an outcome.
    pub(crate) fn finished_within(&self, path: &Path) -> usize {
        self.slots_within(path).filter(|slot| slot.finished.is_some()).count()
    }

    /// The effects below a path.
    pub(crate) fn slots_below(&self, path: &Path) -> impl Iterator<Item = Slot<'_>> {
        let sorted = self.sorted.get_or_init(|| {
            let mut paths: Vec<Path> = self.paths.keys().cloned().collect();
            paths.sort_unstable();
            paths
        });
        path.range_below(sorted).iter().flat_map(|below| self.slots_at(below))
    }

    /// Finished effects the code has not asked for.
    pub(crate) fn unused(&self) -> usize {
        self.finished.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// The last failed effect at or below a path: what to perform anew when a failed run is resumed.
    pub(crate) fn last_failure_within(&self, path: &Path) -> Option<&Entry> {
        self.failures().filter(|entry| entry.path.is_within(path)).max_by_key(|entry| entry.seq)
    }

    /// The last call of a tool at or below a path that failed, for a model to read or for a step to fail by.
    pub(crate) fn last_failed_call_within(&self, path: &Path) -> Option<&Entry> {
        self.known_within(path).filter(|entry| entry.is_failed_call()).max_by_key(|entry| entry.seq)
    }

    /// All failed effects, in no particular order.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Entry> {
        self.slots().filter_map(|slot| slot.finished).filter(|entry| failed(entry))
    }

    /// The last reply of a model at or below a path.
    pub(crate) fn last_reply_within(&self, path: &Path) -> Option<&Entry> {
        let replies = self.slots().filter_map(|slot| slot.finished).filter(|entry| is_reply(entry));
        replies.filter(|entry| entry.path.is_within(path)).max_by_key(|entry| entry.seq)
    }

    /// The latest entry of every effect at or below a path, in no particular order.
    pub(crate) fn known_within<'a, 'p>(
        &'a self,
        path: &'p Path,
    ) -> impl Iterator<Item = &'a Entry> + use<'a, 'p> {
        let latest = self.slots().filter_map(|slot| slot.finished.or(slot.started));
        latest.filter(move |entry| entry.path.is_within(path))
    }

    /// What became of a call of a model before it was made anew, in order: failures, and replies that the run could not use.
    pub(crate) fn superseded_calls<'a, 'p>(
        &'a self,
        path: &'p Path,
        ordinal: u32,
    ) -> impl Iterator<Item = &'a Entry> + use<'a, 'p> {
        let calls = self.superseded.iter().filter_map(|place| self.entries.get(place.get() as usize - 1));
        calls.filter(move |entry| entry.ordinal == ordinal && entry.path == *path)
    }

    fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        let effects = self.paths.values().flat_map(|effects| effects.from(0).chain(&effects.timeout));
        effects.map(|places| self.slot(places))
    }
}

fn is_reply(entry: &Entry) -> bool {
    entry.has_succeeded() && entry.effect == EffectKind::Model
}

fn failed(entry: &Entry) -> bool {
    // A time-out is a failure by itself; other decisions are not.
    entry.has_failed() && (entry.effect != EffectKind::Decision || entry.is_step_timeout())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Labels, Timestamp};

    fn entry(ordinal: u32) -> Entry {
        Entry {
            seq: 1,
            path: Path::from("main"),
            ordinal,
            effect: EffectKind::Now,
            phase: Phase::Finished,
            digest: Digest::of_parts(&[]),
            at: Timestamp::from_micros(0),
            request: None,
            outcome: None,
            labels: Labels::default(),
        }
    }

    /// Found by fuzzing: one row of a damaged journal took all memory there is.
    #[test]
    fn an_ordinal_far_from_all_others_is_known_and_takes_no_room() {
        let far = STEP_TIMEOUT - 1;
        let index = JournalIndex::new([0, far, 1, 2].map(entry).into());
        let main = Path::from("main");
        assert!(index.paths[&main].by_ordinal.capacity() < LARGEST_GAP);
        let known = |ordinal| index.get(&main, ordinal).is_some_and(|slot| slot.finished.is_some());
        assert!([0, 1, 2, far].map(known).into_iter().all(|is_known| is_known));
        assert!(!known(3) && index.knows_from(&main, 3) && !index.knows_from(&main, STEP_TIMEOUT));
        assert_eq!((index.slots_at(&main).count(), index.unused()), (4, 4));
    }

    #[test]
    fn what_was_far_is_still_known_when_the_others_come_to_it() {
        let far = LARGEST_GAP as u32;
        let numbers: Vec<u32> = std::iter::once(far).chain(0..far).collect();
        let index = JournalIndex::new(numbers.into_iter().map(entry).collect());
        let slot = index.get(&Path::from("main"), far).expect("it is known");
        assert_eq!(slot.finished.map(|entry| entry.ordinal), Some(far));
        assert_eq!(index.unused(), LARGEST_GAP + 1);
    }

    /// An entry of an effect with this outcome.
    fn of(effect: EffectKind, phase: Phase, path: &str, outcome: &'static str, seq: u64) -> Entry {
        let outcome = (!outcome.is_empty()).then(|| outcome.as_bytes().into());
        Entry { seq, path: Path::from(path), effect, phase, outcome, ..entry(0) }
    }

    #[test]
    fn what_was_superseded_is_not_known_until_it_is_made_anew() {
        use EffectKind::Model;
        let past = [
            of(Model, Phase::Finished, "main/a", "{\"ok\":1}", 7),
            of(Model, Phase::Superseded, "main/a", "", 8),
        ];
        let index = JournalIndex::new(past.to_vec());
        let (main, a, b) = (Path::from("main"), Path::from("main/a"), Path::from("main/b"));
        assert!(!index.knows_from(&a, 0) && !index.knows_within(&main) && index.paths().next().is_none());
        let anew = of(Model, Phase::Finished, "main/a", "{\"ok\":2}", 9);
        let index = JournalIndex::new(past.into_iter().chain([anew]).collect());
        assert!(index.knows_from(&a, 0) && index.knows_within(&main) && index.paths().eq([&a]));
        assert!(!index.knows_within(&b) && !index.knows_from(&a, 1));
        assert_eq!((index.first_number(), JournalIndex::default().first_number()), (Some(7), None));
    }

    #[test]
    fn the_last_reply_is_the_last_success_of_a_model_at_or_below_a_path() {
        use EffectKind::{Model, Tool};
        let index = JournalIndex::new(vec![
            of(Model, Phase::Finished, "main/a", "{\"ok\":1}", 1),
            of(Model, Phase::Finished, "main/a/b", "{\"ok\":1}", 2),
            of(Model, Phase::Finished, "main/a/c", "{\"err\":{}}", 3),
            of(Tool, Phase::Finished, "main/a/d", "{\"ok\":1}", 4),
            of(Model, Phase::Finished, "main/e", "{\"ok\":1}", 5),
        ]);
        let last = |path: &str| index.last_reply_within(&Path::from(path)).map(|entry| entry.seq);
        assert_eq!((last("main/a"), last("main"), last("main/a/c")), (Some(2), Some(5), None));
    }
}
