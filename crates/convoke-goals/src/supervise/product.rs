//! What an attempt came to.

use crate::state::Values;

/// What a goal or an agent came to.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Product {
    /// The answer.
    pub text: String,
    /// Its outputs, those that could be read.
    pub fields: Values,
    /// Outputs that are missing, and why.
    pub missing: Vec<String>,
    /// The tools that were called, each once: those of whoever was asked in order, then those of agents called in.
    pub tools: Vec<String>,
    /// Why the work was cut short, if it was: a limit on turns, time or budget.
    pub incomplete: Option<String>,
    /// For a convergence that came to its limit: the limit.
    pub unconverged: Option<u32>,
}
