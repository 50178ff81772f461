//! The prompt for an agent that works on a goal.

use super::briefing::{closing, corrections};
use super::budget::fit;
use super::outputs::instruction;
use super::{ContextBudget, Fence, FittedPrompt, quoted};
use crate::rules::Rules;
use crate::supervise::Correction;
use crate::tree::Output;

/// The message that tells an agent what to do.
#[derive(Debug, Clone, Copy)]
#[must_use = "a task says nothing until it is written"]
pub struct Task<'a> {
    role: &'a str,
    goal: &'a str,
    text: &'a str,
    prior: &'a [(&'a str, &'a str)],
    corrections: &'a [Correction],
    outputs: &'a [Output],
    rules: Rules,
}

impl<'a> Task<'a> {
    /// A task for somebody, on behalf of a goal.
    pub fn new(role: &'a str, goal: &'a str, text: &'a str) -> Self {
        Self { role, goal, text, prior: &[], corrections: &[], outputs: &[], rules: Rules::CURRENT }
    }

    /// Sets the results of goals before it, oldest first.
    pub fn prior(mut self, prior: &'a [(&'a str, &'a str)]) -> Self {
        self.prior = prior;
        self
    }

    /// Sets the corrections, oldest first.
    pub fn corrections(mut self, corrections: &'a [Correction]) -> Self {
        self.corrections = corrections;
        self
    }

    /// Sets the outputs.
    pub fn outputs(mut self, outputs: &'a [Output]) -> Self {
        self.outputs = outputs;
        self
    }

    /// In the wording of a run.
    pub(crate) fn worded(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The message.
    pub fn write(&self, fence: &Fence, budget: ContextBudget) -> FittedPrompt {
        let (kept, cuts) = fit(self.prior, budget.beside(self.text));
        let mut objective = self.text.trim_end().to_owned();
        if let Some(instruction) = instruction(self.outputs) {
            objective.push_str(&format!("\n\n{instruction}"));
        }
        let mut text = format!("<task role={} parent-goal={}>\n", quoted(self.role), quoted(self.goal));
        if kept.is_empty() {
            text.push_str(&objective);
        } else {
            text.push_str("<context>\n");
            for ((name, _), value) in self.prior.iter().zip(&kept) {
                text.push_str(&format!("<goal id={}>\n{}\n</goal>\n", quoted(name), fence.wrap(value)));
            }
            text.push_str(&format!("</context>\n\n<objective>\n{objective}\n</objective>"));
        }
        text.push_str("\n</task>");
        let corrections = corrections(self.corrections, fence);
        if !corrections.is_empty() {
            text.push('\n');
            text.push_str(corrections.trim_end());
        }
        text.push_str(&closing(self.rules, "the task asks for", self.outputs));
        FittedPrompt { text, cuts }
    }
}
