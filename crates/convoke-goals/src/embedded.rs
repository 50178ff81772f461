//! Workflows of other kinds, as goals: `GOAL triage FROM support.pack.json`.
//!
//! What such a file is, this crate does not know. Whoever knows reads it with a [`WorkflowReader`], and gives what a goal needs: what it
//! is given, what it gives, and how it is run. It is run as a part of the same run, in the same journal.

use std::fmt;
use std::sync::Arc;

use convoke_core::{Digest, Runner};
use serde_json::Value;

use crate::agentfile::Source;
use crate::agentfile::diagnostic::Diagnostics;
use crate::agentfile::load::Loader;
use crate::agentfile::model::Input;
use crate::equipment::Equipment;
use crate::state::Values;

/// Reads files of other kinds that goals may be.
pub trait WorkflowReader: fmt::Debug + Send + Sync {
    /// Whether a file is of a kind it knows.
    fn recognizes(&self, path: &str, text: &str) -> bool;

    /// Reads such a file: the workflow if it has no mistakes, and what is wrong with it. What the file names besides comes from
    /// `files`.
    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<EmbeddedWorkflow>, Diagnostics);
}

/// Knows no other kinds.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOtherKinds;

impl WorkflowReader for NoOtherKinds {
    fn recognizes(&self, _: &str, _: &str) -> bool {
        false
    }

    fn read(&self, _: &Source, _: &dyn Loader) -> (Option<EmbeddedWorkflow>, Diagnostics) {
        (None, Diagnostics::default())
    }
}

/// A workflow of another kind: read, checked, without anything it needs.
pub trait OtherWorkflow: Send + Sync {
    /// What messages call files of its kind: `pack`.
    fn kind(&self) -> &str;

    /// What it is called.
    fn name(&self) -> &str;

    /// What it is given. Values of the same names are.
    fn inputs(&self) -> &[Input];

    /// The input that is given what somebody wants from it, if there is one.
    fn task(&self) -> Option<&str>;

    /// The names of the values that it may give, besides its answer.
    fn outputs(&self) -> Vec<String>;

    /// The digest that decides whether it is the one that a run began with.
    fn digest(&self) -> Digest;

    /// Checks that it can be run with this equipment.
    ///
    /// # Errors
    /// Everything that is wrong, a line each.
    fn equip(&self, equipment: &Equipment) -> Result<Arc<dyn EquippedWorkflow>, Vec<String>>;
}

/// A workflow of another kind with everything it needs.
pub trait EquippedWorkflow: Send + Sync {
    /// The workflow, as a part of another one's run.
    fn runner(&self) -> Runner;

    /// The state it begins with, for these inputs.
    ///
    /// # Errors
    /// Everything that is wrong with them, a line each.
    fn bind(&self, inputs: Values) -> Result<Value, Vec<String>>;

    /// What it came to, by the state it ended with.
    fn result(&self, state: &Value) -> EmbeddedResult;
}

/// The result of a workflow of another kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EmbeddedResult {
    /// Its answer, if it gave one.
    pub text: Option<String>,
    /// The values it gave besides.
    pub values: Values,
}

/// A workflow of another kind, wherever a goal is one. Cheap to clone; two are the same if their digests are.
#[derive(Clone)]
pub struct EmbeddedWorkflow(Arc<dyn OtherWorkflow>);

impl EmbeddedWorkflow {
    /// Makes a goal of this workflow.
    #[must_use]
    pub fn new(workflow: impl OtherWorkflow + 'static) -> Self {
        Self(Arc::new(workflow))
    }
}

impl std::ops::Deref for EmbeddedWorkflow {
    type Target = dyn OtherWorkflow;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for EmbeddedWorkflow {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl fmt::Debug for EmbeddedWorkflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EmbeddedWorkflow")
            .field("kind", &self.kind())
            .field("name", &self.name())
            .finish()
    }
}
