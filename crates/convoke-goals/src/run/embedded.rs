//! A goal that is a workflow of another kind, run within the same run.

use convoke_core::{Error, Scope};

use super::error::GoalError;
use super::events;
use super::goal::Pursuit;
use super::outputs::typed;
use super::worker::WorkResult;
use crate::context;
use crate::plan::PlannedEmbedded;
use crate::state::{GoalState, Values, text_of};
use crate::supervise::Product;

/// Runs the workflow with the values that have the names of its inputs.
pub(super) async fn run(
    pursuit: &Pursuit<'_>,
    workflow: &PlannedEmbedded,
    scope: &Scope,
    state: &GoalState,
) -> Result<WorkResult, Error> {
    let goal = pursuit.goal;
    let begins = workflow.equipped.bind(inputs(pursuit, workflow, state)).map_err(|problems| {
        GoalError::BadInputs { goal: goal.name.to_string(), problems: problems.join("; ") }
    })?;
    let ended = workflow.equipped.runner().run_within(scope, Some(begins)).await?;
    let result = workflow.equipped.result(&ended);
    let text = result.text.ok_or_else(|| GoalError::NothingSaid { goal: goal.name.to_string() })?;
    let mut product = Product { text, ..Product::default() };
    let mut lacking = Vec::new();
    for output in &goal.outputs {
        match result.values.get(output.name()).and_then(|value| typed(value, output.ty())) {
            Some(value) => product.fields.set(output.name(), value),
            None => {
                let words = output.ty().in_words();
                product.missing.push(format!("`{}` was not given, or is not {words}", output.name()));
                lacking.push(output.name());
            }
        }
    }
    if !lacking.is_empty() {
        events::output_missing(scope, &goal.name, &lacking, &product.missing.join("; ")).await;
    }
    Ok(WorkResult { product, ..WorkResult::default() })
}

/// What it is given: of its inputs those that the goal's text has, and what is to be done differently.
fn inputs(pursuit: &Pursuit<'_>, workflow: &PlannedEmbedded, state: &GoalState) -> Values {
    let declared = &workflow.declared;
    let mut given = Values::new();
    for input in declared.inputs() {
        let is_used = pursuit.goal.text.variables().any(|variable| **variable == *input.name);
        if let Some(value) = state.get(&input.name).filter(|_| is_used) {
            given.set(input.name.as_str(), typed(value, &input.ty).unwrap_or_else(|| value.clone()));
        }
    }
    if let Some(task) = declared.task().filter(|_| !pursuit.corrections.is_empty()) {
        let said = given.get(task).map(text_of).unwrap_or_default();
        let corrected = context::corrections(pursuit.corrections, &pursuit.around.fence);
        given.set(task, format!("{said}{corrected}").trim());
    }
    given
}
