//! The sequence node.

use super::setters::setters;
use super::{Agent, Goal, Name, Node, Overrides};
use crate::agentfile::model::{Condition, Supervision, Within};

/// Goals, and the order they are pursued in.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub(crate) name: Name,
    pub(crate) order: Order,
    pub(crate) nodes: Vec<Node>,
    pub(crate) when: Option<Condition<Name>>,
    pub(crate) supervision: Supervision,
    pub(crate) overrides: Overrides,
}

/// The order goals are pursued in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Order {
    /// One after the other.
    #[default]
    Sequential,
    /// All at the same time; all must succeed. None may use what another makes.
    Parallel,
    /// One after the other, again and again until nothing is left to improve, so often at most.
    Loop(Within<Name>),
}

impl Sequence {
    /// Goals one after the other.
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            order: Order::Sequential,
            nodes: Vec::new(),
            when: None,
            supervision: Supervision::Inherit,
            overrides: Overrides::new(),
        }
    }

    /// Goals all at the same time.
    pub fn parallel(name: impl Into<Name>) -> Self {
        Self { order: Order::Parallel, ..Self::new(name) }
    }

    /// Goals again and again.
    pub fn looping(name: impl Into<Name>, within: Within<Name>) -> Self {
        Self { order: Order::Loop(within), ..Self::new(name) }
    }

    /// Adds a goal.
    #[must_use]
    pub fn goal(self, goal: Goal) -> Self {
        self.node(goal)
    }

    /// Adds an agent that does its [task](Agent::task).
    #[must_use]
    pub fn agent(self, agent: Agent) -> Self {
        self.node(agent)
    }

    /// Adds a goal or an agent.
    #[must_use]
    pub fn node(mut self, node: impl Into<Node>) -> Self {
        self.nodes.push(node.into());
        self
    }
}

setters!(Sequence { name, when("run"), supervision("every goal in it"), overrides("it") });
