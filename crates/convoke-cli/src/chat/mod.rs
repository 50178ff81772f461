//! Conversations with a model: who types, and what is seen of it.
//!
//! Nothing here decides which model it is or where the run is kept: `command::chat` does.

mod line_input;
mod person;
mod view;

pub(crate) use person::ChatResponder;
pub(crate) use view::{ChatView, cut_short};
