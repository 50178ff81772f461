//! Compiles a checked Agentfile into a goal tree.
//!
//! Nothing is decided here: every clause of the file becomes the part of the tree that says the same. Agents and goals
//! that nothing uses are left behind; the file's check has warned about them.

use std::sync::Arc;

use crate::agentfile::model::{self, Agentfile, StepKind, VariableId, Within};
use crate::tree::{Agent, Goal, Input, Name, Order, Output, Overrides, Persona, Sequence, Text, Workflow};

impl From<&Agentfile> for Workflow {
    fn from(file: &Agentfile) -> Self {
        Compiler {
            file,
            names: file.variables.iter().map(|variable| Arc::from(variable.name.as_str())).collect(),
        }
        .workflow()
    }
}

impl From<Agentfile> for Workflow {
    fn from(file: Agentfile) -> Self {
        Self::from(&file)
    }
}

struct Compiler<'f> {
    file: &'f Agentfile,
    /// The names of the file's variables, each made once.
    names: Vec<Name>,
}

impl Compiler<'_> {
    fn workflow(&self) -> Workflow {
        let mut workflow = Workflow::new(self.file.name.as_str())
            .supervision(self.file.supervision)
            .customize(overrides(&self.file.overrides));
        workflow.security = self.file.security.clone();
        workflow.inputs = self.file.inputs.iter().map(input).collect();
        workflow.sequences = self.file.steps.iter().map(|step| self.sequence(step)).collect();
        workflow
    }

    fn sequence(&self, step: &model::Step) -> Sequence {
        Sequence {
            name: step.name.as_str().into(),
            order: match step.kind {
                StepKind::Sequence => Order::Sequential,
                StepKind::Parallel => Order::Parallel,
                StepKind::Loop(within) => Order::Loop(self.within(within)),
            },
            nodes: step.goals.iter().map(|id| self.goal(self.file.goal(*id)).into()).collect(),
            when: step.when.as_ref().map(|condition| condition.map(|id| self.name(id))),
            supervision: step.supervision,
            overrides: overrides(&step.overrides),
        }
    }

    fn goal(&self, goal: &model::Goal) -> Goal {
        Goal {
            name: goal.name.as_str().into(),
            text: self.text(&goal.text),
            embedded: goal.embedded.clone(),
            outputs: outputs(&goal.outputs),
            using: goal.agents.iter().map(|id| self.agent(self.file.agent(*id)).into()).collect(),
            converge: goal.converge.map(|within| self.within(within)),
            when: goal.when.as_ref().map(|condition| condition.map(|id| self.name(id))),
            supervision: goal.supervision,
            overrides: overrides(&goal.overrides),
        }
    }

    fn agent(&self, agent: &model::Agent) -> Agent {
        let mut overrides = overrides(&agent.overrides);
        if let Some(profile) = &agent.requires {
            overrides = overrides.profile(profile.as_str());
        }
        let persona = match &agent.persona {
            model::Persona::Prompt(text) => Persona::Prompt(self.text(text)),
            model::Persona::Skill { skill, text } => {
                if let Some(tools) = &skill.allowed_tools {
                    overrides = overrides.restrict_calls(tools.clone());
                }
                Persona::Prompt(self.text(text))
            }
            model::Persona::Workflow { file, task, .. } => {
                Persona::Workflow { workflow: Box::new(Workflow::from(&**file)), task: task.as_str().into() }
            }
        };
        Agent {
            name: agent.name.as_str().into(),
            persona,
            task: None,
            outputs: outputs(&agent.outputs),
            supervision: agent.supervision,
            overrides,
        }
    }

    fn text(&self, text: &model::Text) -> Text {
        text.template.map(|id| self.name(id)).into()
    }

    fn within(&self, within: Within) -> Within<Name> {
        match within {
            Within::Times(times) => Within::Times(times),
            Within::Variable(id) => Within::Variable(self.name(&id)),
        }
    }

    fn name(&self, id: &VariableId) -> Name {
        Arc::clone(&self.names[id.0])
    }
}

fn input(input: &model::Input) -> Input {
    Input {
        name: input.name.as_str().into(),
        ty: input.ty.clone(),
        default: input.default.clone(),
        secret: input.secret,
    }
}

fn outputs(outputs: &[model::Output]) -> Vec<Output> {
    outputs.iter().map(|output| Output::new(output.name.as_str()).typed(output.ty.clone())).collect()
}

fn overrides(overrides: &model::Overrides) -> Overrides {
    let mut own = Overrides::new();
    if let Some(model) = &overrides.model {
        own = own.model_named(model.as_str());
    }
    if let Some(tools) = &overrides.tools {
        own = own.allowed_tools(tools.clone());
    }
    own.timeout = overrides.timeout;
    own.retry = overrides.retry;
    own.budget.clone_from(&overrides.budget);
    own.memory.clone_from(&overrides.memory);
    own
}
