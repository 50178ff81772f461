//! Custom events: which of their fields may be sent although content is not recorded.

use opentelemetry::KeyValue;
use serde_json::Value;

use crate::attribute::{self, cut};

/// Names, kinds, counts and verdicts of goal workflows: nothing that people, models or tools said.
fn plain_fields(event: &str) -> &'static [&'static str] {
    match event {
        "goal_started" => &["goal", "kind"],
        "goal_ended" => &["goal", "output_bytes"],
        "goal_skipped" => &["goal"],
        "subagent_spawned" => &["goal", "agent", "dynamic"],
        "subagent_completed" => &["goal", "agent", "output_bytes"],
        "convergence_cap_reached" => &["convergence", "cap"],
        "supervision" => &["step", "kind", "phase", "triggers", "verdict", "attempt", "decision"],
        "output_missing" => &["goal", "fields"],
        "context_cut" => &["goal"],
        _ => &[],
    }
}

pub(super) fn attributes(event: &str, value: &Value, content: Option<usize>) -> Vec<KeyValue> {
    let Value::Object(fields) = value else {
        return content
            .map(|limit| attribute::text("value", cut(&value.to_string(), limit)))
            .into_iter()
            .collect();
    };
    let plain = plain_fields(event);
    fields
        .iter()
        .filter_map(|(key, value)| match content {
            Some(limit) => Some(match value {
                Value::String(text) => attribute::text(key, cut(text, limit)),
                Value::Array(_) | Value::Object(_) => attribute::text(key, cut(&value.to_string(), limit)),
                _ => attribute::json(key, value),
            }),
            None => plain.contains(&key.as_str()).then(|| attribute::json(key, value)),
        })
        .collect()
}
