//! Renamed steps: changes of a workflow from one version to the next.
//!
//! Effects are found by the names of steps. A run that goes on keeps, for its whole life, the names that its journal knows: a step
//! that was renamed finds what it did under the name it had.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Path, Segment};

/// A change of a workflow's steps, from the version it is noted with to the next.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// The step at this path has another name now.
    Renamed { step: Path, now: Arc<str> },
    /// The step at this path is gone.
    Dropped { step: Path },
}

/// The names that steps had in the versions that a run was worked on with before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// By the place of their parent.
    renamed: BTreeMap<Path, Vec<Renamed>>,
    dropped: Vec<Path>,
}

/// What a step is called now, and was called.
#[derive(Debug, Clone)]
struct Renamed {
    now: Arc<str>,
    before: Arc<str>,
}

impl Names {
    /// What became of these changes, in their order.
    pub(crate) fn after<'a>(changes: impl Iterator<Item = &'a Change>) -> Self {
        let mut names = Self::default();
        for change in changes {
            match change {
                Change::Renamed { step, now } => names.rename(step, now),
                Change::Dropped { step } => {
                    let (parent, name) = names.place(step);
                    names.dropped.push(Path::join(&parent, names.of(&parent, &name), 1));
                }
            }
        }
        names
    }

    fn rename(&mut self, step: &Path, now: &Arc<str>) {
        let (parent, name) = self.place(step);
        let children = self.renamed.entry(parent).or_default();
        // Renamed once more, it still has the name it had first.
        match children.iter_mut().find(|child| *child.now == name) {
            Some(child) => child.now = Arc::clone(now),
            None => children.push(Renamed { now: Arc::clone(now), before: name.into() }),
        }
    }

    /// Where a step is in the journal's own names, and what it is called there or was when it changed.
    fn place(&self, step: &Path) -> (Path, String) {
        let mut names: Vec<String> =
            step.segments().map(|segment| Segment::of(segment).to_string()).collect();
        let name = names.pop().unwrap_or_default();
        let parent =
            names.iter().fold(Path::from(""), |parent, name| Path::join(&parent, self.of(&parent, name), 1));
        (parent, name)
    }

    /// Whether nothing has another name.
    pub(crate) fn is_empty(&self) -> bool {
        self.renamed.is_empty()
    }

    /// The name that a run's journal has for a child of the step at `parent`.
    pub(crate) fn of<'a>(&'a self, parent: &Path, name: &'a str) -> &'a str {
        let children = self.renamed.get(&parent.without_repetitions());
        let known = children.and_then(|children| children.iter().find(|child| *child.now == *name));
        known.map_or(name, |child| &child.before)
    }

    /// Whether a step is said to be gone.
    pub(crate) fn is_dropped(&self, step: &Path) -> bool {
        let step = step.without_repetitions();
        self.dropped.iter().any(|dropped| step.is_within(dropped))
    }
}
