//! Measures the depth of a tree. Everything else is recursive, so this must come first, and must not be.

use crate::agentfile::model::Condition;
use crate::plan::problem::{Problem, ProblemKind};
use crate::tree::{GoalNodeKind, Name, Node, NodeRef, Persona, Workflow};

/// How deep goals may stand below goals.
const GOALS: usize = 32;

/// How deep workflows may be agents of workflows.
const WORKFLOWS: usize = 8;

/// How deep conditions may stand within conditions.
const CONDITIONS: usize = 64;

/// Somewhere in a tree.
struct Level<'w> {
    node: &'w Node,
    /// How many workflows there are around its own.
    workflows: usize,
    /// How many goals there are around it in its workflow.
    goals: usize,
}

/// # Errors
/// The first node that is too deep, or has a condition that is.
pub(super) fn check<'w>(workflow: &'w Workflow) -> Result<(), Problem> {
    let problem = |name: &Name, node: GoalNodeKind, kind: ProblemKind| {
        // The whole way would be as long as it is deep.
        Problem { path: vec![workflow.name.clone(), name.clone()], node, kind }
    };
    let condition = |when: Option<&Condition<Name>>, name: &Name, node: GoalNodeKind| match when {
        Some(when) if when.depth() > CONDITIONS => {
            Err(problem(name, node, ProblemKind::TooDeepCondition { most: CONDITIONS }))
        }
        _ => Ok(()),
    };
    let below = |workflow: &'w Workflow, workflows: usize| {
        let mut levels = Vec::new();
        for sequence in &workflow.sequences {
            condition(sequence.when.as_ref(), &sequence.name, GoalNodeKind::Sequence)?;
            levels.extend(sequence.nodes.iter().map(|node| Level { node, workflows, goals: 0 }));
        }
        Ok(levels)
    };
    let mut left = below(workflow, 0)?;
    while let Some(Level { node, workflows, goals }) = left.pop() {
        match node {
            Node::Goal(goal) => {
                let kind = NodeRef::from(node).kind();
                if goals > GOALS {
                    return Err(problem(&goal.name, kind, ProblemKind::TooDeep { most: GOALS }));
                }
                condition(goal.when.as_ref(), &goal.name, kind)?;
                left.extend(goal.using.iter().map(|node| Level { node, workflows, goals: goals + 1 }));
            }
            Node::Agent(agent) => match &agent.persona {
                Persona::Prompt(_) => {}
                Persona::Workflow { .. } if workflows >= WORKFLOWS => {
                    return Err(problem(
                        &agent.name,
                        GoalNodeKind::Agent,
                        ProblemKind::TooDeep { most: WORKFLOWS },
                    ));
                }
                Persona::Workflow { workflow, .. } => left.extend(below(workflow, workflows + 1)?),
            },
        }
    }
    Ok(())
}
