//! The items of an account: one for each thing that happened.

use convoke_core::{EffectKind, Phase, RunStatus, Timestamp};

use super::facts::{came_of_it, circumstances};
use super::{EffectRenderer, EffectSide, Gist, ItemKind, TextBlock, unfinished};
use crate::{
    ChronicleEntry, ChronicleEvent, Detail, DisplayStatus, History, Resumption, TimelineEntry, Tone, human,
};

/// An item of an account: something that happened, with its texts.
#[derive(Debug)]
#[non_exhaustive]
pub struct RecordItem<'a> {
    /// What happened. An effect's beginning and end are told together if nothing happened in between.
    pub happenings: Vec<ChronicleEntry<'a>>,
    /// What it is about, the main thing first.
    pub kinds: Vec<ItemKind>,
    /// What happened, in a word or two.
    pub title: String,
    /// How that looks.
    pub tone: Tone,
    /// How long it took, what it cost.
    pub facts: Vec<(Tone, String)>,
    /// What was asked, said and given.
    pub blocks: Vec<TextBlock>,
}

/// Returns the items of a run, up to and including the entry with the number `until`.
#[must_use]
pub fn record_items<'a>(history: &'a History, gist: &Gist, until: Option<u64>) -> Vec<RecordItem<'a>> {
    let happenings = up_to(history, until);
    let mut renderer = EffectRenderer::new(history);
    let mut items: Vec<RecordItem<'a>> = Vec::with_capacity(happenings.len());
    let mut rest = happenings.into_iter().peekable();
    while let Some(happening) = rest.next() {
        let end = rest.next_if(|next| is_end_of(next, &happening));
        items.push(match happening.event {
            ChronicleEvent::Entry(moment) => entry(history, &mut renderer, happening, moment, end),
            _ => milestone(history, gist, happening),
        });
    }
    items
}

/// What happened up to and including the entry with the number `until`.
pub(super) fn up_to(history: &History, until: Option<u64>) -> Vec<ChronicleEntry<'_>> {
    let mut happenings = history.chronicle();
    if let Some(until) = until {
        let is_last = |happening: &ChronicleEntry<'_>| seq(happening) == Some(until);
        let length = happenings.iter().position(is_last).map_or(0, |index| index + 1);
        happenings.truncate(length);
    }
    happenings
}

fn seq(happening: &ChronicleEntry<'_>) -> Option<u64> {
    match happening.event {
        ChronicleEvent::Entry(moment) => Some(moment.seq),
        _ => None,
    }
}

fn is_end_of(next: &ChronicleEntry<'_>, first: &ChronicleEntry<'_>) -> bool {
    match (first.event, next.event) {
        (ChronicleEvent::Entry(begin), ChronicleEvent::Entry(end)) => {
            begin.phase == Phase::Started
                && end.phase == Phase::Finished
                && std::ptr::eq(begin.attempt, end.attempt)
        }
        _ => false,
    }
}

