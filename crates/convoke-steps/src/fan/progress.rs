//! Progress of the branches of a fan-out.

use super::{BranchOutcome, FinishedBranch};

/// How a branch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchEnd {
    /// It is on its way, or waits for an answer.
    Open,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// How far the branches of a fan-out have come, in declared order.
#[derive(Debug)]
pub struct Progress<'a> {
    branches: Vec<(&'a str, BranchEnd)>,
}

impl<'a> Progress<'a> {
    pub(super) fn of<T>(ended: &'a [FinishedBranch<T>]) -> Self {
        let stand = |branch: &'a FinishedBranch<T>| {
            let end = match branch.end {
                BranchOutcome::Succeeded(_) => BranchEnd::Succeeded,
                BranchOutcome::Failed(_) => BranchEnd::Failed,
                BranchOutcome::Stopped(_) | BranchOutcome::Abandoned => BranchEnd::Open,
            };
            (&*branch.name, end)
        };
        Self { branches: ended.iter().map(stand).collect() }
    }

    /// How many branches there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.branches.len()
    }

    /// How many have succeeded.
    #[must_use]
    pub fn succeeded(&self) -> usize {
        self.count(BranchEnd::Succeeded)
    }

    /// How many have failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.count(BranchEnd::Failed)
    }

    /// Whether the branch with this name has succeeded.
    #[must_use]
    pub fn has_succeeded(&self, name: &str) -> bool {
        self.has(name, BranchEnd::Succeeded)
    }

    /// Whether a branch with this name stands like this.
    pub(crate) fn has(&self, name: &str, wanted: BranchEnd) -> bool {
        self.branches.iter().any(|(branch, end)| *branch == name && *end == wanted)
    }

    /// All branches and how they stand.
    pub fn iter(&self) -> impl Iterator<Item = (&str, BranchEnd)> {
        self.branches.iter().copied()
    }

    fn count(&self, wanted: BranchEnd) -> usize {
        self.branches.iter().filter(|(_, end)| *end == wanted).count()
    }
}
