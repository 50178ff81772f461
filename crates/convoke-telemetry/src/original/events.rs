//! The original's eight events.

use serde_json::Value;

use super::{Level, Notice};

macro_rules! notices {
    ($(
        $(#[$about:meta])*
        $event:ident $name:literal $level:expr, {
            $( $(#[$field_about:meta])* $field:ident: $type:ty, )*
        } tells [$($key:literal = $told:ident),*] $(fails with $failure:ident)?;
    )*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $event {
            $( $(#[$field_about])* pub $field: $type, )*
        }

        impl Notice for $event {
            fn name(&self) -> &str {
                $name
            }

            fn level(&self) -> Level {
                if self.error().is_some() { Level::Error } else { $level }
            }

            fn attributes(&self) -> Vec<(&'static str, Value)> {
                vec![$(($key, Value::from(self.$told.clone()))),*]
            }

            $(fn error(&self) -> Option<&str> {
                failure(&self.$failure)
            })?
        }
    )*};
}

notices! {
    /// A workflow begins.
    WorkflowStarted "workflow.started" Level::Info, {
        /// The workflow.
        workflow: String,
    } tells ["workflow" = workflow];

    /// A workflow is over.
    WorkflowEnded "workflow.ended" Level::Info, {
        /// The workflow.
        workflow: String,
        /// What went wrong, if anything did.
        failure: Option<String>,
    } tells ["workflow" = workflow] fails with failure;

    /// A goal or a convergence begins.
    GoalStarted "goal.started" Level::Info, {
        /// The goal.
        goal: String,
        /// What it is to reach.
        description: String,
    } tells ["goal" = goal, "description" = description];

    /// A goal or a convergence is reached.
    GoalEnded "goal.ended" Level::Info, {
        /// The goal.
        goal: String,
        /// How long its output is.
        output_bytes: u64,
    } tells ["goal" = goal, "output_len" = output_bytes];

    /// An agent of a goal begins.
    SubagentSpawned "subagent.spawned" Level::Info, {
        /// The goal.
        goal: String,
        /// The agent.
        agent: String,
    } tells ["goal" = goal, "agent" = agent];

    /// An agent of a goal is done.
    SubagentCompleted "subagent.completed" Level::Info, {
        /// The goal.
        goal: String,
        /// The agent.
        agent: String,
        /// How long its output is.
        output_bytes: u64,
        /// What went wrong, if anything did.
        failure: Option<String>,
    } tells ["goal" = goal, "agent" = agent, "output_len" = output_bytes] fails with failure;

    /// A convergence went round as often as it may.
    ConvergenceCapReached "convergence.cap_reached" Level::Warn, {
        /// The convergence.
        convergence: String,
        /// How often it may.
        cap: u64,
    } tells ["convergence" = convergence, "cap" = cap];

    /// A run could not begin.
    PreflightFailed "preflight.failed" Level::Error, {
        /// The workflow.
        workflow: String,
        /// Why not.
        failure: String,
    } tells ["workflow" = workflow] fails with failure;
}

/// A failure that is there, or that may be.
trait Failure {
    fn text(&self) -> Option<&str>;
}

impl Failure for Option<String> {
    fn text(&self) -> Option<&str> {
        self.as_deref()
    }
}

impl Failure for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

fn failure(failure: &impl Failure) -> Option<&str> {
    failure.text()
}
