//! An account of a run, one item for each thing that happened.

use convoke_core::{EffectKind, Phase, RunStatus, Timestamp};
use convoke_history::{Detail, Happening, History, Moment, Resumption, What};

use super::Kind;
use super::facts::{came_of_it, circumstances};
use crate::gist::Gist;
use crate::human;
use crate::render::{Block, Side, Teller, begun};
use crate::terminal::Ink;

/// Something that happened, with its texts.
pub(crate) struct Told<'a> {
    /// What happened. An effect's beginning and end are told together if nothing happened in between.
    pub(crate) happenings: Vec<Happening<'a>>,
    /// What it is about, the main thing first.
    pub(crate) kinds: Vec<Kind>,
    /// What happened, in a word or two.
    pub(crate) title: String,
    pub(crate) ink: Ink,
    /// How long it took, what it cost.
    pub(crate) facts: Vec<(Ink, String)>,
    pub(crate) blocks: Vec<Block>,
}

/// Tells what happened in a run, up to and including the entry with the number `until`.
pub(crate) fn tell(history: &History, until: Option<u64>) -> Vec<Told<'_>> {
    let happenings = up_to(history, until);
    let mut teller = Teller::new(history);
    let mut account: Vec<Told<'_>> = Vec::with_capacity(happenings.len());
    let mut rest = happenings.into_iter().peekable();
    while let Some(happening) = rest.next() {
        let end = rest.next_if(|next| is_end_of(next, &happening));
        account.push(match happening.what {
            What::Entry(moment) => entry(history, &mut teller, happening, moment, end),
            _ => milestone(history, happening),
        });
    }
    account
}

/// What happened up to and including the entry with the number `until`.
pub(super) fn up_to(history: &History, until: Option<u64>) -> Vec<Happening<'_>> {
    let mut happenings = history.chronicle();
    if let Some(until) = until {
        let is_last = |happening: &Happening<'_>| seq(happening) == Some(until);
        let length = happenings.iter().position(is_last).map_or(0, |index| index + 1);
        happenings.truncate(length);
    }
    happenings
}

fn seq(happening: &Happening<'_>) -> Option<u64> {
    match happening.what {
        What::Entry(moment) => Some(moment.seq),
        _ => None,
    }
}

fn is_end_of(next: &Happening<'_>, first: &Happening<'_>) -> bool {
    match (first.what, next.what) {
        (What::Entry(begin), What::Entry(end)) => {
            begin.phase == Phase::Started
                && end.phase == Phase::Finished
                && std::ptr::eq(begin.attempt, end.attempt)
        }
        _ => false,
    }
}

