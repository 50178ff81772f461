//! A conversation over a workflow, as a step of the kernel: kill it anywhere, and it goes on where it was.
//!
//! A [`Machine`] is put together from a compiled workflow and a [`Stage`], which says how each state speaks. In a turn the model of the
//! current state is asked; it moves on by calling `workflow__transition`, and the state it moves to speaks in the same turn. States
//! that others move on from wait for mail on the channel of an event.
//!
//! | to understand | read |
//! |---|---|
//! | how a state speaks | `activation.rs`: one builder for opening, handing off and resuming |
//! | what calls of the workflow's tools come to | `fold.rs`: a pure function of the conversation, so that a replay comes to the same |
//! | one turn | `turn.rs` |
//! | what a model is asked, and why a long conversation is gone on with as quickly as a short one | `opening.rs` |
//! | calls that a client executes | `client.rs` |
//! | what was sent before it was waited for | `earlier.rs` |
//! | a state that runs a composition | `compose.rs`, `composition/` |
//! | what is waited for between turns | `wait.rs` |
//! | what a state knows of those before it | `messages.rs` |
//! | a turn with a memory around it | `remember.rs` |
//! | what listeners hear | `announce.rs` |
//! | which way it took, afterwards | `way.rs` |

mod activation;
mod announce;
mod client;
mod compose;
mod composition;
mod earlier;
mod fold;
mod machine;
mod messages;
mod opening;
mod remember;
mod state;
mod talk;
mod timed;
mod tools;
mod turn;
mod wait;
mod way;

pub(crate) use activation::clients_of;
pub use activation::{Activation, ActivationError, Direction, Refusal, Situation, Stage, Validator};
pub use announce::CUT_SHORT;
pub use client::{CLIENT_REFUSED, CLIENT_REQUEST, ClientCall, ClientCalls, ClientResult};
pub use compose::ROUTE;
pub use composition::{ComposedWork, InvalidComposition, UnfitValue};
pub use earlier::{EARLIER_MAIL, EVENT_PASSED_OVER};
pub use machine::{InvalidMachine, Machine, MachineBuilder, TOOL_RESULTS};
pub use messages::{MessagePolicy, summary};
pub use state::{MachineState, Talk};
pub use talk::TURN;
pub use way::{Sign, TakenTransition, VisitedState, Way};
