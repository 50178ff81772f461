//! The timeline: the journal in order.

use super::{Attempt, Effect, EntryMark};
use convoke_core::{Phase, Timestamp};

/// An entry of the journal, and the effect it belongs to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TimelineEntry<'a> {
    /// The entry's number.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// Whether something began, ended or no longer counts.
    pub phase: Phase,
    /// The effect.
    pub effect: &'a Effect,
    /// Which time it was performed.
    pub attempt: &'a Attempt,
    /// The same as a number, from 1.
    pub number: usize,
}

impl TimelineEntry<'_> {
    /// The entry's number and time.
    #[must_use]
    pub fn mark(&self) -> EntryMark {
        EntryMark { seq: self.seq, at: self.at }
    }
}

pub(super) fn of(effects: &[Effect]) -> Vec<TimelineEntry<'_>> {
    let mut moments: Vec<TimelineEntry<'_>> = effects.iter().flat_map(moments_of).collect();
    moments.sort_by_key(|moment| moment.seq);
    moments
}

fn moments_of(effect: &Effect) -> impl Iterator<Item = TimelineEntry<'_>> {
    effect.attempts.iter().zip(1..).flat_map(move |(attempt, number)| {
        let phases = [
            (attempt.begun, Phase::Started),
            (attempt.ended, Phase::Finished),
            (attempt.superseded, Phase::Superseded),
        ];
        phases.into_iter().filter_map(move |(mark, phase)| {
            let EntryMark { seq, at } = mark?;
            Some(TimelineEntry { seq, at, phase, effect, attempt, number })
        })
    })
}
