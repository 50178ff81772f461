//! Events worked out from a journal alone, for showing a run whose workflow is not known here.
//!
//! A journal has effects and no steps: of these, it is known which ones were declared, and that one has begun when something was
//! done in it. Whoever knows the workflow is told more by subscribing to the run.

use std::collections::HashSet;

use convoke_core::{Event, EventKind, ModelCallEnd, Path, Phase, RunId, Timestamp};

use crate::progress::NodeKind;
use crate::{Detail, History, TimelineEntry};

/// The events that follow from the entries after this one.
pub(super) fn after(history: &History, seq: u64) -> Vec<Event> {
    let record = &history.record;
    let mut events = Vec::new();
    let mut add = |path: Path, at: Timestamp, kind: EventKind| {
        let (run, seq) = (record.id.clone(), events.len() as u64 + 1);
        events.push(Event { run, seq, path, at, replayed: false, position: None, kind });
    };
    if seq == 0 {
        let kind = EventKind::RunStarted { workflow: record.workflow.clone(), resumed: false };
        add(Path::from(""), record.created, kind);
    }
    let mut begun = HashSet::new();
    for moment in history.timeline() {
        let is_new = moment.seq > seq;
        for stop in history.steps.along(&moment.effect.path) {
            let Some(kind) = stop.kind.filter(|kind| NodeKind::named(kind).is_some()) else { continue };
            if begun.insert(stop.path.to_owned()) && is_new {
                // Most effects have an entry at their end only, which says when they began.
                let began = moment.attempt.began.unwrap_or(moment.at);
                add(Path::from(stop.path), began, EventKind::StepStarted { kind: kind.to_owned() });
            }
        }
        if is_new {
            for kind in kinds(&record.id, &moment) {
                add(moment.effect.path.clone(), moment.at, kind);
            }
        }
    }
    events
}

/// What an entry says.
fn kinds(run: &RunId, moment: &TimelineEntry<'_>) -> Vec<EventKind> {
    let attempt = moment.attempt;
    let id = attempt.first_seq().to_string();
    match (&attempt.detail, moment.phase) {
        (Detail::Model { reply, .. }, Phase::Finished) => {
            let end = match (reply, &attempt.error) {
                (Some(reply), _) => ModelCallEnd::Replied {
                    model: reply.model.clone(),
                    finish: reply.finish,
                    request_id: reply.request_id.clone(),
                    message: None,
                },
                (None, Some(error)) => {
                    ModelCallEnd::Failed { error: error.to_string(), kind: "model".to_owned() }
                }
                (None, None) => ModelCallEnd::Dropped,
            };
            vec![EventKind::ModelCallEnded { id, usage: attempt.usage(), end }]
        }
        (Detail::Tool { tool, arguments, .. }, Phase::Started) => called(id, tool, arguments.to_string()),
        (Detail::Tool { tool, arguments, result }, Phase::Finished) => {
            // A call that is safe to repeat is written down when it ends.
            let mut kinds = match attempt.begun {
                Some(_) => Vec::new(),
                None => called(id.clone(), tool, arguments.to_string()),
            };
            let failed = attempt.error.as_ref().map(|error| (error.to_string(), true));
            let given = result.as_ref().map(|result| (result.content.clone(), result.is_error));
            kinds.extend(failed.or(given).map(|(content, is_error)| EventKind::ToolCallResult {
                id: id.clone(),
                content,
                is_error,
            }));
            kinds.push(EventKind::ToolCallEnded { id });
            kinds
        }
        (Detail::Ask { question, .. }, Phase::Started) => {
            vec![EventKind::QuestionAsked { id: moment.effect.key(run), question: (**question).clone() }]
        }
        (Detail::Ask { answer: Some(answer), .. }, Phase::Finished) => {
            vec![EventKind::QuestionAnswered { id: moment.effect.key(run), answer: answer.clone() }]
        }
        _ => Vec::new(),
    }
}

fn called(id: String, tool: &str, arguments: String) -> Vec<EventKind> {
    vec![
        EventKind::ToolCallStarted { id: id.clone(), tool: tool.to_owned(), message: None },
        EventKind::ToolCallArguments { id: id.clone(), delta: arguments },
        EventKind::ToolCallExecuting { id },
    ]
}
