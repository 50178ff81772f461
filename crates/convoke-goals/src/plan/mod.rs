//! The plan: a prepared tree, which the executor works with.
//!
//! Nothing in it is open any more: texts are read, models and tools are chosen, overrides are layered, and who watches
//! is decided. It can only be made by preparing a tree that has no error.
//!
//! # What the executor may rely on
//! - Every variable in a text, a condition or a `within` is an input or is made by a node that is run before.
//! - Nodes of a [parallel](crate::tree::Order::Parallel) sequence use nothing that another of them makes.
//! - Names of nodes are unique, except that the same node may stand in several places.

mod bind;
mod digest;
mod flow;
mod needed;
mod outline;
mod prepare;
mod prepared;
mod problem;

pub use bind::{BoundInputs, InputProblem, InvalidInputs};
pub use prepared::PreparedWorkflow;
pub use problem::{Availability, InvalidWorkflow, Problem, ProblemKind};

use std::sync::Arc;

use convoke_core::{Bounds, Model, ModelParams, Toolset};

use crate::agentfile::Template;
use crate::agentfile::model::{Condition, Retry, SecurityMode, Within};
use crate::embedded::{EmbeddedWorkflow, EquippedWorkflow};
use crate::tree::{GoalNodeKind, Input, Name, Order, Output};

/// A prepared workflow.
#[derive(Clone)]
pub(crate) struct Plan {
    pub name: Name,
    pub inputs: Vec<Input>,
    pub sequences: Vec<PlannedSequence>,
    pub security: Option<SecurityMode>,
    /// What the workflow as a whole may take and use.
    pub bounds: Bounds,
}

/// The supervisor of a node, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisedBy {
    /// Nobody.
    Nobody,
    /// A model, if there is a reason to look.
    Model,
    /// A person, always.
    Human,
}

#[derive(Clone)]
pub(crate) struct PlannedSequence {
    pub name: Name,
    pub order: Order,
    pub nodes: Vec<PlannedNode>,
    pub when: Option<Condition<Name>>,
    pub bounds: Bounds,
}

#[derive(Clone)]
pub(crate) enum PlannedNode {
    Goal(PlannedGoal),
    Agent(PlannedAgent),
}

#[derive(Clone)]
pub(crate) struct PlannedGoal {
    pub name: Name,
    pub text: Template<Name>,
    /// The workflow of another kind that it is.
    pub embedded: Option<PlannedEmbedded>,
    pub outputs: Vec<Output>,
    pub using: Vec<PlannedNode>,
    pub converge: Option<Within<Name>>,
    pub when: Option<Condition<Name>>,
    pub supervised_by: SupervisedBy,
    pub settings: WorkerSettings,
    pub bounds: Bounds,
    pub retry: Option<Retry>,
    /// The memory it is remembered in.
    pub memory: Option<String>,
}

/// A workflow of another kind with everything it needs, and what it is.
#[derive(Clone)]
pub(crate) struct PlannedEmbedded {
    pub declared: EmbeddedWorkflow,
    pub equipped: Arc<dyn EquippedWorkflow>,
}

#[derive(Clone)]
pub(crate) struct PlannedAgent {
    pub name: Name,
    pub persona: PlannedPersona,
    /// What to do where no goal says it.
    pub task: Option<Template<Name>>,
    pub outputs: Vec<Output>,
    pub supervised_by: SupervisedBy,
    pub settings: WorkerSettings,
    pub bounds: Bounds,
    pub retry: Option<Retry>,
}

#[derive(Clone)]
pub(crate) enum PlannedPersona {
    Prompt(Template<Name>),
    Workflow { plan: Arc<Plan>, task: Name },
}

/// The settings of a worker: its model, tools and instructions.
#[derive(Clone)]
pub(crate) struct WorkerSettings {
    /// The model; `None`: the run's.
    pub model: Option<Arc<dyn Model>>,
    pub params: ModelParams,
    pub tools: Toolset,
    /// Whether somebody chose these tools, rather than leaving it at all there are.
    pub tools_chosen: bool,
    /// Lists of rules, of each of which one must let a call be made: see [`allowed`](crate::skills::allowed).
    pub call_rules: Vec<Arc<[String]>>,
    /// Tools that rules about calls have left it, and that runs of [first rules](crate::rules::Rules::FIRST) are without.
    pub by_call: Vec<String>,
    /// What lists of tools say about calling in agents at run time, if there are any.
    pub spawning: Option<bool>,
    /// Instructions, from the workflow's to its own.
    pub context: Vec<String>,
    /// The turns of the innermost budget around it that limits them.
    pub turns: Option<u64>,
}

impl Plan {
    /// Visits all nodes, also those of workflows that are agents, and those within a node before it.
    pub(crate) fn for_each_node<'p>(&'p self, visit: &mut dyn FnMut(&'p PlannedNode)) {
        self.sequences.iter().flat_map(|sequence| &sequence.nodes).for_each(|node| node.for_each_node(visit));
    }
}

impl PlannedNode {
    fn for_each_node<'p>(&'p self, visit: &mut dyn FnMut(&'p PlannedNode)) {
        match self {
            Self::Goal(goal) => goal.using.iter().for_each(|inner| inner.for_each_node(visit)),
            Self::Agent(agent) => {
                if let PlannedPersona::Workflow { plan, .. } = &agent.persona {
                    plan.for_each_node(visit);
                }
            }
        }
        visit(self);
    }

    pub(crate) fn name(&self) -> &Name {
        match self {
            Self::Goal(goal) => &goal.name,
            Self::Agent(agent) => &agent.name,
        }
    }

    pub(crate) fn settings(&self) -> &WorkerSettings {
        match self {
            Self::Goal(goal) => &goal.settings,
            Self::Agent(agent) => &agent.settings,
        }
    }

    pub(crate) fn kind(&self) -> GoalNodeKind {
        match self {
            Self::Goal(goal) => goal.kind(),
            Self::Agent(_) => GoalNodeKind::Agent,
        }
    }

    pub(crate) fn outputs(&self) -> &[Output] {
        match self {
            Self::Goal(goal) => &goal.outputs,
            Self::Agent(agent) => &agent.outputs,
        }
    }

    pub(crate) fn when(&self) -> Option<&Condition<Name>> {
        match self {
            Self::Goal(goal) => goal.when.as_ref(),
            Self::Agent(_) => None,
        }
    }
}

impl PlannedGoal {
    pub(crate) fn kind(&self) -> GoalNodeKind {
        if self.converge.is_some() { GoalNodeKind::Convergence } else { GoalNodeKind::Goal }
    }
}
