//! What an Agentfile is going to do, as a tree that progress can be shown on.

use convoke_goals::{GoalNodeKind, NodeRef};
use convoke_history::progress::{NodeKind, PlannedNode};

/// The tree of a node that is going to be run.
#[must_use]
pub fn planned(node: NodeRef<'_>) -> PlannedNode {
    PlannedNode {
        name: node.name().to_owned(),
        kind: match node.kind() {
            GoalNodeKind::Workflow => NodeKind::Workflow,
            GoalNodeKind::Sequence => NodeKind::Sequence,
            GoalNodeKind::Goal => NodeKind::Goal,
            GoalNodeKind::Convergence => NodeKind::Convergence,
            GoalNodeKind::Agent => NodeKind::Agent,
        },
        children: node.children().into_iter().map(planned).collect(),
    }
}
