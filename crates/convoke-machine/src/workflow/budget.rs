//! The budget of a whole workflow: `engine.budget`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::spec::pointer;
use super::{BudgetExhausted, Context, Spec, WorkflowError};
use crate::finding::Finding;
use crate::whole::whole;

/// The most that a workflow may use. What is not set is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Budget {
    /// How often states may be entered, the entry included.
    pub max_total_visits: Option<u64>,
    /// How often tools may be called.
    pub max_tool_calls: Option<u64>,
    /// How many seconds may pass.
    pub max_wall_time_sec: Option<u64>,
}

impl Budget {
    /// Says what is used up: visits, then calls of tools, then time.
    pub(super) fn check(&self, context: &Context, now: Timestamp) -> Result<(), WorkflowError> {
        let limits = [
            ("max_total_visits", self.max_total_visits, context.total_visits()),
            ("max_tool_calls", self.max_tool_calls, context.total_tool_calls()),
            ("max_wall_time_sec", self.max_wall_time_sec, context.elapsed_seconds(now)),
        ];
        let over = |(_, max, used): &(_, Option<u64>, u64)| max.is_some_and(|max| *used >= max);
        let Some((limit, Some(max), current)) = limits.into_iter().find(over) else { return Ok(()) };
        let current_state = Arc::clone(&context.current_state);
        Err(WorkflowError::BudgetExhausted(Box::new(BudgetExhausted { limit, current, max, current_state })))
    }

    /// Reads the budget of a workflow, and says what cannot be read: a limit that is silently none would be worse than no pack.
    pub(super) fn of(spec: &Spec) -> (Self, Vec<Finding>) {
        let budget = spec.engine.as_ref().and_then(|engine| engine.get("budget"));
        match budget {
            None | Some(Value::Null) => (Self::default(), Vec::new()),
            Some(Value::Object(limits)) => Self::read(limits),
            Some(_) => {
                let place = pointer(&["engine", "budget"]);
                let finding = Finding::error("invalid-budget", place, "the budget is not an object");
                (Self::default(), vec![finding])
            }
        }
    }

    fn read(limits: &Map<String, Value>) -> (Self, Vec<Finding>) {
        let mut budget = Self::default();
        let mut findings = Vec::new();
        for (key, value) in limits {
            let place = pointer(&["engine", "budget", key]);
            let slot = match key.as_str() {
                "max_total_visits" => &mut budget.max_total_visits,
                "max_tool_calls" => &mut budget.max_tool_calls,
                "max_wall_time_sec" => &mut budget.max_wall_time_sec,
                _ => {
                    let finding =
                        Finding::error("unknown-budget", place, format!("there is no budget `{key}`"));
                    let help = "write `max_total_visits`, `max_tool_calls` or `max_wall_time_sec`";
                    findings.push(finding.help(help));
                    continue;
                }
            };
            match value.as_number().and_then(whole) {
                Some(limit) => *slot = (limit > 0).then(|| u64::try_from(limit).unwrap_or(u64::MAX)),
                None => {
                    let message = format!("`{key}` is {value}, not a whole number");
                    let finding = Finding::error("invalid-budget", place, message);
                    findings.push(finding.help("write a whole number of at least 1"));
                }
            }
        }
        (budget, findings)
    }
}
