//! The chronicle of a run: everything that happened, in order, with what had been spent by then.

use super::{Attempt, History, Spent, TimelineEntry};
use convoke_core::{Phase, RunStatus, Timestamp};

/// An entry of the chronicle.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ChronicleEntry<'a> {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: ChronicleEvent<'a>,
    /// What the run had spent after it.
    pub so_far: Spent,
}

/// The kinds of events in a chronicle.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ChronicleEvent<'a> {
    /// The run was made, anew or out of another one's past. That past comes before.
    Began,
    /// The run was taken up again. A journal shows this only where something had to be done anew: a run that waited
    /// for an answer leaves no trace but the answer.
    Resumed(Resumption),
    /// An effect began, ended, or no longer counts.
    Entry(TimelineEntry<'a>),
    /// The run ended, or waits for answers.
    Ended,
}

/// The reason why a run had to be taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resumption {
    /// Something had failed.
    AfterFailure,
    /// Something was begun whose end was never written down.
    AfterInterruption,
}

/// Everything that happened. One pass over the journal.
pub(super) fn of(history: &History) -> Vec<ChronicleEntry<'_>> {
    let moments = history.timeline();
    // The past of a fork was before it began.
    let own = moments.partition_point(|moment| history.is_inherited(moment.mark()));
    let mut chronicle =
        Chronicle { happenings: Vec::with_capacity(moments.len() + 2), ..Chronicle::default() };
    for moment in &moments[..own] {
        chronicle.add(*moment);
    }
    chronicle.push(history.record.created, ChronicleEvent::Began);
    for moment in &moments[own..] {
        chronicle.add(*moment);
    }
    if history.record.status != RunStatus::Running {
        chronicle.push(history.record.updated, ChronicleEvent::Ended);
    }
    chronicle.happenings
}

#[derive(Default)]
struct Chronicle<'a> {
    happenings: Vec<ChronicleEntry<'a>>,
    so_far: Spent,
    /// The number of the entry with which the run was last taken up again.
    resumed: u64,
}

impl<'a> Chronicle<'a> {
    fn push(&mut self, at: Timestamp, event: ChronicleEvent<'a>) {
        self.happenings.push(ChronicleEntry { at, event, so_far: self.so_far });
    }

    fn add(&mut self, moment: TimelineEntry<'a>) {
        if let Some((left_off, why)) = left_off(&moment)
            // What was left off before the run was last taken up is done anew as part of that.
            && left_off > self.resumed
        {
            self.push(moment.at, ChronicleEvent::Resumed(why));
            self.resumed = moment.seq;
        }
        if settles(&moment) {
            self.so_far += moment.attempt.spent(moment.effect.kind);
        }
        self.push(moment.at, ChronicleEvent::Entry(moment));
    }
}

/// Where an effect had been left that is taken up again here.
fn left_off(moment: &TimelineEntry<'_>) -> Option<(u64, Resumption)> {
    let last_before = |attempt: &Attempt| attempt.ended.or(attempt.begun).map(|mark| mark.seq);
    match moment.phase {
        Phase::Superseded => {
            let why = match moment.attempt.ended {
                Some(_) => Resumption::AfterFailure,
                None => Resumption::AfterInterruption,
            };
            Some((last_before(moment.attempt)?, why))
        }
        Phase::Started | Phase::Finished => {
            let before = moment.effect.attempts.get(moment.number.checked_sub(2)?)?;
            let is_first = moment.seq == moment.attempt.first_seq();
            let is_open = before.is_interrupted() || (before.ended.is_none() && before.superseded.is_none());
            (is_first && is_open).then_some((last_before(before)?, Resumption::AfterInterruption))
        }
    }
}

/// Whether all an attempt spent is known with this entry: its end, or its beginning if it has no end.
fn settles(moment: &TimelineEntry<'_>) -> bool {
    match moment.phase {
        Phase::Finished => true,
        Phase::Started => moment.attempt.ended.is_none(),
        Phase::Superseded => moment.attempt.ended.is_none() && moment.attempt.begun.is_none(),
    }
}
