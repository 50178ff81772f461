//! Conversations with a model: who types, and what is seen of it.
//!
//! Nothing here decides which model it is or where the run is kept: `command::chat` does.

pub(crate) mod earlier;
mod lines;
mod person;
mod telling;

pub(crate) use person::Person;
pub(crate) use telling::{Telling, cut_short};
