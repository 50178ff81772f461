//! Custom events of a conversation: those of the Go program under their names, and those it has none for.

use convoke_core::{EventKind, Scope};
use serde_json::{Value, json};

use crate::workflow::{Compiled, Context, Transitioned, WorkflowError, WorkflowEvent};

/// The event for listeners when a limit was the end of what a state, or an agent of a composition, did.
pub const CUT_SHORT: &str = "workflow.cut_short";

/// Tells listeners something.
pub(super) async fn tell(scope: &Scope, name: &str, value: Value) {
    scope.emit(EventKind::Custom { name: name.to_owned(), value }).await;
}

/// Tells what happened, in the order it did.
pub(super) async fn happened(scope: &Scope, compiled: &Compiled, events: &[WorkflowEvent]) {
    for event in events {
        match event {
            WorkflowEvent::Exited { state } => {
                tell(scope, "workflow.state_exited", json!({"state": state})).await
            }
            WorkflowEvent::Entered { state, visit } => entered(scope, compiled, state, *visit).await,
            WorkflowEvent::Transitioned(moved) => transitioned(scope, compiled, moved).await,
            WorkflowEvent::ArtifactSet { name, mode, bytes } => {
                tell(scope, "workflow.artifact_set", json!({"artifact": name, "mode": mode, "bytes": bytes}))
                    .await;
            }
            WorkflowEvent::Concluded(status) => {
                tell(scope, "workflow.concluded", json!({"status": status})).await
            }
        }
    }
}

/// Tells that a state was entered.
pub(super) async fn entered(scope: &Scope, compiled: &Compiled, state: &str, visit: u64) {
    let description = compiled.named(state).map(|state| state.description.as_str()).unwrap_or_default();
    let mut value = json!({"state": state, "visit": visit});
    if !description.is_empty() {
        value["description"] = description.into();
    }
    tell(scope, "workflow.state_entered", value).await;
}

async fn transitioned(scope: &Scope, compiled: &Compiled, moved: &Transitioned) {
    if let Some(redirect) = &moved.redirect {
        let value = json!({
            "from_state": moved.from, "original_target": redirect.original_target, "event": moved.event,
            "visit_count": redirect.visit_count, "max_visits": redirect.max_visits,
            "redirected_to": moved.to, "terminated": false,
        });
        tell(scope, "workflow.max_visits_exceeded", value).await;
    }
    let prompt = compiled.named(&moved.to).map(|state| state.prompt_task.as_str()).unwrap_or_default();
    let mut value = json!({
        "from_state": moved.from, "to_state": moved.to, "event": moved.event, "prompt_task": prompt,
    });
    if !moved.host_extras.is_empty() {
        value["host_extras"] = moved.host_extras.clone().into();
    }
    tell(scope, "workflow.transitioned", value).await;
}

/// Tells why a transition did not happen, if that ends the workflow.
pub(super) async fn failed(scope: &Scope, context: &Context, error: &WorkflowError) {
    let (name, mut value, more) = match error {
        WorkflowError::MaxVisitsExceeded(exceeded) => {
            ("workflow.max_visits_exceeded", json!(exceeded), ("terminated", json!(true)))
        }
        WorkflowError::BudgetExhausted(exhausted) => {
            let transitions = ("transition_count", json!(context.transition_count()));
            ("workflow.budget_exhausted", json!(exhausted), transitions)
        }
        _ => return,
    };
    value[more.0] = more.1;
    tell(scope, name, value).await;
}

/// Tells which rules a text broke, and what is said instead.
pub(super) async fn broken(scope: &Scope, direction: &str, broken: &[(String, String)]) {
    for (validator, instead) in broken {
        let value = json!({"validator": validator, "direction": direction, "instead": instead});
        tell(scope, "validation.failed", value).await;
    }
}

/// Tells which transitions were refused, and why.
pub(super) async fn refused(scope: &Scope, state: &str, refused: &[(String, String)]) {
    for (event, reason) in refused {
        tell(scope, "workflow.transition_refused", json!({"state": state, "event": event, "reason": reason}))
            .await;
    }
}

/// Tells which state said something, and what.
pub(super) async fn spoke(scope: &Scope, compiled: &Compiled, state: &str, text: &str) {
    let Some(state) = compiled.named(state) else { return };
    let mut current = json!({"current_state": state.name, "terminal": state.is_terminal()});
    if !state.description.is_empty() {
        current["description"] = state.description.as_str().into();
    }
    tell(scope, "workflow.spoke", json!({"current_workflow_state": current, "text": text})).await;
}

/// Tells that the workflow has come to its end.
pub(super) async fn completed(scope: &Scope, context: &Context) {
    let value =
        json!({"final_state": context.current_state(), "transition_count": context.transition_count()});
    tell(scope, "workflow.completed", value).await;
}
