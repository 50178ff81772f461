//! Planned nodes, before anything of them has begun.

use std::fmt;

/// A node of the tree that is going to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedNode {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What is in it, in order.
    pub children: Vec<PlannedNode>,
}

impl PlannedNode {
    /// A workflow of which nothing else is known.
    #[must_use]
    pub fn workflow(name: &str) -> Self {
        Self { name: name.to_owned(), kind: NodeKind::Workflow, children: Vec::new() }
    }
}

/// The kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// The whole.
    Workflow,
    /// Goals in an order.
    Sequence,
    /// Something to achieve once.
    Goal,
    /// Something to achieve by improving on it.
    Convergence,
    /// An agent that pursues goals.
    Agent,
    /// A node of a graph. Its steps are called by what they do, so it is known by the graph it is in.
    Node,
}

impl NodeKind {
    const ALL: [Self; 5] = [Self::Workflow, Self::Sequence, Self::Goal, Self::Convergence, Self::Agent];

    /// Returns its name in events and outlines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Sequence => "sequence",
            Self::Goal => "goal",
            Self::Convergence => "convergence",
            Self::Agent => "agent",
            Self::Node => "node",
        }
    }

    /// The kind of this name, if steps of it are nodes of a tree; other steps are parts of one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
