//! The prelude for programs of goals: `use convoke::goals::prelude::*;`
//!
//! ```
//! use convoke::goals::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tree = Workflow::new("verse")
//!     .input(Input::new("topic"))
//!     .sequence(Sequence::new("main").goal(Goal::new("write", "Write a line about $topic")));
//! let equipment = Equipment::default().with_model(ScriptedModel::replies(["The loom hums on."])).without_spawning();
//! let prepared = tree.prepare(&equipment)?;
//! let bound = prepared.bind(Values::from_iter([("topic", "looms")]))?;
//! let state = Runtime::new().start(&prepared.workflow(), bound.state).await?.completed()?;
//! assert_eq!(state.text("write").as_deref(), Some("The loom hums on."));
//! # Ok(()) }
//! ```

pub use convoke_core::{Answer, Error, Limits, Outcome, Question, RunId, RunStatus, Runtime, Store, Toolset};
pub use convoke_goals::{
    Agent, Equipment, Goal, GoalState, Input, PreparedWorkflow, Secrets, Sequence, SkillShelf, Spawning,
    Supervision, Type, Values, Workflow, when,
};
pub use convoke_models::{Match, Reply, ScriptedModel};
pub use convoke_store::MemoryStore;
#[cfg(feature = "sqlite")]
pub use convoke_store::SqliteStore;
