//! What a well-formed stream of events is.
#![allow(clippy::collapsible_match, reason = "a guard should not change anything")]

use std::collections::{BTreeMap, HashMap};

use convoke::core::Path;
use convoke::prelude::*;

/// Panics if a stream breaks a promise.
pub(crate) fn well_formed(events: &[Event]) {
    let fail = |event: &Event, problem: &str| -> ! { panic!("{problem}: {event:?}\nin {events:#?}") };
    let mut open: HashMap<Path, bool> = HashMap::new();
    let mut spans: HashMap<String, Path> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        if event.seq != index as u64 + 1 {
            fail(event, "numbers have a gap");
        }
        let last = index + 1 == events.len();
        if matches!(event.kind, EventKind::RunEnded(_)) != last {
            fail(event, "the end of the run is not exactly the last event");
        }
        if matches!(event.kind, EventKind::RunStarted { .. }) != (index == 0) {
            fail(event, "the beginning of the run is not exactly the first event");
        }
        let closed_above =
            open.iter().any(|(path, is_open)| !is_open && event.path != *path && event.path.is_within(path));
        if closed_above {
            fail(event, "something happened below a step that was over");
        }
        match &event.kind {
            EventKind::RunContinued { .. } => {
                if open.values().any(|is_open| *is_open) || !spans.is_empty() {
                    fail(event, "something of the generation before is still open");
                }
                open.clear();
            }
            EventKind::StepStarted { .. } => {
                if open.insert(event.path.clone(), true).is_some() {
                    fail(event, "a path was used twice");
                }
            }
            EventKind::StepEnded(_) => {
                if open.insert(event.path.clone(), false) != Some(true) {
                    fail(event, "a step ended that was not open");
                }
                if open.iter().any(|(path, is_open)| *is_open && path.is_within(&event.path)) {
                    fail(event, "a step ended before a step within it");
                }
                if spans.values().any(|path| path.is_within(&event.path)) {
                    fail(event, "a step ended before a message or call within it");
                }
            }
            EventKind::MessageStarted { id, .. } | EventKind::ToolCallStarted { id, .. } => {
                if spans.insert(id.clone(), event.path.clone()).is_some() {
                    fail(event, "an id was used twice");
                }
            }
            EventKind::MessageDelta { id, .. } if !spans.contains_key(id) => {
                fail(event, "more of a message that is not open");
            }
            EventKind::MessageEnded { id, .. } | EventKind::ToolCallEnded { id } => {
                if spans.remove(id).is_none() {
                    fail(event, "a message or call ended that was not open");
                }
            }
            EventKind::StateDelta { patch } if patch.as_array().is_none_or(Vec::is_empty) => {
                fail(event, "an empty change of the state");
            }
            _ => {}
        }
    }
    assert!(open.values().all(|is_open| !is_open), "steps were left open in {events:#?}");
    assert!(spans.is_empty(), "messages or calls were left open in {events:#?}");
}

/// Events as two runs of the same workflow must share them: by path, without times and numbers, with each message in one
/// piece. Branches may interleave differently; the order along each path may not differ.
pub(crate) fn normalised(events: &[Event]) -> BTreeMap<String, Vec<String>> {
    let mut by_path: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut texts: HashMap<String, String> = HashMap::new();
    // A branch that was not needed in the end is not gone into again on replay.
    let abandoned: Vec<&Path> =
        events.iter().filter(|event| is_abandoned(event)).map(|event| &event.path).collect();
    // What interceptors ask is told when they ask it, and not again when the journal answers what they asked about.
    let counts = |event: &&Event| {
        !abandoned.iter().any(|path| event.path.is_within(path))
            && !event.path.segments().any(|segment| segment.starts_with("interceptors"))
    };
    for event in events.iter().filter(counts) {
        let told = match &event.kind {
            // Whether a run was resumed, and what it cost in all, is about the run and not about what happened in it.
            EventKind::RunStarted { .. } | EventKind::RunContinued { .. } | EventKind::RunEnded(_) => {
                continue;
            }
            EventKind::MessageStarted { model, .. } => format!("message by {model}"),
            EventKind::MessageDelta { id, text } => {
                texts.entry(id.clone()).or_default().push_str(text);
                continue;
            }
            EventKind::MessageEnded { id, finish, .. } => {
                format!("said {:?}, then {finish:?}", texts.remove(id).unwrap_or_default())
            }
            // Their ids are made of the run's.
            EventKind::ModelCallStarted(call) => format!("{} is called", call.model),
            EventKind::ModelCallEnded { usage, end, .. } => format!("call ended {usage:?} {end:?}"),
            EventKind::QuestionAsked { question, .. } => format!("asked {}", question.title),
            EventKind::QuestionAnswered { answer, .. } => format!("answered {:?}", answer.decision),
            // Waits differ by chance: jitter follows from the run's seed, which a fork shares, so they do not.
            other => format!("{other:?}"),
        };
        by_path.entry(event.path.as_str().to_owned()).or_default().push(told);
    }
    by_path
}

fn is_abandoned(event: &Event) -> bool {
    matches!(&event.kind, EventKind::StepEnded(StepEnd::Suspended | StepEnd::Interrupted { .. }))
}
