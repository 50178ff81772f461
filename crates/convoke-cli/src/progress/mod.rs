//! A run under way, for people to watch.
//!
//! What is [told] of a run is folded into a [tree](Progress), and from the tree alone come the picture on a terminal
//! ([`draw`]) and the lines of a log ([`plain`]). Nothing here reads a clock, asks a terminal for its size or writes to
//! one.

mod activity;
mod clip;
mod draw;
mod fold;
pub(crate) mod plain;
mod planned;
mod row;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use draw::{View, draw};
pub(crate) use planned::Planned;
pub(crate) use row::State;
pub(crate) use tree::Progress;
