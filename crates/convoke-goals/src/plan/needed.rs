//! Finds the values that other nodes rely on.

use std::collections::HashSet;

use super::{Plan, PlannedNode, PlannedPersona};
use crate::agentfile::model::Within;
use crate::tree::{Name, Order};

impl Plan {
    /// The names that its texts, conditions and limits refer to, except for those that are inputs: they have a value
    /// whatever goals make.
    pub(crate) fn needed(&self) -> HashSet<Name> {
        let mut needed = HashSet::new();
        for sequence in &self.sequences {
            needed.extend(sequence.when.iter().flat_map(|when| when.variables()).cloned());
            if let Order::Loop(Within::Variable(name)) = &sequence.order {
                needed.insert(Name::clone(name));
            }
            sequence.nodes.iter().for_each(|node| node.add_needed(&mut needed));
        }
        needed.retain(|name| self.inputs.iter().all(|input| input.name != *name));
        needed
    }
}

impl PlannedNode {
    fn add_needed(&self, needed: &mut HashSet<Name>) {
        needed.extend(self.when().iter().flat_map(|when| when.variables()).cloned());
        match self {
            Self::Goal(goal) => {
                needed.extend(goal.text.variables().cloned());
                if let Some(Within::Variable(name)) = &goal.converge {
                    needed.insert(Name::clone(name));
                }
                goal.using.iter().for_each(|node| node.add_needed(needed));
            }
            Self::Agent(agent) => {
                let persona = match &agent.persona {
                    PlannedPersona::Prompt(text) => Some(text),
                    // It has values of its own.
                    PlannedPersona::Workflow { .. } => None,
                };
                let texts = persona.into_iter().chain(&agent.task);
                needed.extend(texts.flat_map(|text| text.variables()).cloned());
            }
        }
    }
}
