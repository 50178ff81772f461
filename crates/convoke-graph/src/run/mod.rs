//! Running a graph: nodes whose time has come run side by side, each on a board of its own.
//!
//! Where a path forks, each branch has a copy of the board. A node that several paths lead to waits for those that are under way
//! ([`Order`](crate::compile::Order)), then what they did is put together and it runs once. How often a node has run before, and what
//! it is given, never depends on who was quicker; so every run of a node has the same path in the journal each time.

mod branches;
mod cancel;
mod count;
mod graph;
mod node_step;
mod rules;
pub(crate) mod schedule;
mod stop;
mod token;
mod waiting;

pub use graph::Graph;
pub(crate) use rules::Rules;
