//! The state machine of a pack as pure functions: the same context and command always give the same context and events.
//!
//! A [`Spec`] is what the pack says, [`validate`] says what is wrong with it, and [`Compiled`] is one that nothing is wrong with: the
//! only thing the machine takes. A [`Context`] is where a conversation is, in the JSON that the Go program keeps, so that what it
//! persisted can be restored. [`step`] gives the next context and what happened; [`advance`] does the same in place.
//!
//! No clock, no locks, nothing of the kernel: a [`Command`] says when it happens.
//!
//! ```
//! use convoke_machine::workflow::{Act, Command, Compiled, Known, Spec, step};
//!
//! let spec: Spec = serde_json::from_value(serde_json::json!({
//!     "version": 2, "entry": "intake",
//!     "states": {
//!         "intake": {"prompt_task": "intake", "on_event": {"Resolved": "closed"}},
//!         "closed": {"prompt_task": "closed", "terminal": true},
//!     },
//! }))?;
//! let compiled = Compiled::new(&spec, &Known::anything())?;
//! let at = "2026-11-18T09:00:00Z".parse()?;
//! let context = compiled.start(at);
//! let (context, _events) = step(&compiled, &context, Command::at(at, Act::Event("Resolved")))?;
//! assert_eq!(context.current_state(), "closed");
//! assert!(compiled.is_terminal(&context));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advance;
mod artifact;
mod budget;
mod command;
mod compiled;
mod context;
mod error;
mod event;
mod graph;
mod instant;
mod known;
mod options;
mod pending;
mod redirect;
mod spec;
mod tool;
mod validate;

pub use advance::{advance, step};
pub use artifact::{ArtifactMode, DeclaredArtifact};
pub use budget::Budget;
pub use command::{Act, Command};
pub use compiled::{Compiled, CompiledState, InvalidWorkflow, Orchestration, Persistence};
pub use context::{Context, Snapshot, Status, Transition};
pub use error::{BudgetExhausted, MaxVisitsExceeded, RestoreError, WorkflowError};
pub use event::{Redirect, Transitioned, WorkflowEvent};
pub use known::Known;
pub use options::{Options, RedirectStyle};
pub use pending::{PendingTransition, Refusal, TransitionSlot};
pub use spec::{ArtifactSpec, Spec, StateSpec};
pub use tool::{
    SET_ARTIFACT, TRANSITION, WorkflowTool, artifact_arguments, artifact_reply, artifact_tool,
    matching_event, tools_for, transition_tool,
};
pub(crate) use validate::is_media_type;
pub use validate::validate;
