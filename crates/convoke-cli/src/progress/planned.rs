//! What is to be done, before anything of it is.

use convoke_goals::{Kind, NodeRef};

/// A node of the tree that is going to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) children: Vec<Planned>,
}

impl From<NodeRef<'_>> for Planned {
    fn from(node: NodeRef<'_>) -> Self {
        let children = node.children().into_iter().map(Self::from).collect();
        Self { name: node.name().to_owned(), kind: node.kind(), children }
    }
}

/// The kind that steps of this name have, if they are nodes of a tree; other steps are parts of one.
pub(super) fn kind_of(step: &str) -> Option<Kind> {
    const NODES: [Kind; 5] = [Kind::Workflow, Kind::Sequence, Kind::Goal, Kind::Convergence, Kind::Agent];
    NODES.into_iter().find(|kind| kind.name() == step)
}
