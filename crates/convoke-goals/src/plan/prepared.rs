//! A prepared workflow, ready to be run.

use std::collections::BTreeSet;
use std::sync::Arc;

use convoke_core::{Digest, Outline, Step};

use super::problem::Problem;
use super::{Plan, PlannedNode, SupervisedBy};
use crate::equipment::Equipment;
use crate::secret::Secrets;
use crate::state::{GoalState, Values, text_of};
use crate::tree::{Input, Workflow};

/// A workflow that is ready to be run: checked as a whole, with everything it needs chosen.
#[derive(Clone)]
pub struct PreparedWorkflow {
    plan: Arc<Plan>,
    equipment: Arc<Equipment>,
    warnings: Arc<[Problem]>,
}

impl PreparedWorkflow {
    pub(super) fn new(plan: Plan, equipment: Equipment, warnings: Vec<Problem>) -> Self {
        Self { plan: Arc::new(plan), equipment: Arc::new(equipment), warnings: warnings.into() }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// Returns its inputs, in declared order.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.plan.inputs
    }

    /// Returns warnings: what looks wrong and is not.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The workflow as the kernel runs it: start it with the state that [`bind`](Self::bind) gives.
    #[must_use]
    pub fn workflow(&self) -> convoke_core::Workflow<GoalState> {
        convoke_core::Workflow::new(self.step())
    }

    /// Makes a step, to stand among others: run it with the state that [`bind`](Self::bind) gives.
    #[must_use]
    pub fn step(&self) -> impl Step<GoalState> + 'static {
        crate::run::step(Arc::clone(&self.plan), Arc::clone(&self.equipment))
    }

    /// Returns the digest that decides whether it is the workflow that a run began with. A run whose workflow has changed
    /// since is refused where it cannot go on (steps it has been through are gone, or would be asked something else), and
    /// otherwise goes on with what the workflow says now, after an event `workflow_changed`.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.plan.digest()
    }

    /// Returns its outline.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.plan.outline()
    }

    /// The goals and agents over which a person watches, by name, in the order they are run: without somebody who
    /// answers, a run waits there.
    #[must_use]
    pub fn needs_human(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.plan.for_each_node(&mut |node| {
            let supervised_by = match node {
                PlannedNode::Goal(goal) => goal.supervised_by,
                PlannedNode::Agent(agent) => agent.supervised_by,
            };
            if supervised_by == SupervisedBy::Human && !names.contains(&&**node.name()) {
                names.push(node.name());
            }
        });
        names
    }

    /// The names of the tools that any goal or agent of it may call. Whatever else there is need not be described to it.
    #[must_use]
    pub fn tools(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.plan.for_each_node(&mut |node| names.extend(node.settings().tools.names()));
        names
    }

    /// The secret inputs that were not given: a run can neither start nor go on without them.
    #[must_use]
    pub fn missing_secrets(&self) -> Vec<&str> {
        let secret = self.inputs().iter().filter(|input| input.secret);
        secret.map(|input| &*input.name).filter(|name| !self.equipment.secrets.has(name)).collect()
    }

    pub(super) fn equipment(&self) -> &Equipment {
        &self.equipment
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

impl std::fmt::Debug for PreparedWorkflow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PreparedWorkflow").field("name", &self.plan.name).finish_non_exhaustive()
    }
}

impl Workflow {
    /// Takes the secret inputs out of what a caller gave.
    #[must_use]
    pub fn separate_secrets(&self, given: Values) -> (Secrets, Values) {
        let mut secrets = Secrets::new();
        let mut rest = Values::new();
        for (name, value) in given.iter() {
            if self.inputs().iter().any(|input| input.secret && &*input.name == name) {
                secrets.set(name, text_of(value));
            } else {
                rest.set(name, value.clone());
            }
        }
        (secrets, rest)
    }
}
