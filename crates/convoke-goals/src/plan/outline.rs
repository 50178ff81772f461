//! The outline of a plan: the steps that are run, and their names. Runs keep it, and are not resumed by a plan in which
//! steps are missing that they have been through.

use convoke_core::Outline;

use super::{Plan, PlannedNode, PlannedPersona};

impl Plan {
    pub(crate) fn outline(&self) -> Outline {
        let sequences = self.sequences.iter().map(|sequence| {
            Outline::composite(&*sequence.name, "sequence", sequence.nodes.iter().map(PlannedNode::outline))
        });
        Outline::composite(&*self.name, "workflow", sequences)
    }
}

impl PlannedNode {
    pub(crate) fn outline(&self) -> Outline {
        let inner: Vec<Outline> = match self {
            Self::Goal(goal) => {
                let embedded = goal.embedded.iter().map(|embedded| embedded.equipped.runner().outline());
                goal.using.iter().map(Self::outline).chain(embedded).collect()
            }
            Self::Agent(agent) => match &agent.persona {
                PlannedPersona::Prompt(_) => Vec::new(),
                PlannedPersona::Workflow { plan, .. } => vec![plan.outline()],
            },
        };
        Outline::composite(&**self.name(), self.kind().name(), inner)
    }
}
