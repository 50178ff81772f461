//! An observer that logs what runs do.

use convoke_core::{Event, EventKind, ModelCallEnd, Observer, RunStatus, StepEnd};
use tracing::{debug, error, info, warn};

use crate::error_text::without_quotes;

/// Writes what runs do to the program's log: an observer for
/// [`RuntimeBuilder::observer`](convoke_core::RuntimeBuilder::observer).
///
/// Runs, questions and what was lost at `info` and above; steps, tools and models at `debug`. What is only told from a
/// journal is not logged again.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLog;

const TARGET: &str = "convoke::run";

/// A line with the run and the path.
macro_rules! line {
    ($level:ident, $event:expr, $($rest:tt)*) => {
        $level!(target: TARGET, run = %$event.run, path = $event.path.as_str(), $($rest)*)
    };
}

impl Observer for RunLog {
    fn observe(&self, event: &Event) {
        if event.replayed {
            return;
        }
        match &event.kind {
            EventKind::RunStarted { workflow, resumed } => {
                info!(target: TARGET, run = %event.run, workflow, resumed, "run started");
            }
            EventKind::RunEnded(end) => {
                let status = end.status.name();
                let (model_calls, tool_calls) = (end.totals.model_calls, end.totals.tool_calls);
                let tokens = end.totals.usage.total_tokens();
                let cost = end.totals.whole_cost().map(tracing::field::display);
                macro_rules! ended {
                    ($level:ident, $text:literal) => {
                        $level!(
                            target: TARGET, run = %event.run, status, model_calls, tool_calls, tokens, cost,
                            error = end.error.as_deref().map(without_quotes), $text
                        )
                    };
                }
                match end.status {
                    RunStatus::Completed => ended!(info, "run completed"),
                    RunStatus::Suspended => ended!(info, "run waits for answers"),
                    RunStatus::Cancelled => ended!(warn, "run cancelled"),
                    _ => ended!(error, "run failed"),
                }
            }
            EventKind::StepStarted { kind } => line!(debug, event, kind, "step started"),
            EventKind::StepEnded(end) => match end {
                StepEnd::Failed { error } => {
                    line!(warn, event, error = without_quotes(error), "step failed");
                }
                StepEnd::Interrupted { reason } => {
                    line!(debug, event, reason = without_quotes(reason), "step interrupted");
                }
                StepEnd::Suspended => line!(debug, event, "step waits"),
                _ => line!(debug, event, "step completed"),
            },
            EventKind::StepSkipped { error } => {
                line!(warn, event, error = without_quotes(error), "going on without a failed step");
            }
            EventKind::MessageRestarted { model, reason, .. } => {
                line!(warn, event, model, reason, "reply restarted");
            }
            EventKind::ToolCallRejected { id, .. } => line!(info, event, call = id, "tool call rejected"),
            EventKind::ToolCallExecuting { id } => line!(debug, event, call = id, "tool called"),
            EventKind::ToolCallResult { id, content, is_error } => {
                line!(debug, event, call = id, bytes = content.len(), is_error, "tool answered");
            }
            EventKind::QuestionAsked { id, .. } => line!(info, event, question = %id, "a person is asked"),
            EventKind::QuestionAnswered { id, .. } => {
                line!(info, event, question = %id, "a person answered");
            }
            EventKind::RouteSelected { route } => line!(debug, event, route, "route selected"),
            EventKind::LoopIteration { iteration } => line!(debug, event, iteration, "loop iteration"),
            EventKind::RetryScheduled { attempt, delay } => {
                line!(warn, event, attempt, ?delay, "trying again");
            }
            EventKind::RetryExhausted { attempts, error } => {
                line!(warn, event, attempts, error = without_quotes(error), "not trying again");
            }
            EventKind::ModelCallStarted(call) => {
                line!(debug, event, call = call.id, model = call.model, "model called");
            }
            EventKind::ModelCallEnded { id, usage, end } => {
                let tokens = usage.map(|usage| usage.total_tokens());
                match end {
                    ModelCallEnd::Replied { model, .. } => {
                        line!(debug, event, call = id, model, tokens, "model replied");
                    }
                    ModelCallEnd::Failed { error, .. } => {
                        line!(warn, event, call = id, error, "model call failed");
                    }
                    _ => line!(debug, event, call = id, "model call dropped"),
                }
            }
            EventKind::Custom { name, .. } => line!(debug, event, name, "custom event"),
            _ => {}
        }
    }
}
