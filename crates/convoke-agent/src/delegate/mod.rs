//! Delegation: agents and workflows as tools.
//!
//! To the model that calls it, a whole agent or workflow is a tool like any other. To the kernel it is a call that is
//! entered again after a crash: what it had done answers from the journal. What it does appears below the call in the
//! run, and never in the caller's conversation or account.

mod agent_tool;
mod counted;
mod specialists;
mod workflow_result;
mod workflow_tool;

pub use agent_tool::AgentTool;
pub use counted::DelegatedCalls;
pub use specialists::{Specialist, SpecialistRegistry};
pub use workflow_tool::WorkflowTool;
