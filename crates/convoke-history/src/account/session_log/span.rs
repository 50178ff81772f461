//! Spans of goals and agents. The journal has no entries for that: they last from the first to the last of
//! what was done in them.

use std::collections::{BTreeMap, HashMap};

use convoke_core::Timestamp;

use crate::{ChronicleEntry, ChronicleEvent, History};

/// Where a goal or an agent begins and ends.
#[derive(Default)]
pub(super) struct Spans<'a> {
    /// By the number of the entry before which they begin: outermost first.
    pub(super) begin: BTreeMap<u64, Vec<Span<'a>>>,
    /// By the number of the entry after which they end: innermost first.
    pub(super) end: BTreeMap<u64, Vec<Span<'a>>>,
}

#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) path: &'a str,
    pub(super) name: &'a str,
    pub(super) is_agent: bool,
    pub(super) began: Timestamp,
}

/// Finds where goals and agents begin and end, in one pass.
pub(super) fn spans<'a>(history: &'a History, happenings: &[ChronicleEntry<'a>]) -> Spans<'a> {
    let mut open: HashMap<&str, (Span<'a>, u64, u64)> = HashMap::new();
    let mut order: Vec<&str> = Vec::new();
    for happening in happenings {
        let ChronicleEvent::Entry(moment) = happening.event else { continue };
        let mut is_in_goal = false;
        for stop in history.steps.along(&moment.effect.path) {
            let is_goal = matches!(stop.kind, Some("goal" | "convergence"));
            let is_agent = stop.kind == Some("agent") && is_in_goal;
            is_in_goal |= is_goal;
            if !is_goal && !is_agent {
                continue;
            }
            let began = moment.attempt.began.unwrap_or(happening.at);
            let span = Span { path: stop.path, name: stop.name, is_agent, began };
            open.entry(stop.path).and_modify(|(_, _, last)| *last = moment.seq).or_insert_with(|| {
                order.push(stop.path);
                (span, moment.seq, moment.seq)
            });
        }
    }
    let mut spans = Spans::default();
    for path in order {
        let (span, first, last) = open[path];
        spans.begin.entry(first).or_default().push(span);
        spans.end.entry(last).or_default().insert(0, span);
    }
    spans
}
