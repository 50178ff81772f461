//! The goal tree: what is to be achieved, by which agents, in which order, and who supervises it.
//!
//! ```
//! use convoke_goals::{Agent, Goal, Input, Sequence, Workflow};
//!
//! let critic = Agent::new("critic", "You are a rigorous critic.");
//! let analyze = Goal::new("analyze", "Choose what fits into $hours hours")
//!     .output("chosen")
//!     .using(critic)
//!     .supervised();
//! let polish = Goal::converging("polish", "Refine $chosen", 5);
//!
//! let plan = Workflow::new("daily-plan")
//!     .input(Input::new("hours").default("4"))
//!     .sequence(Sequence::new("main").goal(analyze).goal(polish));
//! assert_eq!(plan.name(), "daily-plan");
//! ```
//!
//! | node | what it is | made of |
//! |---|---|---|
//! | [`Workflow`] | the whole | inputs and sequences |
//! | [`Sequence`] | goals in an order: one after the other, all at once, or again and again | goals and agents |
//! | [`Goal`] | something to achieve, once or by improving on it (a *convergence*) | agents and goals it uses |
//! | [`Agent`] | somebody who pursues goals | – |
//!
//! Nodes are plain values. Putting one into another moves it there; to use it twice, clone it: two nodes never share
//! anything that can change. Building never fails; everything that is wrong is said at once when the tree is
//! [prepared](Workflow::prepare), before anything runs.
//!
//! Nothing in here runs anything.

mod agent;
mod condition;
mod goal;
mod input;
mod node;
mod overrides;
mod sequence;
mod setters;
mod text;
mod workflow;

pub use agent::{Agent, Persona};
pub use condition::{Subject, when};
pub use goal::Goal;
pub use input::{Input, Output};
pub use node::{GoalNodeKind, Node, NodeRef};
pub use overrides::{ModelChoice, Overrides, ToolChoice};
pub use sequence::{Order, Sequence};
pub use text::{Name, Text};
pub use workflow::Workflow;
