//! Progress of the branches of a fan-out.

use super::{BranchOutcome, FinishedBranch};

/// The status of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchEnd {
    /// It is on its way, or waits for an answer.
    Open,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// The progress of the branches of a fan-out, in declared order.
#[derive(Debug)]
pub struct BranchProgress<'a> {
    branches: Vec<(&'a str, BranchEnd)>,
}

impl<'a> BranchProgress<'a> {
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

    /// Returns how many branches there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.branches.len()
    }

    /// Returns how many have succeeded.
    #[must_use]
    pub fn succeeded(&self) -> usize {
        self.count(BranchEnd::Succeeded)
    }

    /// Returns how many have failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.count(BranchEnd::Failed)
    }

    /// Returns whether the branch with this name has succeeded.
    #[must_use]
    pub fn has_succeeded(&self, name: &str) -> bool {
        self.has(name, BranchEnd::Succeeded)
    }

    /// Whether a branch with this name stands like this.
    pub(crate) fn has(&self, name: &str, wanted: BranchEnd) -> bool {
        self.branches.iter().any(|(branch, end)| *branch == name && *end == wanted)
    }

    /// Iterates over all branches and their status.
    pub fn iter(&self) -> impl Iterator<Item = (&str, BranchEnd)> {
        self.branches.iter().copied()
    }

    fn count(&self, wanted: BranchEnd) -> usize {
        self.branches.iter().filter(|(_, end)| *end == wanted).count()
    }
}
