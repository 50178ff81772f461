//! The record of a run on a terminal: as lines for people to read, and as a page that is written to a file.

mod save;
mod text;

pub(crate) use save::save;
pub(crate) use text::{head, item};
