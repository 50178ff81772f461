//! An observer that translates our events into those of agentcore.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convoke_core::{Event, EventKind, Observer, RunId, RunStatus};
use serde_json::Value;

use super::{
    ConvergenceCapReached, GoalEnded, GoalStarted, Notice, PreflightFailed, Sink, SubagentCompleted,
    SubagentSpawned, WorkflowEnded, WorkflowStarted,
};

/// Listens to runs, and tells a sink what agentcore would have told. An observer for
/// [`RuntimeBuilder::observer`](convoke_core::RuntimeBuilder::observer).
pub struct AgentcoreEventView<S> {
    sink: S,
    /// The workflows of runs whose end has not been told.
    runs: Mutex<HashMap<RunId, String>>,
}

impl<S: Sink> AgentcoreEventView<S> {
    /// Creates an observer that feeds this sink.
    pub fn new(sink: S) -> Self {
        Self { sink, runs: Mutex::default() }
    }

    fn view(&self, event: &Event) -> Option<Arc<dyn Notice>> {
        match &event.kind {
            EventKind::RunStarted { workflow, .. } => {
                self.runs().insert(event.run.clone(), workflow.clone());
                Some(Arc::new(WorkflowStarted { workflow: workflow.clone() }))
            }
            EventKind::RunEnded(end) => {
                let failure = || end.error.clone().unwrap_or_else(|| end.status.name().to_owned());
                if let Some(workflow) = end.refused.clone() {
                    return Some(Arc::new(PreflightFailed { workflow, failure: failure() }));
                }
                let workflow = self.runs().remove(&event.run)?;
                match end.status {
                    RunStatus::Suspended => None,
                    RunStatus::Completed => Some(Arc::new(WorkflowEnded { workflow, failure: None })),
                    _ => Some(Arc::new(WorkflowEnded { workflow, failure: Some(failure()) })),
                }
            }
            EventKind::Custom { name, value } => translated(name, value),
            _ => None,
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, String>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event of a goal workflow.
fn translated(name: &str, value: &Value) -> Option<Arc<dyn Notice>> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |field: &str| value.get(field).and_then(Value::as_u64).unwrap_or_default();
    let failure = || value.get("error").and_then(Value::as_str).map(str::to_owned);
    Some(match name {
        "goal_started" => Arc::new(GoalStarted { goal: text("goal"), description: text("description") }),
        "goal_ended" => Arc::new(GoalEnded { goal: text("goal"), output_bytes: number("output_bytes") }),
        "subagent_spawned" => Arc::new(SubagentSpawned { goal: text("goal"), agent: text("agent") }),
        "subagent_completed" => Arc::new(SubagentCompleted {
            goal: text("goal"),
            agent: text("agent"),
            output_bytes: number("output_bytes"),
            failure: failure(),
        }),
        "convergence_cap_reached" => {
            Arc::new(ConvergenceCapReached { convergence: text("convergence"), cap: number("cap") })
        }
        _ => return None,
    })
}

impl<S: Sink> Observer for AgentcoreEventView<S> {
    fn observe(&self, event: &Event) {
        // Told without holding the lock: a sink may do anything.
        let notice = self.view(event);
        if let Some(notice) = notice {
            self.sink.fire(&notice);
        }
    }
}

impl<S> std::fmt::Debug for AgentcoreEventView<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AgentcoreEventView")
    }
}
