//! The root step of a goal workflow.

use std::sync::Arc;

use convoke_core::{Bounds, BoxFuture, Error, Nature, Outline, Scope, Step};
use convoke_steps::Chain;

use super::called_tools::CalledTools;
use super::events;
use super::run_settings::RunSettings;
use super::sequence::SequenceStep;
use super::workflow_context::WorkflowContext;
use crate::equipment::Equipment;
use crate::plan::Plan;
use crate::secret::{self, SealedEquipment};
use crate::state::GoalState;
use crate::tree::Name;

/// A workflow: its sequences, one after the other.
pub(super) struct WorkflowStep {
    plan: Arc<Plan>,
    equipment: Arc<Equipment>,
    /// What is drawn and looked up once for a run, if there is a workflow around this one.
    run: Option<RunSettings>,
    /// For a workflow that is an agent: the input that has its task.
    task: Option<Name>,
    nesting: u32,
    level: u32,
    /// The tools that are called in it.
    called: CalledTools,
}

impl WorkflowStep {
    pub(super) fn outermost(plan: Arc<Plan>, equipment: Arc<Equipment>) -> Self {
        Self { plan, equipment, run: None, task: None, nesting: 0, level: 0, called: CalledTools::default() }
    }

    /// A workflow that is an agent of another one.
    pub(super) fn within(
        around: &WorkflowContext,
        (plan, task): (&Arc<Plan>, &Name),
        level: u32,
        called: CalledTools,
    ) -> Self {
        Self {
            plan: Arc::clone(plan),
            equipment: Arc::clone(&around.equipment),
            run: Some(RunSettings {
                fence: around.fence.clone(),
                workspace: Arc::clone(&around.workspace),
                rules: around.rules,
                max_turns: around.max_turns,
                seals: around.seals.clone(),
            }),
            task: Some(Arc::clone(task)),
            nesting: around.nesting + 1,
            level,
            called,
        }
    }

    async fn surroundings(
        &self,
        scope: &Scope,
        sealed: Option<SealedEquipment>,
    ) -> Result<WorkflowContext, Error> {
        let RunSettings { fence, workspace, rules, max_turns, seals } = match &self.run {
            Some(run) => run.clone(),
            None => RunSettings::of(scope, &self.equipment, sealed).await?,
        };
        let (plan, equipment) = (Arc::clone(&self.plan), Arc::clone(&self.equipment));
        let nodes = plan.sequences.iter().flat_map(|sequence| &sequence.nodes);
        Ok(WorkflowContext {
            in_sequence: Arc::new(nodes.map(|node| Arc::clone(node.name())).collect()),
            needed: Arc::new(plan.needed()),
            plan,
            equipment,
            fence,
            workspace,
            rules,
            max_turns,
            seals,
            task: self.task.clone(),
            nesting: self.nesting,
            level: self.level,
            again: false,
            called: self.called.clone(),
        })
    }
}

impl Step<GoalState> for WorkflowStep {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut GoalState) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let sealed = match self.run {
                // The scope of the whole is sealed, and this one with it.
                Some(_) => None,
                None => secret::sealed(&self.plan, &self.equipment, scope, state)?,
            };
            let (scope, sealed) = match sealed {
                Some((scope, sealed)) => (scope, Some(sealed)),
                None => (scope.clone(), None),
            };
            let scope = &scope;
            let around = Arc::new(self.surroundings(scope, sealed).await?);
            if let Some(began) = state.plan.filter(|_| self.run.is_none()) {
                let now = self.plan.digest();
                if began != now {
                    events::workflow_changed(scope, began, now).await;
                }
            }
            let sequences = (0..self.plan.sequences.len()).map(|index| SequenceStep::new(&around, index));
            let chain = sequences.fold(around.chain(&self.plan.name), Chain::then);
            scope.composing().inline(&chain, state).await
        })
    }

    fn kind(&self) -> &'static str {
        "workflow"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(&self.plan.bounds)
    }

    fn outline(&self) -> Outline {
        self.plan.outline()
    }
}
