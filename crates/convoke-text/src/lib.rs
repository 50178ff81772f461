//! What is done with text, alike wherever it comes from: slips are understood, and pieces of secrets are found.
//!
//! This crate knows nothing of runs, models or files; everything that reads or shows text may use it.

pub mod pieces;
mod suggest;

pub use suggest::nearest;
