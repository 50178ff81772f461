//! Nodes, and walking a tree.

use std::fmt;

use super::{Agent, Goal, Sequence, Workflow};

/// A goal or an agent, in a sequence or below a goal.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A goal, perhaps one that is improved on.
    Goal(Goal),
    /// An agent.
    Agent(Agent),
}

impl From<Goal> for Node {
    fn from(goal: Goal) -> Self {
        Self::Goal(goal)
    }
}

impl From<Agent> for Node {
    fn from(agent: Agent) -> Self {
        Self::Agent(agent)
    }
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoalNodeKind {
    /// The whole.
    Workflow,
    /// Goals in an order.
    Sequence,
    /// Something to achieve once.
    Goal,
    /// Something to achieve by improving on it.
    Convergence,
    /// Somebody who pursues goals.
    Agent,
}

impl GoalNodeKind {
    /// Returns its name in steps, events and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Sequence => "sequence",
            Self::Goal => "goal",
            Self::Convergence => "convergence",
            Self::Agent => "agent",
        }
    }
}

impl fmt::Display for GoalNodeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Any node of a tree.
#[derive(Debug, Clone, Copy)]
pub enum NodeRef<'a> {
    /// The whole.
    Workflow(&'a Workflow),
    /// Goals in an order.
    Sequence(&'a Sequence),
    /// Something to achieve.
    Goal(&'a Goal),
    /// Somebody who pursues goals.
    Agent(&'a Agent),
}

impl<'a> NodeRef<'a> {
    /// Returns its kind.
    #[must_use]
    pub fn kind(self) -> GoalNodeKind {
        match self {
            Self::Workflow(_) => GoalNodeKind::Workflow,
            Self::Sequence(_) => GoalNodeKind::Sequence,
            Self::Goal(goal) if goal.converge.is_some() => GoalNodeKind::Convergence,
            Self::Goal(_) => GoalNodeKind::Goal,
            Self::Agent(_) => GoalNodeKind::Agent,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Self::Workflow(workflow) => workflow.name(),
            Self::Sequence(sequence) => sequence.name(),
            Self::Goal(goal) => goal.name(),
            Self::Agent(agent) => agent.name(),
        }
    }

    /// The nodes below it, in declared order.
    #[must_use]
    pub fn children(self) -> Vec<Self> {
        match self {
            Self::Workflow(workflow) => workflow.sequences.iter().map(NodeRef::Sequence).collect(),
            Self::Sequence(sequence) => sequence.nodes.iter().map(NodeRef::from).collect(),
            Self::Goal(goal) => goal.using.iter().map(NodeRef::from).collect(),
            Self::Agent(_) => Vec::new(),
        }
    }

    /// This node and everything below it, depth first, in declared order.
    ///
    /// ```
    /// use convoke_goals::{Agent, Goal, NodeRef, Sequence, Workflow};
    ///
    /// let review = Goal::new("review", "Review it").using(Agent::new("critic", "You are a critic."));
    /// let tree = Workflow::new("tree").sequence(Sequence::new("main").goal(review));
    /// let names: Vec<&str> = NodeRef::from(&tree).walk().map(NodeRef::name).collect();
    /// assert_eq!(names, ["tree", "main", "review", "critic"]);
    /// ```
    pub fn walk(self) -> impl Iterator<Item = Self> {
        let mut next = vec![self];
        std::iter::from_fn(move || {
            let node = next.pop()?;
            next.extend(node.children().into_iter().rev());
            Some(node)
        })
    }

    /// The first node of a kind and a name, itself included, depth first.
    #[must_use]
    pub fn find(self, kind: GoalNodeKind, name: &str) -> Option<Self> {
        self.walk().find(|node| node.kind() == kind && node.name() == name)
    }
}

impl<'a> From<&'a Node> for NodeRef<'a> {
    fn from(node: &'a Node) -> Self {
        match node {
            Node::Goal(goal) => Self::Goal(goal),
            Node::Agent(agent) => Self::Agent(agent),
        }
    }
}

macro_rules! references {
    ($($node:ident),*) => {
        $(
            impl<'a> From<&'a $node> for NodeRef<'a> {
                fn from(node: &'a $node) -> Self {
                    Self::$node(node)
                }
            }
        )*
    };
}

references!(Workflow, Sequence, Goal, Agent);
