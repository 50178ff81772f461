//! The agent node.

use super::setters::setters;
use super::{Name, Output, Overrides, Text, Workflow};
use crate::agentfile::model::Supervision;

/// An agent, which pursues goals: a persona and settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub(crate) name: Name,
    pub(crate) persona: Persona,
    pub(crate) task: Option<Text>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) supervision: Supervision,
    pub(crate) overrides: Overrides,
}

/// The persona of an agent: a prompt, or a workflow.
#[derive(Debug, Clone, PartialEq)]
pub enum Persona {
    /// Instructions.
    Prompt(Text),
    /// A whole workflow, which is given the task in one of its inputs.
    Workflow {
        /// The workflow.
        workflow: Box<Workflow>,
        /// The input that is given the task.
        task: Name,
    },
}

impl Agent {
    /// An agent with these instructions.
    pub fn new(name: impl Into<Name>, prompt: impl Into<Text>) -> Self {
        Self::with_persona(name.into(), Persona::Prompt(prompt.into()))
    }

    /// A workflow as an agent: its input `task` is given what is to be done, its last result is what it says.
    pub fn workflow(name: impl Into<Name>, workflow: Workflow, task: impl Into<Name>) -> Self {
        let persona = Persona::Workflow { workflow: Box::new(workflow), task: task.into() };
        Self::with_persona(name.into(), persona)
    }

    fn with_persona(name: Name, persona: Persona) -> Self {
        Self {
            name,
            persona,
            task: None,
            outputs: Vec::new(),
            supervision: Supervision::Inherit,
            overrides: Overrides::new(),
        }
    }

    /// Sets the task for when it stands in a sequence by itself. In a goal it is given the goal.
    #[must_use]
    pub fn task(mut self, text: impl Into<Text>) -> Self {
        self.task = Some(text.into());
        self
    }
}

setters!(Agent { name, outputs, supervision("it"), overrides("it") });
