//! Locations of nodes in a tree, and the problems found there.

use crate::plan::problem::{Problem, ProblemKind};
use crate::tree::{GoalNodeKind, Name};

/// The location of a node: its kind, and its path.
#[derive(Debug, Clone)]
pub(crate) struct NodeLocation {
    path: Vec<Name>,
    node: GoalNodeKind,
}

impl NodeLocation {
    pub(crate) fn root(name: &Name) -> Self {
        Self { path: vec![name.clone()], node: GoalNodeKind::Workflow }
    }

    pub(crate) fn below(&self, name: &Name, node: GoalNodeKind) -> Self {
        let mut path = self.path.clone();
        path.push(name.clone());
        Self { path, node }
    }

    /// The names on the way, as a text.
    pub(crate) fn way(&self) -> String {
        self.path.join("/")
    }

    /// As other nodes' problems call it.
    pub(crate) fn label(&self) -> String {
        format!("{} `{}`", self.node, self.path.last().map_or("", |name| &**name))
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct ProblemList {
    found: Vec<Problem>,
}

impl ProblemList {
    /// Notes a problem, once.
    pub(crate) fn add(&mut self, place: &NodeLocation, kind: ProblemKind) {
        let problem = Problem { path: place.path.clone(), node: place.node, kind };
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// The warnings, if there is nothing worse.
    pub(crate) fn warnings(self) -> Result<Vec<Problem>, Vec<Problem>> {
        if self.found.iter().all(Problem::is_warning) {
            return Ok(self.found);
        }
        Err(self.found.into_iter().filter(|problem| !problem.is_warning()).collect())
    }
}
