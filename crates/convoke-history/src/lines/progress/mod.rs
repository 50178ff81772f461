//! A run under way in lines: the picture of its tree, and what happens, line by line.
//!
//! Both come from the [tree](crate::progress::RunProgress) that its events are folded into, and from nothing else.

mod clip;
mod draw;
mod log_lines;
mod symbol;

pub use draw::{Canvas, draw};
pub use log_lines::{LogLines, LogOptions};