impl Told<'_> {
    /// The numbers of its entries: `#3`, `#3–4`; nothing if it has none.
    pub(crate) fn number(&self) -> String {
        let mut numbers = self.happenings.iter().filter_map(seq);
        match (numbers.next(), numbers.next()) {
            (Some(first), Some(last)) => format!("#{first}–{last}"),
            (Some(only), None) => format!("#{only}"),
            _ => String::new(),
        }
    }

    /// The number of its first entry.
    pub(crate) fn seq(&self) -> Option<u64> {
        self.happenings.iter().find_map(seq)
    }

    /// The first of what happened.
    fn first(&self) -> &Happening<'_> {
        &self.happenings[0]
    }

    /// The entry it is about; the run itself has none.
    pub(crate) fn moment(&self) -> Option<Moment<'_>> {
        match self.first().what {
            What::Entry(moment) => Some(moment),
            _ => None,
        }
    }

    /// When it began; if that is not known, or if only its end is told, when it ended.
    pub(crate) fn at(&self) -> Timestamp {
        let first = self.first();
        match first.what {
            What::Entry(Moment { phase: Phase::Finished, attempt, .. }) if attempt.begun.is_none() => {
                attempt.began.unwrap_or(first.at)
            }
            _ => first.at,
        }
    }

    /// The same from the beginning of the run: `+1.2 s`. The past of a fork was before.
    pub(crate) fn since(&self, history: &History) -> String {
        let (at, began) = (self.at(), history.record.created);
        if at < began {
            format!("−{}", human::duration(began.since(at)))
        } else {
            format!("+{}", human::duration(at.since(began)))
        }
    }

    pub(crate) fn is_about(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// The run itself: where it began, was taken up again and ended.
fn milestone<'a>(history: &'a History, happening: Happening<'a>) -> Told<'a> {
    let record = &history.record;
    let kinds = Kind::all_of(history, &happening.what);
    let mut told = Told {
        happenings: vec![happening],
        kinds,
        title: String::new(),
        ink: Ink::Strong,
        facts: Vec::new(),
        blocks: Vec::new(),
    };
    match happening.what {
        What::Began => {
            told.title = match &record.forked_from {
                Some(fork) => format!("forked from {} at #{}", fork.run, fork.at),
                None => "started".to_owned(),
            };
            told.facts.push((Ink::Faint, human::moment(record.created)));
        }
        What::Resumed(why) => {
            told.ink = Ink::Caution;
            let (after, again) = match why {
                Resumption::AfterFailure => ("a failure", "what failed is done again"),
                _ => ("an interruption", "what has no end is done again"),
            };
            told.title = format!("resumed after {after}");
            told.facts.push((Ink::Faint, again.to_owned()));
        }
        _ => {
            told.ink = Ink::of(record.status);
            told.title = record.status.name().to_owned();
            told.facts.push((
                Ink::Plain,
                format!("after {}", human::duration(record.updated.since(record.created))),
            ));
            if let Some(error) = history.ending.as_ref().and_then(|ending| ending.error.as_ref()) {
                let label = if record.status == RunStatus::Suspended { "reason" } else { "error" };
                told.blocks.push(Block::new(label, error.clone()).inked(told.ink));
            }
            told.blocks.extend(Gist::of(history).came_to());
            for path in history.ending.iter().flat_map(|ending| &ending.failed_at) {
                told.blocks.push(Block::new("at", path.to_string()));
            }
        }
    }
    told
}

/// An effect: its beginning, its end, or both.
fn entry<'a>(
    history: &'a History,
    teller: &mut Teller<'_>,
    happening: Happening<'a>,
    moment: Moment<'a>,
    end: Option<Happening<'a>>,
) -> Told<'a> {
    let last = end.and_then(|end| if let What::Entry(moment) = end.what { Some(moment) } else { None });
    let last = last.unwrap_or(moment);
    let side = match moment.phase {
        Phase::Started if end.is_some() => Some(Side::Both),
        Phase::Started => Some(Side::Asked),
        Phase::Finished if moment.attempt.begun.is_some() => Some(Side::Given),
        Phase::Finished => Some(Side::Both),
        Phase::Superseded => None,
    };
    let so_far = end.unwrap_or(happening).so_far;
    let mut facts = circumstances(history, &moment);
    if last.phase == Phase::Finished {
        facts.extend(came_of_it(history, last.attempt, &so_far));
    } else if last.phase == Phase::Started && last.attempt.ended.is_none() {
        facts.push(if last.number == last.effect.attempts.len() {
            begun(history, last.effect)
        } else {
            (Ink::Caution, "interrupted".to_owned())
        });
    }
    Told {
        kinds: Kind::all_of(history, &end.unwrap_or(happening).what),
        title: title(&moment, side),
        ink: Ink::Plain,
        facts,
        blocks: side.map(|side| teller.tell(moment.effect, moment.attempt, side)).unwrap_or_default(),
        happenings: std::iter::once(happening).chain(end).collect(),
    }
}

fn title(moment: &Moment<'_>, side: Option<Side>) -> String {
    if let Detail::Continue { generation } = moment.attempt.detail {
        return format!("continued with generation {generation}");
    }
    let kind = Kind::of(moment.effect.kind).name();
    let verb = match (side, moment.effect.kind) {
        (None, _) => " no longer counts: it is to be done again",
        (Some(Side::Asked), EffectKind::Ask) => " asked",
        (Some(Side::Asked), _) => " begins",
        (Some(Side::Given), EffectKind::Ask) => " answered",
        (Some(Side::Given), _) => " ends",
        (Some(Side::Both), _) => "",
    };
    format!("{kind}{verb}")
}
