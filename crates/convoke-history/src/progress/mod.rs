//! A run under way: its events folded into a tree of what is planned, going on and done.
//!
//! [`RunProgress`] is all that a picture, a page or the lines of a log need. Nothing here reads a clock, asks a terminal for its
//! size or draws: the time is passed in, and what is shown of the tree is up to whoever shows it.
//!
//! ```
//! use convoke_core::{Event, EventKind, Path, Timestamp};
//! use convoke_history::progress::{NodeKind, NodeState, PlannedNode, RunProgress};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let goal = PlannedNode { name: "draft".to_owned(), kind: NodeKind::Goal, children: Vec::new() };
//! let mut progress = RunProgress::new(&PlannedNode { children: vec![goal], ..PlannedNode::workflow("letter") });
//! assert_eq!(progress.goals(), (0, 1), "none of one is settled");
//!
//! progress.apply(&Event {
//!     run: "letter-1".parse()?,
//!     seq: 1,
//!     path: Path::from("letter/draft"),
//!     at: Timestamp::from_micros(0),
//!     replayed: false,
//!     position: None,
//!     kind: EventKind::StepStarted { kind: "goal".to_owned() },
//! });
//! assert_eq!(progress.node(&Path::from("letter/draft/turn")).state, NodeState::Running);
//! # Ok(())
//! # }
//! ```

mod activity;
mod fold;
mod node;
mod planned;
mod speech;
#[cfg(test)]
mod tests;
mod tree;

pub use activity::{Activity, call_text};
pub use fold::{comma_list, without_requests};
pub use node::{NodeState, NodeUsage, ProgressNode};
pub use planned::{NodeKind, PlannedNode};
pub use speech::Speech;
pub use tree::{LiveMessage, LiveToolCall, RunProgress};
