//! The goal node.

use super::setters::setters;
use super::{Name, Node, Output, Overrides, Text};
use crate::agentfile::model::{Condition, Supervision, Within};
use crate::embedded::EmbeddedWorkflow;

/// A goal, to be achieved once, or by improving on it until nothing is left to improve.
///
/// Its result is a value of its own name, and each of its outputs is a value too. Without anybody it
/// [uses](Self::using) the main model pursues it; with one agent the agent's answer is the result; with several they
/// work at the same time and what they say is put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub(crate) name: Name,
    pub(crate) text: Text,
    /// The workflow of another kind that it is.
    pub(crate) embedded: Option<EmbeddedWorkflow>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) using: Vec<Node>,
    pub(crate) converge: Option<Within<Name>>,
    pub(crate) when: Option<Condition<Name>>,
    pub(crate) supervision: Supervision,
    pub(crate) overrides: Overrides,
}

impl Goal {
    /// A goal.
    pub fn new(name: impl Into<Name>, description: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            text: description.into(),
            embedded: None,
            outputs: Vec::new(),
            using: Vec::new(),
            converge: None,
            when: None,
            supervision: Supervision::Inherit,
            overrides: Overrides::new(),
        }
    }

    /// A convergence: a goal that is improved on, so often at most.
    pub fn converging(name: impl Into<Name>, description: impl Into<Text>, within: u32) -> Self {
        Self { converge: Some(Within::Times(within)), ..Self::new(name, description) }
    }

    /// A convergence that is improved on as often as a value says.
    pub fn converging_within(
        name: impl Into<Name>,
        description: impl Into<Text>,
        variable: impl Into<Name>,
    ) -> Self {
        Self { converge: Some(Within::Variable(variable.into())), ..Self::new(name, description) }
    }

    /// Adds somebody who pursues it: an agent, or a goal of its own.
    #[must_use]
    pub fn using(mut self, node: impl Into<Node>) -> Self {
        self.using.push(node.into());
        self
    }
}

setters!(Goal { name, outputs, when("pursued"), supervision("it"), overrides("it") });