impl RecordItem<'_> {
    /// The numbers of its entries: `#3`, `#3–4`; nothing if it has none.
    #[must_use]
    pub fn number(&self) -> String {
        let mut numbers = self.happenings.iter().filter_map(seq);
        match (numbers.next(), numbers.next()) {
            (Some(first), Some(last)) => format!("#{first}–{last}"),
            (Some(only), None) => format!("#{only}"),
            _ => String::new(),
        }
    }

    /// The number of its first entry.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        self.happenings.iter().find_map(seq)
    }

    /// The first of what happened.
    fn first(&self) -> &ChronicleEntry<'_> {
        &self.happenings[0]
    }

    /// The entry it is about; the run itself has none.
    #[must_use]
    pub fn moment(&self) -> Option<TimelineEntry<'_>> {
        match self.first().event {
            ChronicleEvent::Entry(moment) => Some(moment),
            _ => None,
        }
    }

    /// Returns when it began; if that is not known, or if only its end is told, when it ended.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        let first = self.first();
        match first.event {
            ChronicleEvent::Entry(TimelineEntry { phase: Phase::Finished, attempt, .. })
                if attempt.begun.is_none() =>
            {
                attempt.began.unwrap_or(first.at)
            }
            _ => first.at,
        }
    }

    /// The same from the beginning of the run: `+1.2 s`. The past of a fork was before.
    #[must_use]
    pub fn since(&self, history: &History) -> String {
        let (at, began) = (self.at(), history.record.created);
        if at < began {
            format!("−{}", human::duration(began.since(at)))
        } else {
            format!("+{}", human::duration(at.since(began)))
        }
    }

    /// Returns whether it is about this, among other things.
    #[must_use]
    pub fn is_about(&self, kind: ItemKind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// The run itself: where it began, was taken up again and ended.
fn milestone<'a>(history: &'a History, gist: &Gist, happening: ChronicleEntry<'a>) -> RecordItem<'a> {
    let record = &history.record;
    let kinds = ItemKind::all_of(history, &happening.event);
    let mut item = RecordItem {
        happenings: vec![happening],
        kinds,
        title: String::new(),
        tone: Tone::Strong,
        facts: Vec::new(),
        blocks: Vec::new(),
    };
    match happening.event {
        ChronicleEvent::Began => {
            item.title = match &record.forked_from {
                Some(fork) => format!("forked from {} at #{}", fork.run, fork.at),
                None => "started".to_owned(),
            };
            item.facts.push((Tone::Faint, human::moment(record.created)));
        }
        ChronicleEvent::Resumed(why) => {
            item.tone = Tone::Caution;
            let (after, again) = match why {
                Resumption::AfterFailure => ("a failure", "what failed is done again"),
                _ => ("an interruption", "what has no end is done again"),
            };
            item.title = format!("resumed after {after}");
            item.facts.push((Tone::Faint, again.to_owned()));
        }
        _ => {
            let status = DisplayStatus::of(record);
            item.tone = status.tone();
            item.title = status.name().to_owned();
            item.facts.push((
                Tone::Plain,
                format!("after {}", human::duration(record.updated.since(record.created))),
            ));
            if let Some(error) = history.ending.as_ref().and_then(|ending| ending.error.as_ref()) {
                let label = if record.status == RunStatus::Suspended { "reason" } else { "error" };
                item.blocks.push(TextBlock::new(label, error.clone()).toned(item.tone));
            }
            item.blocks.extend(gist.result_block());
            for path in history.ending.iter().flat_map(|ending| &ending.failed_at) {
                item.blocks.push(TextBlock::new("at", path.to_string()));
            }
        }
    }
    item
}

/// An effect: its beginning, its end, or both.
fn entry<'a>(
    history: &'a History,
    renderer: &mut EffectRenderer<'_>,
    happening: ChronicleEntry<'a>,
    moment: TimelineEntry<'a>,
    end: Option<ChronicleEntry<'a>>,
) -> RecordItem<'a> {
    let last =
        end.and_then(|end| if let ChronicleEvent::Entry(moment) = end.event { Some(moment) } else { None });
    let last = last.unwrap_or(moment);
    let side = match moment.phase {
        Phase::Started if end.is_some() => Some(EffectSide::Both),
        Phase::Started => Some(EffectSide::Asked),
        Phase::Finished if moment.attempt.begun.is_some() => Some(EffectSide::Given),
        Phase::Finished => Some(EffectSide::Both),
        Phase::Superseded => None,
    };
    let so_far = end.unwrap_or(happening).so_far;
    let mut facts = circumstances(history, &moment);
    if last.phase == Phase::Finished {
        facts.extend(came_of_it(history, last.attempt, &so_far));
    } else if last.phase == Phase::Started && last.attempt.ended.is_none() {
        facts.push(if last.number == last.effect.attempts.len() {
            unfinished(history, last.effect)
        } else {
            (Tone::Caution, "interrupted".to_owned())
        });
    }
    RecordItem {
        kinds: ItemKind::all_of(history, &end.unwrap_or(happening).event),
        title: title(&moment, side),
        tone: Tone::Plain,
        facts,
        blocks: side.map(|side| renderer.render(moment.effect, moment.attempt, side)).unwrap_or_default(),
        happenings: std::iter::once(happening).chain(end).collect(),
    }
}

fn title(moment: &TimelineEntry<'_>, side: Option<EffectSide>) -> String {
    if let Detail::Continue { generation } = moment.attempt.detail {
        return format!("continued with generation {generation}");
    }
    let kind = ItemKind::of(moment.effect.kind).name();
    let verb = match (side, moment.effect.kind) {
        (None, _) => " no longer counts: it is to be done again",
        (Some(EffectSide::Asked), EffectKind::Ask) => " asked",
        (Some(EffectSide::Asked), _) => " begins",
        (Some(EffectSide::Given), EffectKind::Ask) => " answered",
        (Some(EffectSide::Given), _) => " ends",
        (Some(EffectSide::Both), _) => "",
    };
    format!("{kind}{verb}")
}
