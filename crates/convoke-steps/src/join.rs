//! Join rules: what a fan-out needs of its branches.

use std::collections::HashSet;
use std::sync::Arc;

use crate::BuildError;
use crate::fan::{BranchEnd, BranchProgress};

/// The join rule of a fan-out: what it needs of its branches, and what becomes of those it no longer needs.
///
/// There is no default: whoever joins branches says what happens when one fails.
///
/// ```
/// use convoke_steps::Join;
///
/// let strict = Join::all().cancel_rest();
/// let patient = Join::all().finish_rest();
/// let race = Join::any().cancel_rest();
/// let vote = Join::at_least(2).cancel_rest();
/// let tolerant = Join::keep_succeeded();
/// ```
#[derive(Clone)]
pub struct Join {
    pub(crate) requirement: Requirement,
    pub(crate) rest: RemainingBranches,
}

/// The treatment of branches whose outcome no longer matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemainingBranches {
    /// They are cancelled, and waited for.
    Cancel,
    /// They finish.
    Finish,
}

#[derive(Clone)]
pub(crate) enum Requirement {
    All,
    AtLeast(usize),
    KeepSucceeded,
    Named(Vec<String>),
    When(Arc<dyn Fn(&BranchProgress<'_>) -> bool + Send + Sync>),
}

/// Half a [`Join`]: it still has to say what becomes of the rest.
#[must_use = "say what becomes of the other branches: `cancel_rest` or `finish_rest`"]
pub struct JoinWithoutRest(Requirement);

impl JoinWithoutRest {
    /// Cancels branches that still run as soon as the outcome is certain.
    #[must_use]
    pub fn cancel_rest(self) -> Join {
        Join { requirement: self.0, rest: RemainingBranches::Cancel }
    }

    /// Lets all branches finish, whatever the others do.
    #[must_use]
    pub fn finish_rest(self) -> Join {
        Join { requirement: self.0, rest: RemainingBranches::Finish }
    }
}

impl Join {
    /// Every branch must succeed.
    pub fn all() -> JoinWithoutRest {
        JoinWithoutRest(Requirement::All)
    }

    /// Requires one branch to succeed.
    pub fn any() -> JoinWithoutRest {
        Self::at_least(1)
    }

    /// Requires so many branches to succeed.
    pub fn at_least(branches: usize) -> JoinWithoutRest {
        JoinWithoutRest(Requirement::AtLeast(branches))
    }

    /// Goes on with whatever succeeded, be it nothing; all branches finish.
    #[must_use]
    pub fn keep_succeeded() -> Self {
        Self { requirement: Requirement::KeepSucceeded, rest: RemainingBranches::Finish }
    }

    /// Goes on as soon as the condition on which branches have succeeded or failed holds; fails if it never does.
    pub fn when(condition: impl Fn(&BranchProgress<'_>) -> bool + Send + Sync + 'static) -> JoinWithoutRest {
        JoinWithoutRest(Requirement::When(Arc::new(condition)))
    }

    /// Goes on as soon as all branches with these names have succeeded; fails as soon as one of them has not.
    pub fn named<T: Into<String>>(names: impl IntoIterator<Item = T>) -> JoinWithoutRest {
        JoinWithoutRest(Requirement::Named(names.into_iter().map(Into::into).collect()))
    }

    /// Refuses branches that could never meet it, or that cannot be told apart.
    pub(crate) fn check<'a>(
        &self,
        step: &str,
        branches: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<(), BuildError> {
        let count = branches.len();
        let mut names = HashSet::new();
        for name in branches {
            if !names.insert(name) {
                return Err(BuildError::DuplicateName { step: step.to_owned(), name: name.to_owned() });
            }
        }
        match &self.requirement {
            Requirement::AtLeast(needed) if *needed > count => {
                Err(BuildError::Unreachable { step: step.to_owned(), needed: *needed, branches: count })
            }
            Requirement::Named(wanted) => match wanted.iter().find(|name| !names.contains(name.as_str())) {
                Some(name) => Err(BuildError::UnknownName { step: step.to_owned(), name: name.clone() }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whether the outcome is certain, and which it is. Only a condition needs to see every branch.
    pub(crate) fn verdict<'a>(
        &self,
        tally: BranchTally,
        progress: impl FnOnce() -> BranchProgress<'a>,
    ) -> Option<JoinVerdict> {
        let BranchTally { total, succeeded, failed } = tally;
        let over = succeeded + failed == total;
        let (met, hopeless) = match &self.requirement {
            Requirement::All => (succeeded == total, failed > 0),
            Requirement::AtLeast(needed) => (succeeded >= *needed, failed + needed > total),
            Requirement::KeepSucceeded => (over, false),
            Requirement::Named(names) => {
                let progress = progress();
                let met = names.iter().all(|name| progress.has(name, BranchEnd::Succeeded));
                let waits = |name: &String| {
                    progress.has(name, BranchEnd::Succeeded) || progress.has(name, BranchEnd::Open)
                };
                (met, !names.iter().all(waits))
            }
            Requirement::When(condition) => (condition(&progress()), over),
        };
        match (met, hopeless) {
            (true, _) => Some(JoinVerdict::Met),
            (false, true) => Some(JoinVerdict::Hopeless),
            (false, false) => None,
        }
    }
}

impl std::fmt::Debug for Join {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let requirement = match &self.requirement {
            Requirement::All => "all".to_owned(),
            Requirement::AtLeast(needed) => format!("at least {needed}"),
            Requirement::KeepSucceeded => "whatever succeeds".to_owned(),
            Requirement::Named(names) => names.join(", "),
            Requirement::When(_) => "a condition".to_owned(),
        };
        formatter.debug_struct("Join").field("requirement", &requirement).field("rest", &self.rest).finish()
    }
}

/// How many branches there are, and how many of them are over.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BranchTally {
    pub(crate) total: usize,
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinVerdict {
    Met,
    Hopeless,
}
