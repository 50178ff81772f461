//! The workflow, the root node of a tree.

use super::setters::setters;
use super::{Input, Name, Overrides, Sequence};
use crate::agentfile::model::{SecurityMode, Supervision};

/// A whole: what it is given, and what is pursued in which order.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    pub(crate) name: Name,
    pub(crate) inputs: Vec<Input>,
    pub(crate) sequences: Vec<Sequence>,
    pub(crate) supervision: Supervision,
    pub(crate) security: Option<SecurityMode>,
    pub(crate) overrides: Overrides,
}

impl Workflow {
    /// A workflow without anything in it.
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            inputs: Vec::new(),
            sequences: Vec::new(),
            supervision: Supervision::Inherit,
            security: None,
            overrides: Overrides::new(),
        }
    }

    /// Adds something it is given.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.inputs.push(input);
        self
    }

    /// Adds goals to be pursued after those that are there.
    #[must_use]
    pub fn sequence(mut self, sequence: Sequence) -> Self {
        self.sequences.push(sequence);
        self
    }

    /// Sets the security mode: how suspicious to be of what tools bring in.
    #[must_use]
    pub fn security(mut self, mode: SecurityMode) -> Self {
        self.security = Some(mode);
        self
    }

    /// Returns its inputs.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }
}

setters!(Workflow { name, supervision("every goal in it"), overrides("everything in it") });
