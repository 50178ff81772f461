//! Events about goals, besides those of the kernel.

use convoke_core::{Digest, Error, EventKind, Scope};
use serde_json::{Value, json};

use crate::context::CutText;

async fn custom(scope: &Scope, name: &str, value: impl FnOnce() -> Value) {
    if scope.has_listeners() {
        scope.emit(EventKind::Custom { name: name.to_owned(), value: value() }).await;
    }
}

/// The run goes on with another workflow than it began with.
pub(super) async fn workflow_changed(scope: &Scope, began: Digest, now: Digest) {
    custom(scope, "workflow_changed", || json!({"began": began.to_string(), "now": now.to_string()})).await;
}

pub(super) async fn goal_started(scope: &Scope, goal: &str, kind: &str, description: &str) {
    let value = || json!({"goal": goal, "kind": kind, "description": description});
    custom(scope, "goal_started", value).await;
}

pub(super) async fn goal_ended(scope: &Scope, goal: &str, text: &str) {
    custom(scope, "goal_ended", || json!({"goal": goal, "output_bytes": text.len()})).await;
}

pub(super) async fn goal_skipped(scope: &Scope, goal: &str, reason: &str) {
    custom(scope, "goal_skipped", || json!({"goal": goal, "reason": reason})).await;
}

/// Somebody took up a skill.
pub(super) async fn skill_loaded(scope: &Scope, by: &str, skill: &str) {
    custom(scope, "skill_loaded", || json!({"name": skill, "by": by})).await;
}

/// It came to a limit. What it had by then, if anything, is its result.
pub(super) async fn goal_incomplete(scope: &Scope, goal: &str, reason: &str) {
    custom(scope, "goal_incomplete", || json!({"goal": goal, "reason": reason})).await;
}

pub(super) async fn subagent_spawned(scope: &Scope, goal: &str, agent: &str, dynamic: bool) {
    let value = || json!({"goal": goal, "agent": agent, "dynamic": dynamic});
    custom(scope, "subagent_spawned", value).await;
}

pub(super) async fn subagent_completed(scope: &Scope, goal: &str, agent: &str, result: Result<&str, &Error>) {
    let value = || match result {
        Ok(text) => json!({"goal": goal, "agent": agent, "output_bytes": text.len()}),
        Err(error) => json!({"goal": goal, "agent": agent, "output_bytes": 0, "error": error.to_string()}),
    };
    custom(scope, "subagent_completed", value).await;
}

pub(super) async fn cap_reached(scope: &Scope, name: &str, cap: u32) {
    custom(scope, "convergence_cap_reached", || json!({"convergence": name, "cap": cap})).await;
}

pub(super) async fn output_missing(scope: &Scope, goal: &str, fields: &[&str], problem: &str) {
    let value = || json!({"goal": goal, "fields": fields, "problem": problem});
    custom(scope, "output_missing", value).await;
}

pub(super) async fn context_cut(scope: &Scope, goal: &str, cuts: &[CutText]) {
    if !cuts.is_empty() {
        custom(scope, "context_cut", || json!({"goal": goal, "parts": cuts})).await;
    }
}
