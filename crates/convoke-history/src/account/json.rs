//! A run's record as one JSON document.

use convoke_core::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Filter, Gist, RecordItem};
use crate::json::{EndingView, EntryView, QuestionView, RunView, dollars, known, seconds, time};
use crate::{ChronicleEntry, ChronicleEvent, History, Resumption, Spent};

/// A run's record, as a document.
#[derive(Debug, Serialize)]
pub struct RecordView<'a> {
    run: RunView<'a>,
    /// How often somebody took the run up, its beginning included.
    taken_up: u64,
    input: Value,
    /// What it was given, without what is kept to resume it.
    inputs: &'a Map<String, Value>,
    /// What it came to, as text.
    result: Option<String>,
    events: Vec<EventView<'a>>,
    ending: Option<EndingView<'a>>,
    questions: Vec<QuestionView<'a>>,
}

/// Something that happened.
#[derive(Debug, Serialize)]
struct EventView<'a> {
    event: &'static str,
    at: String,
    /// From the beginning of the run; negative for what a fork has from another.
    since_start_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// What it is about.
    about: Vec<&'static str>,
    #[serde(flatten)]
    entry: Option<EntryView<'a>>,
    so_far: SoFarView,
}

/// What the run had spent after something happened.
#[derive(Debug, Serialize)]
struct SoFarView {
    tokens: u64,
    /// `null` if any part of it is unknown.
    cost_usd: Option<f64>,
    known_cost_usd: Option<f64>,
}

impl From<&Spent> for SoFarView {
    fn from(spent: &Spent) -> Self {
        Self {
            tokens: spent.usage.total_tokens(),
            cost_usd: spent.whole_cost().map(dollars),
            known_cost_usd: known(spent.whole_cost(), spent.usage.cost),
        }
    }
}

impl<'a> RecordView<'a> {
    /// The record of a run, as far as the filter keeps it.
    #[must_use]
    pub fn new(
        history: &'a History,
        gist: &'a Gist,
        items: &[RecordItem<'a>],
        filter: &Filter,
        now: Timestamp,
    ) -> Self {
        let mut prompts = history.conversations.prompts();
        let mut events = Vec::with_capacity(items.len());
        for item in items {
            let is_kept = filter.keeps(item);
            for happening in &item.happenings {
                // Also of what is left out, so that a prompt is told by the call that had it first.
                let entry = match &happening.event {
                    ChronicleEvent::Entry(moment) => Some(EntryView::new(history, moment, &mut prompts)),
                    _ => None,
                };
                if is_kept {
                    events.push(EventView::new(history, item, happening, entry));
                }
            }
        }
        Self {
            run: RunView::new(&history.record, (&history.spent()).into(), now),
            taken_up: gist.times_taken_up(&history.record),
            input: serde_json::from_slice(&history.record.input).unwrap_or_default(),
            result: gist.result_text(),
            inputs: &gist.inputs,
            events,
            ending: history.ending.as_ref().map(EndingView::from),
            questions: history.questions.iter().map(|open| QuestionView::new(open, now)).collect(),
        }
    }
}

impl<'a> EventView<'a> {
    fn new(
        history: &History,
        item: &RecordItem<'_>,
        happening: &ChronicleEntry<'_>,
        entry: Option<EntryView<'a>>,
    ) -> Self {
        let (event, reason) = match happening.event {
            ChronicleEvent::Began if history.record.forked_from.is_some() => ("forked", None),
            ChronicleEvent::Began => ("started", None),
            ChronicleEvent::Resumed(Resumption::AfterFailure) => ("resumed", Some("failure")),
            ChronicleEvent::Resumed(_) => ("resumed", Some("interruption")),
            ChronicleEvent::Entry(_) => ("entry", None),
            _ => ("ended", None),
        };
        let (at, began) = (happening.at, history.record.created);
        Self {
            event,
            at: time(at),
            since_start_seconds: if at < began {
                -seconds(began.since(at))
            } else {
                seconds(at.since(began))
            },
            reason,
            about: item.kinds.iter().map(|kind| kind.name()).collect(),
            entry,
            so_far: (&happening.so_far).into(),
        }
    }
}
