#![doc = include_str!("../README.md")]
//!
//! This crate knows nothing of runs, models or files; everything that reads or shows text may use it.

pub mod date;
pub mod diagnostic;
pub mod duration;
pub mod human;
mod invisible;
pub mod redaction;
pub mod secret_fragments;
mod shorten;
mod suggest;
pub mod template;

pub use invisible::is_invisible;
pub use shorten::one_line_of;
pub use suggest::nearest;
