//! The product of an attempt.

use crate::state::Values;
use crate::tree::Output;

/// The product of a goal or an agent.
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
    /// Whether whoever was to put the answers of others together said nothing, and called a tool where none was offered.
    pub unassembled: bool,
    /// For a convergence that came to its limit: the limit.
    pub unconverged: Option<u32>,
    /// The answer in short, by a model, if it is too long to be judged by all of it.
    pub summary: Option<String>,
}

impl Product {
    /// The names of those outputs that it does not have.
    pub(crate) fn lacks(&self, outputs: &[Output]) -> Vec<String> {
        let missing = outputs.iter().filter(|output| self.fields.get(output.name()).is_none());
        missing.map(|output| output.name().to_owned()).collect()
    }
}
