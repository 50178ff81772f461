//! A run as a session log of the `agent` program: one JSON object per line, for tools made for such files.
//!
//! The journal is the record; this is a view of it, and nothing is ever read back from it. The first line is the
//! `header`, the last one the `footer`, each line between them an `event`, numbered from 1. Fields are those of that
//! program. What it keeps only in its debug mode (texts of replies, results of tools) is always there, and an event's
//! `error` is never lost.
//!
//! | type | made from |
//! |---|---|
//! | `workflow_start`, `workflow_end` | the run's beginning and end |
//! | `goal_start`, `goal_end` | the first and the last entry below a step of kind `goal` or `convergence` |
//! | `subagent_start`, `subagent_end` | the same of a step of kind `agent` below a goal |
//! | `system`, `user` | messages of a prompt that no earlier call at that path had |
//! | `assistant` | a model's reply, or its failure |
//! | `tool_call`, `tool_result` | a tool call, linked by `corr_id` |
//! | `phase_commit`, `phase_execute`, `phase_supervise`, each with its `checkpoint` | replies and answers in steps that supervise a goal |
//! | `warning` | a call that began and has no end; a run that had to be taken up again |
//!
//! Left out, because a journal has nothing of the kind: `phase_reconcile` (it is computed from the checkpoints, and
//! computed again when a run is resumed), `security_block`, `security_static`, `security_triage`,
//! `security_supervisor`, `security_decision` and `bash_security` (the policy's decisions are not effects; a denial is
//! the `error` of its `tool_result`). Left out, because the format has no place for them: questions that do not
//! supervise a goal, waits, looks at the clock, custom effects and decisions. `convoke replay --json` has them all.

mod entry;
mod event;
mod span;

use convoke_core::RunStatus;
use serde_json::{Map, Value, json};

use super::Gist;
use super::item::up_to;
use crate::History;
use entry::SessionLog;

/// The lines of a run's session log, up to and including the entry with the number `until`.
#[must_use]
pub fn session_log(history: &History, gist: &Gist, until: Option<u64>) -> Vec<Value> {
    let happenings = up_to(history, until);
    let mut log = SessionLog::new(history, header(history, gist), &happenings);
    for happening in &happenings {
        log.add(happening);
    }
    if until.is_none() {
        log.lines.push(footer(history));
    }
    log.lines
}

fn header(history: &History, gist: &Gist) -> Value {
    let record = &history.record;
    // The format has texts only.
    let text = |value: &Value| if value.is_string() { value.clone() } else { value.to_string().into() };
    let inputs: Map<String, Value> =
        gist.inputs.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    json!({
        "_type": "header",
        "id": record.id,
        "workflow_name": record.workflow,
        "inputs": inputs,
        "created_at": record.created.to_string(),
    })
}

fn footer(history: &History) -> Value {
    let record = &history.record;
    let ending = history.ending.clone().unwrap_or_default();
    let status = match record.status {
        RunStatus::Completed => "complete",
        RunStatus::Running | RunStatus::Suspended => "running",
        _ => "failed",
    };
    let mut footer = json!({"_type": "footer", "status": status, "updated_at": record.updated.to_string()});
    if let Some(error) = ending.error {
        footer["error"] = error.into();
    }
    // A state that has no members has no place in the format.
    if let Some(state) = ending.state.filter(Value::is_object) {
        footer["state"] = state;
    }
    footer
}
