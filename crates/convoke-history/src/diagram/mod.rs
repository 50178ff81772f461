//! Marks in a diagram of a workflow: what happened.
//!
//! - `mark`: what became of the parts of any diagram whose items say where a run does them;
//! - `outline`: a diagram of the steps that a run is made of, from the outline kept with it.

mod mark;
mod outline;
#[cfg(test)]
mod tests;
