//! The time in which a scope waited for people and for mail, as far as the journal knows.
//!
//! Both say when they began and when they ended, so how long was waited follows from the entries there are, and from an instant
//! of the journal the same follows in every replay.

use std::time::Duration;

use super::{EffectKind, Entry, JournalIndex, Phase};
use crate::{Path, Timestamp};

/// The waits of a run since it was gone on with, which its index does not know.
#[derive(Debug, Default)]
pub(super) struct Waits(Vec<Wait>);

#[derive(Debug)]
struct Wait {
    path: Path,
    ordinal: u32,
    phase: Phase,
    at: Timestamp,
}

impl Waits {
    /// Takes note of an entry, if it is about a wait.
    pub(super) fn note(&mut self, entry: &Entry) {
        if is_wait(entry) && entry.phase != Phase::Superseded {
            let (path, ordinal) = (entry.path.clone(), entry.ordinal);
            self.0.push(Wait { path, ordinal, phase: entry.phase, at: entry.at });
        }
    }

    /// How long was waited at or below a path in waits that were over by then; what was waited for at once counts once. One that nobody
    /// waits for any longer never ends.
    pub(super) fn time(&self, index: &JournalIndex, path: &Path, until: Timestamp) -> Duration {
        let past = index.slots_within(path).filter_map(|slot| {
            let (begun, end) = (slot.started.filter(|entry| is_wait(entry))?, slot.finished?);
            Some((begun.at, end.at))
        });
        let ended = self.0.iter().filter(|wait| wait.phase == Phase::Finished && wait.path.is_within(path));
        let present = ended.filter_map(|end| Some((self.began(end, index)?, end.at)));
        let mut spans: Vec<(Timestamp, Timestamp)> =
            past.chain(present).filter(|(_, ended)| *ended <= until).collect();
        spans.sort_unstable();
        let (mut waited, mut counted) = (Duration::ZERO, Timestamp::default());
        for (began, ended) in spans {
            waited += ended.since(began.max(counted));
            counted = counted.max(ended);
        }
        waited
    }

    /// When a wait began that has ended.
    fn began(&self, end: &Wait, index: &JournalIndex) -> Option<Timestamp> {
        let is_same = |wait: &&Wait| wait.path == end.path && wait.ordinal == end.ordinal;
        let here = self.0.iter().filter(is_same).rfind(|wait| wait.phase == Phase::Started);
        let earlier = || index.get(&end.path, end.ordinal)?.started.map(|entry| entry.at);
        here.map(|wait| wait.at).or_else(earlier)
    }
}

fn is_wait(entry: &Entry) -> bool {
    matches!(entry.effect, EffectKind::Ask | EffectKind::Receive)
}
