//! Events as short texts, and what holds for every stream of them.

use convoke_core::{Event, EventKind, RunEnd, StepEnd};

/// What happened, in a few words each.
pub(crate) fn told(events: &[Event]) -> Vec<String> {
    events.iter().filter(|event| !is_of_machinery(event)).map(words).collect()
}

/// Calls of models and agents as such, beside what they say.
fn is_of_machinery(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::ModelCallStarted(_) | EventKind::ModelCallEnded { .. } | EventKind::AgentStarted { .. }
    )
}

/// What happened to the steps, without the run itself.
pub(crate) fn told_of_steps(events: &[Event]) -> Vec<String> {
    let of_steps = events.iter().filter(|event| !event.path.as_str().is_empty() && !is_of_machinery(event));
    of_steps.map(words).collect()
}

/// The last event.
pub(crate) fn end(events: &[Event]) -> &RunEnd {
    match &events.last().unwrap().kind {
        EventKind::RunEnded(end) => end,
        other => panic!("the last event is not the end: {other:?}"),
    }
}

/// The steps that failed, each with its error, in the order they ended.
pub(crate) fn failures(events: &[Event]) -> Vec<(&str, &str)> {
    let failed = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepEnded(StepEnd::Failed { error }) => Some((event.path.as_str(), error.as_str())),
        _ => None,
    });
    failed.collect()
}

/// The failed steps that their parents went on without, each with its error.
pub(crate) fn skipped(events: &[Event]) -> Vec<(&str, &str)> {
    let skipped = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepSkipped { error } => Some((event.path.as_str(), error.as_str())),
        _ => None,
    });
    skipped.collect()
}

/// All that a model said, put together.
pub(crate) fn spoken(events: &[Event]) -> String {
    let deltas = events.iter().filter_map(|event| match &event.kind {
        EventKind::MessageDelta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

fn words(event: &Event) -> String {
    let what = match &event.kind {
        EventKind::RunStarted { .. } => "run started".to_owned(),
        EventKind::RunEnded(end) => format!("run {}", end.status),
        EventKind::StepStarted { .. } => "started".to_owned(),
        EventKind::StepEnded(StepEnd::Completed) => "completed".to_owned(),
        EventKind::StepEnded(StepEnd::Failed { .. }) => "failed".to_owned(),
        EventKind::StepEnded(StepEnd::Suspended) => "suspended".to_owned(),
        EventKind::StepEnded(StepEnd::Interrupted { .. }) => "interrupted".to_owned(),
        EventKind::StepSkipped { .. } => "skipped".to_owned(),
        EventKind::MessageStarted { .. } => "message started".to_owned(),
        EventKind::MessageDelta { text, .. } => format!("says {text:?}"),
        EventKind::MessageEnded { finish, .. } => {
            if finish.is_some() { "message ended" } else { "message cut off" }.to_owned()
        }
        EventKind::ToolCallStarted { tool, .. } => format!("call of {tool}"),
        EventKind::ToolCallArguments { delta, .. } => format!("call with {delta}"),
        EventKind::ToolCallExecuting { .. } => "call executing".to_owned(),
        EventKind::ToolCallEnded { .. } => "call ended".to_owned(),
        EventKind::ToolCallResult { content, is_error: false, .. } => format!("call gave {content}"),
        EventKind::ToolCallResult { content, is_error: true, .. } => format!("call failed: {content}"),
        EventKind::QuestionAsked { question, .. } => format!("asks {:?}", question.title),
        EventKind::QuestionAnswered { .. } => "is answered".to_owned(),
        EventKind::RouteSelected { route } => format!("route {route}"),
        EventKind::LoopIteration { iteration } => format!("round {iteration}"),
        EventKind::RetryAttempt { attempt } => format!("attempt {attempt}"),
        EventKind::RetryFailed { attempt, retryable: true, .. } => format!("attempt {attempt} failed"),
        EventKind::RetryFailed { attempt, .. } => format!("attempt {attempt} failed for good"),
        EventKind::RetryScheduled { attempt, delay } => format!("again {delay:?} after attempt {attempt}"),
        EventKind::RetrySucceeded { attempt } => format!("attempt {attempt} succeeded"),
        EventKind::RetryExhausted { attempts, .. } => format!("gave up after {attempts}"),
        EventKind::StateSnapshot { state } => format!("state {state}"),
        EventKind::StateDelta { patch } => format!("change {patch}"),
        other => format!("{other:?}"),
    };
    if event.path.as_str().is_empty() { what } else { format!("{} {what}", event.path.as_str()) }
}

/// Numbers have no gaps, what is started is ended (what is inside first), and one end of the run comes last.
pub(crate) fn must_be_well_formed(events: &[Event]) {
    let mut open: Vec<(String, String)> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.seq, index as u64 + 1, "numbers without gaps");
        let path = event.path.as_str().to_owned();
        match &event.kind {
            EventKind::RunStarted { .. } => assert_eq!(index, 0, "a run starts first, and once"),
            EventKind::RunEnded(_) => assert_eq!(index, events.len() - 1, "a run ends last, and once"),
            EventKind::StepStarted { .. } => {
                assert!(!open.contains(&(path.clone(), "step".into())), "{path} starts twice");
                open.push((path, "step".into()));
            }
            EventKind::StepEnded(_) => {
                let inside = |(other, what): &(String, String)| {
                    other.starts_with(&format!("{path}/")) || (*other == path && what != "step")
                };
                assert!(!open.iter().any(inside), "{path} ends before what is in it: {open:?}");
                close(&mut open, &path, "step");
            }
            EventKind::MessageStarted { id, .. } => open.push((path, format!("message {id}"))),
            EventKind::MessageEnded { id, .. } => close(&mut open, &path, &format!("message {id}")),
            EventKind::ToolCallStarted { id, .. } => open.push((path, format!("call {id}"))),
            EventKind::ToolCallEnded { id } => close(&mut open, &path, &format!("call {id}")),
            _ => {}
        }
    }
    assert!(open.is_empty(), "never ended: {open:?}");
    assert!(matches!(events.last().unwrap().kind, EventKind::RunEnded(_)));
}

fn close(open: &mut Vec<(String, String)>, path: &str, what: &str) {
    let found = open.iter().rposition(|(at, opened)| at == path && opened == what);
    open.remove(found.unwrap_or_else(|| panic!("{path} ends a {what} that was never started")));
}
