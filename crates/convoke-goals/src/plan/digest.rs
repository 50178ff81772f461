//! The digest that decides whether two plans are the same.
//!
//! Everything the tree says counts; with which models and tools it is run does not, since a run may go on with others.

use convoke_core::{Bounds, Digest};
use serde_json::{Value, json};

use super::{Plan, PlannedNode, PlannedPersona};
use crate::agentfile::template::{Piece, Template};
use crate::tree::{Input, Name, Output};

impl Plan {
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_json(&self.described())
    }

    fn described(&self) -> Value {
        let inputs = self
            .inputs
            .iter()
            .map(|Input { name, ty, default, secret }| json!([**name, ty.to_string(), default, secret]));
        let sequences = self.sequences.iter().map(|sequence| {
            json!({
                "name": *sequence.name,
                "order": format!("{:?}", sequence.order),
                "when": format!("{:?}", sequence.when),
                "limits": limits(&sequence.bounds),
                "nodes": sequence.nodes.iter().map(PlannedNode::described).collect::<Value>(),
            })
        });
        json!({
            "name": *self.name,
            "inputs": inputs.collect::<Value>(),
            "security": format!("{:?}", self.security),
            "limits": limits(&self.bounds),
            "sequences": sequences.collect::<Value>(),
        })
    }
}

impl PlannedNode {
    fn described(&self) -> Value {
        let outputs = self.outputs().iter().map(|Output { name, ty }| json!([**name, ty.to_string()]));
        let mut described = match self {
            Self::Goal(goal) => json!({
                "text": text(&goal.text),
                "converge": format!("{:?}", goal.converge),
                "when": format!("{:?}", goal.when),
                "watch": format!("{:?}", goal.supervised_by),
                "retry": format!("{:?}", goal.retry),
                "limits": limits(&goal.bounds),
                "using": goal.using.iter().map(Self::described).collect::<Value>(),
            }),
            Self::Agent(agent) => json!({
                "persona": match &agent.persona {
                    PlannedPersona::Prompt(prompt) => text(prompt),
                    PlannedPersona::Workflow { plan, task } => json!([plan.described(), **task]),
                },
                "task": agent.task.as_ref().map(text),
                "watch": format!("{:?}", agent.supervised_by),
                "retry": format!("{:?}", agent.retry),
                "limits": limits(&agent.bounds),
            }),
        };
        if let Self::Goal(goal) = self {
            if let Some(memory) = &goal.memory {
                described["memory"] = memory.as_str().into();
            }
            if let Some(embedded) = &goal.embedded {
                described["embedded"] = embedded.declared.digest().to_string().into();
            }
        }
        described["kind"] = self.kind().name().into();
        described["name"] = (**self.name()).into();
        described["outputs"] = outputs.collect();
        described["context"] = self.settings().context.clone().into();
        described
    }
}

fn text(template: &Template<Name>) -> Value {
    let pieces = template.pieces().iter().map(|piece| match piece {
        Piece::Text(text) => json!(text),
        Piece::Variable(name) => json!([**name]),
    });
    pieces.collect()
}

fn limits(bounds: &Bounds) -> String {
    format!("{:?} {:?}", bounds.timeout, bounds.limits)
}
