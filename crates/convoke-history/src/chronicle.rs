//! The chronicle of a run: everything that happened, in order, with what had been spent by then.

use super::{Attempt, History, Moment, Spent};
use convoke_core::{Phase, RunStatus, Timestamp};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Happening<'a> {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What<'a>,
    /// What the run had spent after it.
    pub so_far: Spent,
}

/// What happened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum What<'a> {
    /// The run was made, anew or out of another one's past. That past comes before.
    Began,
    /// The run was taken up again. A journal shows this only where something had to be done anew: a run that waited
    /// for an answer leaves no trace but the answer.
    Resumed(Resumption),
    /// An effect began, ended, or no longer counts.
    Entry(Moment<'a>),
    /// The run ended, or waits for answers.
    Ended,
}

/// Why a run had to be taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resumption {
    /// Something had failed.
    AfterFailure,
    /// Something was begun whose end was never written down.
    AfterInterruption,
}

/// Everything that happened. One pass over the journal.
pub(super) fn of(history: &History) -> Vec<Happening<'_>> {
    let moments = history.timeline();
    // The past of a fork was before it began.
    let own = moments.partition_point(|moment| history.is_inherited(moment.mark()));
    let mut chronicle =
        Chronicle { happenings: Vec::with_capacity(moments.len() + 2), ..Chronicle::default() };
    for moment in &moments[..own] {
        chronicle.add(*moment);
    }
    chronicle.push(history.record.created, What::Began);
    for moment in &moments[own..] {
        chronicle.add(*moment);
    }
    if history.record.status != RunStatus::Running {
        chronicle.push(history.record.updated, What::Ended);
    }
    chronicle.happenings
}

#[derive(Default)]
struct Chronicle<'a> {
    happenings: Vec<Happening<'a>>,
    so_far: Spent,
    /// The number of the entry with which the run was last taken up again.
    resumed: u64,
}

impl<'a> Chronicle<'a> {
    fn push(&mut self, at: Timestamp, what: What<'a>) {
        self.happenings.push(Happening { at, what, so_far: self.so_far });
    }

    fn add(&mut self, moment: Moment<'a>) {
        if let Some((left_off, why)) = left_off(&moment)
            // What was left off before the run was last taken up is done anew as part of that.
            && left_off > self.resumed
        {
            self.push(moment.at, What::Resumed(why));
            self.resumed = moment.seq;
        }
        if settles(&moment) {
            self.so_far += moment.attempt.spent(moment.effect.kind);
        }
        self.push(moment.at, What::Entry(moment));
    }
}

/// Where an effect had been left that is taken up again here.
fn left_off(moment: &Moment<'_>) -> Option<(u64, Resumption)> {
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
            let is_open = before.ended.is_none() && before.superseded.is_none();
            (is_first && is_open).then_some((last_before(before)?, Resumption::AfterInterruption))
        }
    }
}

/// Whether all an attempt spent is known with this entry: its end, or its beginning if it has no end.
fn settles(moment: &Moment<'_>) -> bool {
    match moment.phase {
        Phase::Finished => true,
        Phase::Started => moment.attempt.ended.is_none(),
        Phase::Superseded => moment.attempt.ended.is_none() && moment.attempt.begun.is_none(),
    }
}
