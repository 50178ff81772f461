//! A run's record as one JSON document.

use convoke_history::{Happening, History, Resumption, Spent, What};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Filter, Told};
use crate::gist::Gist;
use crate::render::taken_up;
use crate::session::Session;
use crate::view::{EndingView, EntryView, QuestionView, RunView, dollars, known, seconds, time};

/// A run's record.
#[derive(Serialize)]
pub(crate) struct RecordView<'a> {
    run: RunView<'a>,
    /// How often somebody took the run up, its beginning included.
    taken_up: u64,
    input: Value,
    /// What it was given, without what is kept to resume it.
    inputs: Map<String, Value>,
    /// What it came to, as text.
    result: Option<String>,
    events: Vec<EventView<'a>>,
    ending: Option<EndingView<'a>>,
    questions: Vec<QuestionView<'a>>,
}

/// Something that happened.
#[derive(Serialize)]
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
#[derive(Serialize)]
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
    pub(crate) fn new(
        session: &Session<'_>,
        history: &'a History,
        account: &[Told<'a>],
        filter: &Filter,
    ) -> Self {
        let mut prompts = history.conversations.prompts();
        let mut events = Vec::with_capacity(account.len());
        for told in account {
            let is_kept = filter.keeps(told);
            for happening in &told.happenings {
                // Also of what is left out, so that a prompt is told by the call that had it first.
                let entry = match &happening.what {
                    What::Entry(moment) => Some(EntryView::new(history, moment, &mut prompts)),
                    _ => None,
                };
                if is_kept {
                    events.push(EventView::new(history, told, happening, entry));
                }
            }
        }
        let Gist { inputs, result, .. } = Gist::of(history);
        Self {
            run: RunView::new(&history.record, (&history.spent()).into(), session.now),
            taken_up: taken_up(&history.record),
            input: serde_json::from_slice(&history.record.input).unwrap_or_default(),
            inputs,
            result,
            events,
            ending: history.ending.as_ref().map(EndingView::from),
            questions: history.questions.iter().map(|open| QuestionView::new(open, session.now)).collect(),
        }
    }
}

impl<'a> EventView<'a> {
    fn new(
        history: &History,
        told: &Told<'_>,
        happening: &Happening<'_>,
        entry: Option<EntryView<'a>>,
    ) -> Self {
        let (event, reason) = match happening.what {
            What::Began if history.record.forked_from.is_some() => ("forked", None),
            What::Began => ("started", None),
            What::Resumed(Resumption::AfterFailure) => ("resumed", Some("failure")),
            What::Resumed(_) => ("resumed", Some("interruption")),
            What::Entry(_) => ("entry", None),
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
            about: told.kinds.iter().map(|kind| kind.name()).collect(),
            entry,
            so_far: (&happening.so_far).into(),
        }
    }
}
