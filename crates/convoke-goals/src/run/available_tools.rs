//! The names of the tools that may be used for a goal, by anybody who pursues it.

use std::sync::Arc;

use convoke_core::Error;

use super::called_tools::{CalledTools, merge};
use super::spawn::Spawner;
use super::workflow_context::WorkflowContext;
use crate::plan::{PlannedAgent, PlannedGoal, PlannedNode, PlannedPersona, WorkerSettings};
use crate::tree::Name;

/// The names of the tools of the main model, or of everybody a goal uses, each once, in declared order.
pub(super) fn for_goal(
    around: &Arc<WorkflowContext>,
    goal: &PlannedGoal,
    level: u32,
) -> Result<Vec<String>, Error> {
    if goal.using.is_empty() {
        return of(around, &goal.name, &goal.settings, level);
    }
    for_all(around, &goal.using, level, level + 1)
}

/// The names of the tools of an agent, or of everybody in the workflow that it is.
pub(super) fn for_agent(
    around: &Arc<WorkflowContext>,
    agent: &PlannedAgent,
    level: u32,
) -> Result<Vec<String>, Error> {
    match &agent.persona {
        PlannedPersona::Prompt(_) => of(around, &agent.name, &agent.settings, level),
        PlannedPersona::Workflow { plan, .. } => {
            let mut names = Vec::new();
            for sequence in &plan.sequences {
                merge(&mut names, for_all(around, &sequence.nodes, level, level)?);
            }
            Ok(names)
        }
    }
}

/// Agents may be one level deeper than goals beside them.
fn for_all(
    around: &Arc<WorkflowContext>,
    nodes: &[PlannedNode],
    of_goals: u32,
    of_agents: u32,
) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for node in nodes {
        merge(
            &mut names,
            match node {
                PlannedNode::Goal(goal) => for_goal(around, goal, of_goals)?,
                PlannedNode::Agent(agent) => for_agent(around, agent, of_agents)?,
            },
        );
    }
    Ok(names)
}

fn of(
    around: &Arc<WorkflowContext>,
    name: &Name,
    settings: &WorkerSettings,
    level: u32,
) -> Result<Vec<String>, Error> {
    let (around, goal, settings) = (Arc::clone(around), Arc::clone(name), settings.clone());
    let (tools, _) = Spawner { around, goal, settings, level, called: CalledTools::default() }.tools()?;
    Ok(tools.names().map(str::to_owned).collect())
}
