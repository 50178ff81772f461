//! How deep a tree is. Everything else goes through it by calling itself, so this must come first, and must not.

use crate::plan::problem::{Problem, ProblemKind};
use crate::tree::{Kind, Name, Node, NodeRef, Persona, Workflow};

/// How deep goals may stand below goals.
const GOALS: usize = 32;

/// How deep workflows may be agents of workflows.
const WORKFLOWS: usize = 8;

/// Somewhere in a tree.
struct Level<'w> {
    node: &'w Node,
    /// How many workflows there are around its own.
    workflows: usize,
    /// How many goals there are around it in its workflow.
    goals: usize,
}

/// # Errors
/// The first node that is too deep.
pub(super) fn check(workflow: &Workflow) -> Result<(), Problem> {
    let too_deep = |name: &Name, node: Kind, most: usize| {
        // The whole way would be as long as it is deep.
        let path = vec![workflow.name.clone(), name.clone()];
        Err(Problem { path, node, kind: ProblemKind::TooDeep { most } })
    };
    let mut left = below(workflow, 0);
    while let Some(Level { node, workflows, goals }) = left.pop() {
        match node {
            Node::Goal(goal) if goals > GOALS => {
                return too_deep(&goal.name, NodeRef::from(node).kind(), GOALS);
            }
            Node::Goal(goal) => {
                left.extend(goal.using.iter().map(|node| Level { node, workflows, goals: goals + 1 }));
            }
            Node::Agent(agent) => match &agent.persona {
                Persona::Prompt(_) => {}
                Persona::Workflow { .. } if workflows >= WORKFLOWS => {
                    return too_deep(&agent.name, Kind::Agent, WORKFLOWS);
                }
                Persona::Workflow { workflow, .. } => left.extend(below(workflow, workflows + 1)),
            },
        }
    }
    Ok(())
}

fn below(workflow: &Workflow, workflows: usize) -> Vec<Level<'_>> {
    let nodes = workflow.sequences.iter().flat_map(|sequence| &sequence.nodes);
    nodes.map(|node| Level { node, workflows, goals: 0 }).collect()
}
