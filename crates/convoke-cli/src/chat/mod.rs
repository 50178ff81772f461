//! Conversations with a model: who types, what stops an answer, and what is seen of it.
//!
//! Nothing here decides which model it is or where the run is kept: `command::chat` does.

mod earlier;
mod lines;
mod person;
mod stop;
mod telling;

pub(crate) use earlier::Earlier;
pub(crate) use person::Person;
pub(crate) use stop::Stop;
pub(crate) use telling::{Telling, cut_short};
