//! One step of the machine.

use std::sync::Arc;

use jiff::Timestamp;

use super::compiled::Compiled;
use super::context::bytes_of;
use super::redirect::land;
use super::{
    Act, Command, Context, Options, Snapshot, Status, Transition, Transitioned, WorkflowError, WorkflowEvent,
};

/// The next context, and what happened. The context given stays as it is.
///
/// # Errors
/// Why nothing happened.
pub fn step(
    compiled: &Compiled,
    context: &Context,
    command: Command<'_>,
) -> Result<(Context, Vec<WorkflowEvent>), WorkflowError> {
    let mut next = context.clone();
    let events = advance(compiled, &mut next, command)?;
    Ok((next, events))
}

/// [`step`] in place, for whoever does not need the context from before: it copies nothing.
///
/// # Errors
/// Why nothing happened; the context is then as it was.
pub fn advance(
    compiled: &Compiled,
    context: &mut Context,
    command: Command<'_>,
) -> Result<Vec<WorkflowEvent>, WorkflowError> {
    match command.act {
        Act::Event(event) => transition(compiled, context, event, command.at),
        Act::SetArtifact { name, value } => set_artifact(compiled, context, name, value),
        Act::ToolCalls(calls) => {
            context.total_tool_calls = context.total_tool_calls.saturating_add(calls);
            Ok(Vec::new())
        }
        Act::Waited { since } => {
            let waited = u64::try_from(command.at.duration_since(since).as_millis()).unwrap_or(0);
            context.idle_ms = context.idle_ms.saturating_add(waited);
            Ok(Vec::new())
        }
        Act::Conclude(status) => conclude(context, status),
    }
}

/// Everything that can be refused comes first, so that what is refused has changed nothing.
fn transition(
    compiled: &Compiled,
    context: &mut Context,
    event: &str,
    at: Timestamp,
) -> Result<Vec<WorkflowEvent>, WorkflowError> {
    compiled.check_budget(context, at)?;
    if let Some(status) = context.concluded() {
        return Err(WorkflowError::Concluded { status });
    }
    let state = compiled.leaving(context, event)?;
    let (event, target) = state.target_of(event).ok_or_else(|| state.unknown_event(event))?;
    let (landing, redirect) = land(compiled, context, target, event)?;
    let happened = Transition {
        from: Arc::clone(&state.name),
        to: Arc::clone(&compiled.state(landing).name),
        event: Arc::clone(event),
        timestamp: at,
    };
    let transitioned = Transitioned {
        from: Arc::clone(&happened.from),
        to: Arc::clone(&happened.to),
        event: Arc::clone(event),
        redirect,
        host_extras: serde_json::Map::new(),
    };
    let visit = record(context, happened, compiled.options());
    let exited = WorkflowEvent::Exited { state: Arc::clone(&transitioned.from) };
    let entered = WorkflowEvent::Entered { state: Arc::clone(&transitioned.to), visit };
    Ok(vec![exited, WorkflowEvent::Transitioned(Box::new(transitioned)), entered])
}

/// Takes a transition down. Gives how often its state was entered by now.
fn record(context: &mut Context, happened: Transition, options: &Options) -> u64 {
    take_snapshot(context, &happened, options);
    let counts = context.visit_counts.get_or_insert_default();
    let visits = match counts.get_mut(&happened.to) {
        Some(visits) => visits,
        None => counts.entry(Arc::clone(&happened.to)).or_default(),
    };
    *visits += 1;
    context.total_visits += 1;
    context.current_state = Arc::clone(&happened.to);
    context.updated_at = happened.timestamp;
    if context.started_at == super::instant::unknown() {
        context.started_at = happened.timestamp;
    }
    let history = context.history.get_or_insert_default();
    while history.len() >= options.history.max(1) {
        history.pop_front();
        context.forgotten_transitions += 1;
    }
    history.push_back(happened);
    *visits
}

/// Keeps what artifacts are worth, if one has a value. Those that did not change since the last time are shared with it.
fn take_snapshot(context: &mut Context, happened: &Transition, options: &Options) {
    let Some(values) = context.artifacts.as_ref().filter(|values| !values.is_empty()) else { return };
    let snapshots = context.artifact_history.get_or_insert_default();
    let values = match snapshots.back() {
        Some(last) if last.values == *values => Arc::clone(&last.values),
        _ => {
            context.snapshot_bytes += bytes_of(values);
            Arc::clone(values)
        }
    };
    snapshots.push_back(Snapshot {
        from_state: Arc::clone(&happened.from),
        to_state: Arc::clone(&happened.to),
        event: Arc::clone(&happened.event),
        values,
        timestamp: happened.timestamp,
    });
    while snapshots.len() > options.history.max(1)
        || (context.snapshot_bytes > options.snapshot_bytes && snapshots.len() > 1)
    {
        let Some(oldest) = snapshots.pop_front() else { break };
        if snapshots.front().is_none_or(|next| !Arc::ptr_eq(&next.values, &oldest.values)) {
            context.snapshot_bytes -= bytes_of(&oldest.values);
        }
    }
}

fn set_artifact(
    compiled: &Compiled,
    context: &mut Context,
    name: &str,
    value: &str,
) -> Result<Vec<WorkflowEvent>, WorkflowError> {
    let Some(declared) = compiled.artifact(name) else {
        let declared = compiled.artifacts().map(|artifact| Arc::clone(&artifact.name)).collect();
        return Err(WorkflowError::UnknownArtifact { name: name.to_owned(), declared });
    };
    let after = declared.with(context.artifact(name), value, compiled.options())?;
    let bytes = after.len();
    let artifacts = context.artifacts.get_or_insert_default();
    Arc::make_mut(artifacts).insert(Arc::clone(&declared.name), after);
    let (name, mode) = (Arc::clone(&declared.name), declared.mode);
    Ok(vec![WorkflowEvent::ArtifactSet { name, mode, bytes }])
}

/// What ended it first is what ended it.
fn conclude(context: &mut Context, status: Status) -> Result<Vec<WorkflowEvent>, WorkflowError> {
    match context.concluded() {
        Some(status) => Err(WorkflowError::Concluded { status }),
        None => {
            context.status = status;
            Ok(vec![WorkflowEvent::Concluded(status)])
        }
    }
}
