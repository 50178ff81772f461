//! The plan of an Agentfile as a tree that progress can be shown on.

use convoke_goals::{GoalNodeKind, NodeRef, Workflow};
use convoke_history::progress::{NodeKind, PlannedNode};

use crate::Definition;

/// The tree of what is going to be run. Of what is no Agentfile, the whole is known.
#[must_use]
pub fn planned(definition: &dyn Definition) -> PlannedNode {
    match definition.agentfile() {
        Some(file) => node(NodeRef::from(&Workflow::from(file))),
        None => PlannedNode::workflow(definition.name()),
    }
}

fn node(node: NodeRef<'_>) -> PlannedNode {
    PlannedNode {
        name: node.name().to_owned(),
        kind: match node.kind() {
            GoalNodeKind::Workflow => NodeKind::Workflow,
            GoalNodeKind::Sequence => NodeKind::Sequence,
            GoalNodeKind::Goal => NodeKind::Goal,
            GoalNodeKind::Convergence => NodeKind::Convergence,
            GoalNodeKind::Agent => NodeKind::Agent,
        },
        children: node.children().into_iter().map(self::node).collect(),
    }
}
