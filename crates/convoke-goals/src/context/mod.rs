//! Prompts: what agents are told, in one fixed structure, fenced, within a size.
//!
//! | part | file |
//! |---|---|
//! | who somebody is: the system message | `system.rs` |
//! | what a goal is, and what came before it | `briefing.rs` |
//! | what an agent of a goal is to do | `task.rs` |
//! | how several answers become one | `synthesis.rs` |
//! | marks around whatever we did not write | `fence.rs` |
//! | what to leave out when it is too much | `budget.rs` |
//! | values put into texts | `fill.rs` |
//! | whether an iteration says it is the last | `convergence.rs` |
//!
//! Everything here is a pure function: the same state gives the same prompt, byte for byte. Whatever a model, a tool or a
//! person said stands between fences with a mark nobody can guess; it is never escaped, because code that was escaped is
//! other code. Nothing is left out without a note in its place.

mod attribute;
mod briefing;
mod budget;
pub(crate) mod convergence;
mod fence;
mod fill;
mod outputs;
mod synthesis;
mod system;
mod task;

pub(crate) use attribute::quoted;
pub use briefing::Briefing;
pub(crate) use briefing::corrections;
pub(crate) use budget::fit;
pub use budget::{ContextBudget, CutText, FittedPrompt};
pub use fence::Fence;
pub(crate) use fill::TemplateFiller;
pub use fill::{MissingValue, fill};
pub use synthesis::synthesis;
pub use system::{Guidance, Role, SystemParts, system};
pub use task::Task;
