//! A run under way, for people to watch.
//!
//! What happens in a run is folded into a [tree](convoke_history::progress::RunProgress), and from the tree alone come the
//! picture on a terminal ([`draw()`]) and the lines of a log ([`log_lines`]). Nothing here reads a clock, asks a terminal for its
//! size or writes to one.

mod clip;
mod draw;
pub(crate) mod log_lines;
mod symbol;
#[cfg(test)]
mod tests;

pub(crate) use draw::{View, draw};
