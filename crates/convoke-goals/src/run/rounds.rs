//! Loops: a sequence that is run in rounds until nothing is left to improve.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, EventKind, Nature, Scope, Step};

use super::convergence::limit;
use super::error::GoalError;
use super::sequence::one_after_the_other;
use super::workflow_context::WorkflowContext;
use super::{events, judge};
use crate::agentfile::model::Within;
use crate::context::convergence::{ConvergenceVerdict, verdict};
use crate::plan::{PlannedNode, PlannedSequence};
use crate::state::{GoalState, text_of};
use crate::tree::Name;

/// What the goals of a round came to.
type Results = Vec<(String, String)>;

/// Runs a sequence in rounds. A round in which somebody says the word that ends a convergence is the last; otherwise a
/// model is asked after each whether another would help.
///
/// That the limit is reached first is not a failure; it is noted.
pub(super) async fn run(
    around: &Arc<WorkflowContext>,
    sequence: &PlannedSequence,
    within: &Within<Name>,
    scope: &Scope,
    state: &mut GoalState,
) -> Result<(), Error> {
    let name = &sequence.name;
    let cap = limit(name, within, state)?;
    let mut before = Results::new();
    let mut done = false;
    for number in 1..=cap {
        scope.emit(EventKind::LoopIteration { iteration: number.into() }).await;
        let round =
            Round { around: Arc::new(WorkflowContext { again: true, ..(**around).clone() }), sequence };
        let child = scope.composing().open(&round)?;
        child.composing().enter(&round, state).await.map_err(|error| error.in_step("round", child.path()))?;
        done = take_marker(sequence, &before, state)?;
        let results = results_of(sequence, state);
        if !done {
            let Some(settings) = sequence.nodes.last().map(PlannedNode::settings) else { return Ok(()) };
            done = !judge::improvable(around, settings, name, (&before, &results), scope).await?;
        }
        before = results;
        if done {
            break;
        }
    }
    if done {
        state.unconverged.remove(&**name);
    } else {
        events::cap_reached(scope, name, cap).await;
        state.unconverged.insert(name.to_string(), cap);
    }
    around.publish(scope, state).await
}

struct Round<'a> {
    around: Arc<WorkflowContext>,
    sequence: &'a PlannedSequence,
}

impl Step<GoalState> for Round<'_> {
    fn name(&self) -> &str {
        "round"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut GoalState) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(one_after_the_other(&self.around, self.sequence, scope, state))
    }

    fn kind(&self) -> &'static str {
        "iteration"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

fn results_of(sequence: &PlannedSequence, state: &GoalState) -> Results {
    let results = sequence.nodes.iter().map(PlannedNode::name);
    results.filter_map(|name| Some((name.to_string(), text_of(state.outputs.get(name)?)))).collect()
}

/// Whether somebody said the word that ends a convergence. It is taken out of the results; a result that is nothing
/// else becomes what it was before.
///
/// # Errors
/// If it is nothing else, and there was nothing before: that is no result.
fn take_marker(
    sequence: &PlannedSequence,
    before: &Results,
    state: &mut GoalState,
) -> Result<bool, GoalError> {
    let mut found = false;
    for (name, text) in results_of(sequence, state) {
        if let ConvergenceVerdict::Converged { rest } = verdict(&text) {
            found = true;
            let earlier = before.iter().find(|(earlier, _)| *earlier == name);
            match earlier {
                Some((_, earlier)) if rest.is_empty() => state.outputs.set(name, earlier.as_str()),
                None if rest.is_empty() => {
                    let reason = "it gave nothing but the word that ends a loop".to_owned();
                    return Err(GoalError::Incomplete { name, reason });
                }
                _ => state.outputs.set(name, rest),
            }
        }
    }
    Ok(found)
}
