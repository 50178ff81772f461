//! Labels of a scope: those of what its effects gave.
//!
//! An effect's labels are learnt by its scope, and by those further out up to the scope of the step that performed it. When
//! a step ends, the same goes for the scope that ran it; but what a branch of a fan-out has learnt is learnt only if the
//! branch counts, so that it does not depend on which branch was quicker. The call of a tool keeps what is learnt in it
//! for its own outcome: the journal then has it although a call that it answers is not made again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{ComposingScope, Node, Scope};
use crate::intercept::Labels;

/// The labels of one scope. Most have none, so they take no room.
#[derive(Default)]
pub(crate) struct ScopeLabels {
    labels: OnceLock<Box<Mutex<Labels>>>,
    /// Whether what is learnt in here is not learnt further out until whatever works here has ended.
    gathers: AtomicBool,
}

impl ScopeLabels {
    /// From now on what is learnt in here stays here until somebody takes it further out.
    pub(crate) fn gather(&self) {
        self.gathers.store(true, Ordering::Relaxed);
    }

    fn add(&self, labels: &Labels) {
        let known = self.labels.get_or_init(Box::default);
        known.lock().unwrap_or_else(PoisonError::into_inner).join(labels);
    }

    fn add_to(&self, labels: &mut Labels) {
        if let Some(known) = self.labels.get() {
            labels.join(&known.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Node {
    fn learn(&self, labels: &Labels) {
        if labels.is_empty() {
            return;
        }
        for node in self.ancestry() {
            node.learnt.add(labels);
            if node.learnt.gathers.load(Ordering::Relaxed) {
                break;
            }
        }
    }
}

impl Scope {
    /// Returns the labels of everything that was learnt here and further out. Branches side by side do not know each other's.
    #[must_use]
    pub fn labels(&self) -> Labels {
        let mut labels = Labels::new();
        self.node.ancestry().for_each(|node| node.learnt.add_to(&mut labels));
        labels
    }

    /// What was learnt in this scope, and in what has ended below it.
    pub(crate) fn learnt(&self) -> Labels {
        let mut labels = Labels::new();
        self.node.learnt.add_to(&mut labels);
        labels
    }

    /// Whether there may be anything, which is rare: most steps learn nothing.
    fn has_learnt(&self) -> bool {
        self.node.learnt.labels.get().is_some()
    }

    /// Learns what an effect of this scope gave.
    pub(crate) fn learn(&self, labels: &Labels) {
        self.node.learn(labels);
    }

    /// Learns what the call gave that this scope was made for.
    pub(crate) fn learn_from_call(&self, labels: &Labels) {
        self.node.learn(labels);
        self.learn_further_out(labels);
    }

    /// The step that worked here has ended, and what follows it follows from what was done in it. Whether a branch counts is for others to know.
    pub(super) fn learn_from_step(&self) {
        let is_branch = self.node.state_owner == self.node.depth;
        if is_branch {
            return;
        }
        if let Some(parent) = &self.node.parent {
            parent.follow(&self.node);
        }
        if self.has_learnt() {
            self.learn_further_out(&self.learnt());
        }
    }

    fn learn_further_out(&self, labels: &Labels) {
        if let Some(parent) = &self.node.parent {
            parent.learn(labels);
        }
    }
}

impl ComposingScope<'_> {
    /// Learns what a branch has learnt, because it counts.
    pub fn learn_from(&self, branch: &Scope) {
        self.node.follow(&branch.node);
        if branch.has_learnt() {
            self.node.learn(&branch.learnt());
        }
    }
}
