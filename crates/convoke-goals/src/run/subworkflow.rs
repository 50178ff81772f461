//! Subworkflows: workflows that are agents.

use std::sync::Arc;

use convoke_core::{Error, Scope};

use super::agent::Brief;
use super::called_tools::CalledTools;
use super::error::GoalError;
use super::events;
use super::outputs::typed;
use super::workflow::WorkflowStep;
use super::workflow_context::{WorkflowContext, borrowed};
use crate::context::{self, FittedPrompt};
use crate::plan::{Plan, WorkerSettings};
use crate::state::{GoalState, Values, text_of};
use crate::supervise::{Correction, Product};
use crate::tree::{Name, Output};

/// A workflow that is an agent. It has a state of its own; its last result is what it answers.
pub(super) struct SubWorkflow<'a> {
    pub(super) around: &'a WorkflowContext,
    /// The agent that it is.
    pub(super) agent: &'a Name,
    pub(super) settings: &'a WorkerSettings,
    pub(super) plan: &'a Arc<Plan>,
    /// The input that is given the task.
    pub(super) task: &'a Name,
    pub(super) brief: &'a Brief,
    pub(super) outputs: &'a [Output],
}

impl SubWorkflow<'_> {
    pub(super) async fn run(&self, scope: &Scope, corrections: &[Correction]) -> Result<Product, Error> {
        let agent = || self.agent.to_string();
        let FittedPrompt { text: task, cuts } = self.whole_task(scope, corrections).await?;
        events::context_cut(scope, self.agent, &cuts).await;
        let mut state = GoalState { inputs: self.inputs(&task)?, ..GoalState::default() };
        let called = CalledTools::default();
        let level = self.brief.level(self.around);
        let inner = WorkflowStep::within(self.around, (self.plan, self.task), level, called.clone());
        scope.run(&inner, &mut state).await?;
        let text = self.result(&state).ok_or_else(|| GoalError::NoResult { agent: agent() })?;
        let mut product = Product { text, tools: called.names(), ..Product::default() };
        self.read(scope, &state, &mut product).await;
        Ok(product)
    }

    fn inputs(&self, task: &str) -> Result<Values, Error> {
        let mut inputs = Values::new();
        for input in &self.plan.inputs {
            if input.name == *self.task {
                inputs.set(Arc::clone(self.task), task);
            } else if let Some(default) = &input.default {
                inputs.set(Arc::clone(&input.name), default.clone());
            } else {
                let (agent, input) = (self.agent.to_string(), input.name.to_string());
                return Err(GoalError::NoInput { agent, input }.into());
            }
        }
        Ok(inputs)
    }

    /// What it is to do: the text, what there is already, and what is to be done differently.
    async fn whole_task(&self, scope: &Scope, corrections: &[Correction]) -> Result<FittedPrompt, Error> {
        let mut text = self.brief.text.clone();
        let mut cuts = Vec::new();
        let fence = &self.around.fence;
        let history = self.brief.history.as_deref().unwrap_or_default();
        if let Some(previous) = history.last() {
            let name = format!("iteration {}", history.len());
            let texts = vec![(name, previous.clone())];
            let texts = self.around.condensed_everywhere(self.settings, scope, texts, &text).await?;
            let budget = self.around.equipment.context_budget.beside(&text);
            let kept;
            (kept, cuts) = context::fit(&borrowed(&texts), budget);
            text.push_str(&format!("\n\nImprove on this:\n{}", fence.wrap(&kept.concat())));
        }
        // Not fenced: what stands in a fence is not followed.
        text.push_str(context::corrections(corrections, fence).trim_end());
        Ok(FittedPrompt { text, cuts })
    }

    /// What the last of its goals came to that was not skipped.
    fn result(&self, state: &GoalState) -> Option<String> {
        let nodes = self.plan.sequences.iter().rev().flat_map(|sequence| sequence.nodes.iter().rev());
        let mut pursued = nodes.filter(|node| state.skipped.iter().all(|skipped| **skipped != **node.name()));
        pursued.find_map(|node| state.outputs.get(node.name())).map(text_of)
    }

    /// Its outputs are values of the same names that it made.
    async fn read(&self, scope: &Scope, state: &GoalState, product: &mut Product) {
        let mut fields = Vec::new();
        for output in self.outputs {
            match state.outputs.get(output.name()).and_then(|value| typed(value, output.ty())) {
                Some(value) => product.fields.set(output.name(), value),
                None => {
                    let words = output.ty().in_words();
                    let name = output.name();
                    product.missing.push(format!("`{name}` is not made by the workflow, or is not {words}"));
                    fields.push(name);
                }
            }
        }
        if !fields.is_empty() {
            events::output_missing(scope, self.agent, &fields, &product.missing.join("; ")).await;
        }
    }
}
