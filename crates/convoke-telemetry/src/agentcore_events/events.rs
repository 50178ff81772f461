//! The eight events of the Go `agentcore` library.

use serde_json::Value;

use super::{Level, Notice};

/// The table of events. Fields are attributes under their own names, unless another one is given.
macro_rules! notices {
    ($(
        $(#[$about:meta])*
        $event:ident $name:literal $level:ident {
            $( $(#[$field_about:meta])* $field:ident: $type:ty $(as $key:literal)?, )*
        } $(fails with $failure:ty)?;
    )*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $event {
            $( $(#[$field_about])* pub $field: $type, )*
            $(
                /// What went wrong, if anything did.
                pub failure: $failure,
            )?
        }

        impl Notice for $event {
            fn name(&self) -> &str {
                $name
            }

            fn level(&self) -> Level {
                if self.error().is_some() { Level::Error } else { Level::$level }
            }

            fn attributes(&self) -> Vec<(&'static str, Value)> {
                vec![$((notices!(@key $field $($key)?), Value::from(self.$field.clone()))),*]
            }

            $(fn error(&self) -> Option<&str> {
                // One that is always there, or one that may be.
                let failure: &$failure = &self.failure;
                Option::<&String>::from(failure).map(String::as_str)
            })?
        }
    )*};
    (@key $field:ident $key:literal) => { $key };
    (@key $field:ident) => { stringify!($field) };
}

notices! {
    /// A workflow begins.
    WorkflowStarted "workflow.started" Info {
        /// The workflow.
        workflow: String,
    };

    /// A workflow is over.
    WorkflowEnded "workflow.ended" Info {
        /// The workflow.
        workflow: String,
    } fails with Option<String>;

    /// A goal or a convergence begins.
    GoalStarted "goal.started" Info {
        /// The goal.
        goal: String,
        /// What it is to reach.
        description: String,
    };

    /// A goal or a convergence is reached.
    GoalEnded "goal.ended" Info {
        /// The goal.
        goal: String,
        /// How long its output is.
        output_bytes: u64 as "output_len",
    };

    /// An agent of a goal begins.
    SubagentSpawned "subagent.spawned" Info {
        /// The goal.
        goal: String,
        /// The agent.
        agent: String,
    };

    /// An agent of a goal is done.
    SubagentCompleted "subagent.completed" Info {
        /// The goal.
        goal: String,
        /// The agent.
        agent: String,
        /// How long its output is.
        output_bytes: u64 as "output_len",
    } fails with Option<String>;

    /// A convergence went round as often as it may.
    ConvergenceCapReached "convergence.cap_reached" Warn {
        /// The convergence.
        convergence: String,
        /// How often it may.
        cap: u64,
    };

    /// A run could not begin.
    PreflightFailed "preflight.failed" Error {
        /// The workflow.
        workflow: String,
    } fails with String;
}
