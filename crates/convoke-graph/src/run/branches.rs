//! Open branches: from a fork until everything that came of it is together again, or was given up.
//!
//! What a branch says meanwhile is speculative: another branch may fail, or end this one. So nodes say which branches they are in, and
//! once it is known, what became of each branch is told, once: accepted with the others, in their order, or cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::Error;
use serde_json::{Value, json};

/// The branches that a path is in: numbers of forks, and of their branches.
pub(super) type Lineage = Vec<(u64, usize)>;

#[derive(Default)]
pub(super) struct Branches {
    open: BTreeMap<u64, Fork>,
    last: u64,
}

/// A fork: what became of each of its branches.
pub(super) struct Fork {
    /// The path of the node that forked; another time has another.
    id: String,
    branches: Vec<Branch>,
    /// How many paths there are that came of it.
    paths: usize,
}

struct Branch {
    /// The node that it began with.
    name: Arc<str>,
    paths: usize,
    /// Why nothing of it counts.
    cancelled: Option<String>,
}

impl Branches {
    /// A path forks: gives the lineage of each branch.
    pub(super) fn fork(&mut self, id: String, from: &Lineage, names: Vec<Arc<str>>) -> Vec<Lineage> {
        let count = names.len();
        for (fork, branch) in from {
            let Some(outer) = self.open.get_mut(fork) else { continue };
            outer.paths += count - 1;
            outer.branches[*branch].paths += count - 1;
        }
        self.last += 1;
        let branches = names.into_iter().map(|name| Branch { name, paths: 1, cancelled: None }).collect();
        self.open.insert(self.last, Fork { id, branches, paths: count });
        let last = self.last;
        (0..count).map(|branch| from.iter().copied().chain([(last, branch)]).collect()).collect()
    }

    /// Paths become one: gives its lineage, and the forks that are together again with this.
    pub(super) fn join(&mut self, paths: Vec<Lineage>) -> (Lineage, Vec<Fork>) {
        let mut lineage = match <[Lineage; 1]>::try_from(paths) {
            Ok([only]) => only,
            Err(paths) => self.joined(&paths),
        };
        let (mut together, mut last) = (Vec::new(), None);
        lineage.retain(|(fork, _)| {
            if last != Some(*fork) && self.open.get(fork).is_some_and(|open| open.paths == 1) {
                together.extend(self.open.remove(fork));
                last = Some(*fork);
            }
            last != Some(*fork)
        });
        (lineage, together)
    }

    /// Counts several paths as one, and gives its lineage.
    fn joined(&mut self, paths: &[Lineage]) -> Lineage {
        let mut lineage: Lineage = Vec::new();
        for path in paths {
            let mut before = None;
            for (fork, branch) in path {
                if let Some(open) = self.open.get_mut(fork) {
                    open.paths -= usize::from(before != Some(fork));
                    open.branches[*branch].paths -= 1;
                }
                before = Some(fork);
            }
            lineage.extend(path);
        }
        lineage.sort_unstable();
        lineage.dedup();
        let mut before = None;
        for (fork, branch) in &lineage {
            if let Some(open) = self.open.get_mut(fork) {
                open.paths += usize::from(before != Some(fork));
                open.branches[*branch].paths += 1;
            }
            before = Some(fork);
        }
        lineage
    }

    /// A path is given up.
    pub(super) fn cancel(&mut self, path: &Lineage, reason: &str) {
        let mut before = None;
        for (fork, branch) in path {
            let Some(open) = self.open.get_mut(fork) else { continue };
            open.paths -= usize::from(before != Some(fork));
            before = Some(fork);
            let branch = &mut open.branches[*branch];
            branch.paths -= 1;
            if branch.paths == 0 {
                branch.cancelled = Some(reason.to_owned());
            }
        }
    }

    /// The graph fails because of what a path came to: that is why nothing of its branches counts.
    pub(super) fn fail(&mut self, path: &Lineage, error: &Error) {
        for (fork, branch) in path {
            if let Some(open) = self.open.get_mut(fork) {
                open.branches[*branch].cancelled.get_or_insert_with(|| error.to_string());
            }
        }
    }

    /// The graph is over: gives the forks that are still open.
    pub(super) fn end(&mut self) -> Vec<Fork> {
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// The branches that a path is in, as events name them.
    pub(super) fn named(&self, path: &Lineage) -> Value {
        let named = path.iter().filter_map(|(fork, branch)| {
            let open = self.open.get(fork)?;
            Some(json!({"fork": open.id, "branch": open.branches[*branch].name}))
        });
        named.collect()
    }
}

impl Fork {
    /// What is told of it. With a reason, nothing of its branches counts.
    pub(super) fn joined(self, reason: Option<&str>) -> Value {
        let (mut accepted, mut cancelled) = (Vec::new(), Vec::new());
        for branch in self.branches {
            match branch.cancelled.as_deref().or(reason) {
                None => accepted.push(Value::from(&*branch.name)),
                Some(reason) => cancelled.push(json!({"branch": branch.name, "reason": reason})),
            }
        }
        json!({"fork": self.id, "accepted": accepted, "cancelled": cancelled})
    }
}

/// Whether two paths are in different branches of one fork.
pub(super) fn are_siblings(one: &Lineage, other: &Lineage) -> bool {
    one.iter().any(|(fork, branch)| {
        other.iter().any(|(other_fork, other_branch)| fork == other_fork && branch != other_branch)
    })
}
