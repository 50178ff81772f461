//! The step of a sequence: goals one after the other, in parallel, or in a loop.

use std::sync::Arc;

use convoke_core::{Bounds, BoxFuture, Error, Nature, Outline, Scope, SharedStep, Step};
use convoke_steps::{Join, Parallel};

use super::agent::AgentStep;
use super::goal::GoalStep;
use super::retry::retried;
use super::workflow_context::WorkflowContext;
use super::{events, rounds};
use crate::plan::{PlannedNode, PlannedSequence};
use crate::state::GoalState;
use crate::tree::Order;

/// A sequence of the plan.
pub(super) struct SequenceStep {
    around: Arc<WorkflowContext>,
    index: usize,
}

impl SequenceStep {
    pub(super) fn new(around: &Arc<WorkflowContext>, index: usize) -> Self {
        Self { around: Arc::clone(around), index }
    }

    fn sequence(&self) -> &PlannedSequence {
        &self.around.plan.sequences[self.index]
    }

    async fn skip(&self, scope: &Scope, state: &mut GoalState) {
        let sequence = self.sequence();
        let reason = format!("the condition of `{}` does not hold", sequence.name);
        for node in &sequence.nodes {
            state.skip(node.name());
            events::goal_skipped(scope, node.name(), &reason).await;
        }
    }
}

impl Step<GoalState> for SequenceStep {
    fn name(&self) -> &str {
        &self.sequence().name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut GoalState) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let sequence = self.sequence();
            if !self.around.holds(("sequence", &sequence.name), sequence.when.as_ref(), state)? {
                self.skip(scope, state).await;
                return Ok(());
            }
            match &sequence.order {
                Order::Sequential => one_after_the_other(&self.around, sequence, scope, state).await,
                Order::Parallel => all_at_once(&self.around, sequence, scope, state).await,
                Order::Loop(within) => rounds::run(&self.around, sequence, within, scope, state).await,
            }
        })
    }

    fn kind(&self) -> &'static str {
        "sequence"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(&self.sequence().bounds)
    }

    fn outline(&self) -> Outline {
        let sequence = self.sequence();
        Outline::composite(&*sequence.name, self.kind(), sequence.nodes.iter().map(PlannedNode::outline))
    }
}

/// Runs the nodes of a sequence in order.
pub(super) async fn one_after_the_other(
    around: &Arc<WorkflowContext>,
    sequence: &PlannedSequence,
    scope: &Scope,
    state: &mut GoalState,
) -> Result<(), Error> {
    let mut chain = around.chain(&sequence.name);
    for node in &sequence.nodes {
        chain = chain.then(standing(around, node)?);
    }
    scope.composing().inline(&chain, state).await
}

async fn all_at_once(
    around: &Arc<WorkflowContext>,
    sequence: &PlannedSequence,
    scope: &Scope,
    state: &mut GoalState,
) -> Result<(), Error> {
    let before = Arc::new(state.clone());
    let mut parallel = Parallel::builder(&*sequence.name, Join::all().cancel_rest());
    for node in &sequence.nodes {
        let before = Arc::clone(&before);
        parallel = parallel.branch(standing(around, node)?, move |state: &mut GoalState, done| {
            state.take_over(done.changes_since(&before));
        });
    }
    let parallel = parallel.build().map_err(Error::failed)?;
    scope.composing().inline(&parallel, state).await?;
    around.publish(scope, state).await
}

/// What stands in a sequence, as a step.
fn standing(around: &Arc<WorkflowContext>, node: &PlannedNode) -> Result<SharedStep<GoalState>, Error> {
    match node {
        PlannedNode::Goal(goal) => retried(GoalStep::new(around, goal), goal.retry),
        PlannedNode::Agent(agent) => retried(AgentStep::new(around, agent), agent.retry),
    }
}
