//! The prompt that asks for one answer out of several.

use super::briefing::corrections;
use super::budget::fit;
use super::outputs::instruction;
use super::{ContextBudget, Fence, FittedPrompt, quoted};
use crate::supervise::Correction;
use crate::tree::Output;

/// The message that asks for one answer out of several, in the order they were asked for, with what is to be done
/// differently than before.
#[must_use]
pub fn synthesis(
    goal: &str,
    description: &str,
    answers: &[(&str, &str)],
    corrected: &[Correction],
    outputs: &[Output],
    fence: &Fence,
    budget: ContextBudget,
) -> FittedPrompt {
    let (kept, cuts) = fit(answers, budget.beside(description));
    let mut text = format!(
        "<current-goal id={}>\n{}\n</current-goal>\n\n<answers>\n",
        quoted(goal),
        description.trim_end()
    );
    for ((agent, _), answer) in answers.iter().zip(&kept) {
        text.push_str(&format!("<answer agent={}>\n{}\n</answer>\n", quoted(agent), fence.wrap(answer)));
    }
    text.push_str(
        "</answers>\n\nPut these answers together into one coherent answer to the goal. Say nothing twice; where they \
         contradict each other, weigh them and say what remains open.",
    );
    if let Some(instruction) = instruction(outputs) {
        text.push_str(&format!("\n\n{instruction}"));
    }
    // Whoever answered knows them too, and would not be heard if they were forgotten here.
    text.push_str(&corrections(corrected, fence));
    FittedPrompt { text, cuts }
}
