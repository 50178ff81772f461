//! The prompt for a goal: its description, earlier results, corrections and outputs.

use super::budget::fit;
use super::outputs::instruction;
use super::{ContextBudget, Fence, FittedPrompt, quoted};
use crate::rules::Rules;
use crate::supervise::Correction;
use crate::tree::Output;

/// The message that tells the main model what to achieve.
///
/// ```
/// use convoke_goals::context::{Briefing, ContextBudget, Fence};
///
/// let briefing = Briefing::new("plan", "choose", "Choose two of them")
///     .prior(&[("collect", "wash, sing, sleep")])
///     .write(&Fence::new(1), ContextBudget::default());
/// assert!(briefing.text.starts_with("<workflow name=\"plan\">\n"));
/// assert!(briefing.text.contains("<goal id=\"collect\">"));
/// assert!(briefing.text.contains("<current-goal id=\"choose\">\nChoose two of them\n</current-goal>"));
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a briefing says nothing until it is written"]
pub struct Briefing<'a> {
    workflow: &'a str,
    goal: &'a str,
    description: &'a str,
    prior: &'a [(&'a str, &'a str)],
    history: &'a [String],
    converging: bool,
    came_empty: bool,
    rules: Rules,
    corrections: &'a [Correction],
    outputs: &'a [Output],
}

impl<'a> Briefing<'a> {
    /// A goal of a workflow; values are in its description already.
    pub fn new(workflow: &'a str, goal: &'a str, description: &'a str) -> Self {
        Self {
            workflow,
            goal,
            description,
            prior: &[],
            history: &[],
            converging: false,
            came_empty: false,
            rules: Rules::CURRENT,
            corrections: &[],
            outputs: &[],
        }
    }

    /// Sets the results of goals before it, oldest first.
    pub fn prior(mut self, prior: &'a [(&'a str, &'a str)]) -> Self {
        self.prior = prior;
        self
    }

    /// Sets the iterations so far, oldest first: it is to be improved on.
    pub fn converging(mut self, history: &'a [String]) -> Self {
        self.converging = true;
        self.history = history;
        self
    }

    /// The last iteration gave nothing.
    pub(crate) fn came_empty(mut self, came_empty: bool) -> Self {
        self.came_empty = came_empty;
        self
    }

    /// In the wording of a run.
    pub(crate) fn worded(mut self, rules: Rules) -> Self {
        self.rules = rules;
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

    /// The message.
    pub fn write(&self, fence: &Fence, budget: ContextBudget) -> FittedPrompt {
        let iterations: Vec<String> = (1..=self.history.len()).map(|n| format!("iteration {n}")).collect();
        let history = iterations.iter().zip(self.history).map(|(name, text)| (name.as_str(), text.as_str()));
        let texts: Vec<(&str, &str)> = self.prior.iter().copied().chain(history).collect();
        let (kept, cuts) = fit(&texts, budget.beside(self.description));
        let (prior, history) = kept.split_at(self.prior.len());

        let mut text = format!("<workflow name={}>\n", quoted(self.workflow));
        if !kept.is_empty() {
            text.push_str("\n<context>\n");
            for ((name, _), value) in self.prior.iter().zip(prior) {
                text.push_str(&format!("  <goal id={}>\n{}\n  </goal>\n\n", quoted(name), fence.wrap(value)));
            }
            if !history.is_empty() {
                text.push_str("  <convergence-history>\n");
                for (index, value) in history.iter().enumerate() {
                    let number = index + 1;
                    let value = fence.wrap(value);
                    text.push_str(&format!("    <iteration n=\"{number}\">\n{value}\n    </iteration>\n"));
                }
                text.push_str("  </convergence-history>\n\n");
            }
            text.truncate(text.trim_end_matches('\n').len());
            text.push_str("\n</context>\n");
        }
        text.push_str(&format!("\n<current-goal id={}>\n{}", quoted(self.goal), self.description.trim_end()));
        if let Some(instruction) = instruction(self.outputs) {
            text.push_str(&format!("\n\n{instruction}"));
        }
        text.push_str("\n</current-goal>\n");
        let has_history = !history.is_empty();
        if let Some(instruction) = self.convergence_instruction(has_history) {
            text.push_str(&format!(
                "\n<convergence-instruction>\n{instruction}\n</convergence-instruction>\n"
            ));
        }
        text.push_str(&corrections(self.corrections, fence));
        text.push_str("\n</workflow>");
        if self.came_empty && self.rules.reworded() {
            text.push_str("\n\nYour last reply had no result in it.");
        }
        text.push_str(&closing(self.rules, "the current goal asks for", self.outputs));
        FittedPrompt { text, cuts }
    }

    /// What is said of improving. Who has nothing yet is not told how to say that nothing is left to improve: small models say
    /// it at once, and nothing else.
    fn convergence_instruction(&self, has_history: bool) -> Option<String> {
        let has_outputs = !self.outputs.is_empty();
        if !self.converging {
            None
        } else if !self.rules.reworded() {
            Some(first_convergence_instruction(has_history, has_outputs))
        } else {
            has_history.then(|| convergence_instruction(has_outputs))
        }
    }
}

/// What those are told who improve on something that is there. How often they may is not among it: they would use it up.
fn convergence_instruction(has_outputs: bool) -> String {
    let begin = "Refine the previous iteration: if it can be improved in a way that matters, give the whole improved result.";
    let end = if has_outputs {
        "Set the field `converged` to true if nothing needs improving, and not before."
    } else {
        "If nothing needs improving, answer with the single word CONVERGED."
    };
    format!("{begin} {end}")
}

/// The same as runs have it that were begun with the first wording.
fn first_convergence_instruction(has_history: bool, has_outputs: bool) -> String {
    let begin = if has_history {
        "This goal is reached by improving. Refine the previous iteration: keep what is good, mend what is not, and \
         give the whole result again."
    } else {
        "This goal is reached by improving. Give your first complete result; you will see it again."
    };
    let end = if has_outputs {
        "When satisfied that no meaningful improvement remains, set the field `converged` to true, and not before."
    } else {
        "When satisfied that no meaningful improvement remains, end with a line that says only CONVERGED, and not before."
    };
    format!("{begin}\n{end}")
}

/// What a prompt ends with, where no outputs say what an answer looks like: small models answer in the manner of what they
/// read last.
pub(super) fn closing(rules: Rules, what: &str, outputs: &[Output]) -> String {
    if !rules.reworded() || !outputs.is_empty() {
        return String::new();
    }
    format!(
        "\n\nNow do what {what}, and write nothing but what comes of it, as plain text or Markdown without the tags above."
    )
}

/// What is to be done differently. It is not fenced: it is there to be followed.
pub(crate) fn corrections(corrections: &[Correction], fence: &Fence) -> String {
    let mut text = String::new();
    for correction in corrections {
        let source = correction.source.name();
        let said = fence.without_marks(correction.text.trim_end());
        text.push_str(&format!("\n<correction source=\"{source}\">\n{said}\n</correction>\n"));
    }
    if !corrections.is_empty() {
        text.push_str(
            "\nWhat you gave before was not accepted. Do what the corrections ask for, the latest first.\n",
        );
    }
    text
}
