//! The events of the Go `agentcore` library as a view of ours, and its sinks.
//!
//! Programs that were written for agentcore's events find them here, with the same names, levels and attributes:
//! [`AgentcoreEventView`] listens to runs and tells a [`Sink`] what agentcore would have told. Our own events say more.
//!
//! | event | name | level | attributes |
//! |---|---|---|---|
//! | [`WorkflowStarted`] | `workflow.started` | info | workflow |
//! | [`WorkflowEnded`] | `workflow.ended` | info, error if it failed | workflow |
//! | [`GoalStarted`] | `goal.started` | info | goal, description |
//! | [`GoalEnded`] | `goal.ended` | info | goal, output_len |
//! | [`SubagentSpawned`] | `subagent.spawned` | info | goal, agent |
//! | [`SubagentCompleted`] | `subagent.completed` | info, error if it failed | goal, agent, output_len |
//! | [`ConvergenceCapReached`] | `convergence.cap_reached` | warn | convergence, cap |
//! | [`PreflightFailed`] | `preflight.failed` | error | workflow |
//!
//! A run that goes on tells its past again, as our own stream does. A run that waits for answers has not ended.
//!
//! ```
//! use std::sync::Arc;
//! use convoke_telemetry::agentcore_events::{GoalEnded, Handlers, Sink};
//!
//! let handlers = Handlers::new(0);
//! handlers.on(|ended: &GoalEnded| println!("{} is done", ended.goal));
//! handlers.fire(&(Arc::new(GoalEnded { goal: "research".into(), output_bytes: 120 }) as _));
//! handlers.close();
//! assert_eq!(handlers.dropped(), 0);
//! ```

mod counter;
mod events;
mod handlers;
mod logger;
mod tee;
mod view;

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

pub use counter::Counter;
pub use events::{
    ConvergenceCapReached, GoalEnded, GoalStarted, PreflightFailed, SubagentCompleted, SubagentSpawned,
    WorkflowEnded, WorkflowStarted,
};
pub use handlers::Handlers;
pub use logger::Logger;
pub use tee::Tee;
pub use view::AgentcoreEventView;

/// The level of an event. There are no levels in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever looks for a mistake.
    Debug,
    /// As it should be.
    Info,
    /// Worth a look.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// The level's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// An event: one of agentcore's, or one of your own.
pub trait Notice: Any + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// How much it matters.
    fn level(&self) -> Level {
        Level::Info
    }

    /// What it says, in order.
    fn attributes(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// What went wrong, if anything did.
    fn error(&self) -> Option<&str> {
        None
    }
}

/// A receiver of events. It is called in the middle of a run: a slow one holds it up.
pub trait Sink: Send + Sync {
    /// Takes notice.
    fn fire(&self, notice: &Arc<dyn Notice>);
}
