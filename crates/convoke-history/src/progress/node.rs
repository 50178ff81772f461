//! Nodes of the progress tree.

use std::time::Duration;

use convoke_core::store::Totals;
use convoke_core::{Timestamp, Usage};

use super::{Activity, NodeKind};
use crate::{Spent, human, text};

/// The state of a node. Whoever draws it has a sign for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeState {
    /// Its turn has not come.
    #[default]
    Waiting,
    /// It is under way.
    Running,
    /// A person is being asked, or is to be.
    Person,
    /// It is over, and went well.
    Done,
    /// It was not needed.
    Skipped,
    /// It failed.
    Failed,
    /// It was stopped half-way.
    Stopped,
}

impl NodeState {
    /// Returns whether there is nothing more to come of it, and nothing wrong with that.
    #[must_use]
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

/// The usage of a node, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NodeUsage {
    /// Tokens, and what is known of their cost.
    pub usage: Usage,
    /// Calls of models.
    pub calls: u64,
    /// Of these, calls whose cost is not known.
    pub unpriced: u64,
}

impl From<Totals> for NodeUsage {
    fn from(totals: Totals) -> Self {
        Self { usage: totals.usage, calls: totals.model_calls, unpriced: totals.unpriced_calls }
    }
}

impl From<Spent> for NodeUsage {
    fn from(spent: Spent) -> Self {
        Self { usage: spent.usage, calls: spent.model_calls, unpriced: spent.unpriced_calls }
    }
}

impl NodeUsage {
    /// Both together.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            usage: self.usage + other.usage,
            calls: self.calls + other.calls,
            unpriced: self.unpriced + other.unpriced,
        }
    }

    pub(super) fn add(&mut self, usage: Option<Usage>) {
        self.calls += 1;
        self.unpriced += u64::from(usage.is_none_or(|usage| usage.cost.is_none()));
        self.usage += usage.unwrap_or_default();
    }

    /// `4.1k→320`: what went in and what came out.
    #[must_use]
    pub fn tokens(&self) -> String {
        if self.usage.total_tokens() == 0 {
            return String::new();
        }
        let (read, written) =
            (human::tokens(self.usage.input_tokens), human::tokens(self.usage.output_tokens));
        format!("{}{read}→{written}", human::about(&self.usage))
    }

    /// Returns the cost: exactly, at least, or [unknown](human::UNKNOWN).
    #[must_use]
    pub fn cost(&self) -> String {
        match self.usage.cost {
            _ if self.calls == 0 => String::new(),
            None => human::UNKNOWN.to_owned(),
            Some(cost) if self.unpriced > 0 => format!("≥{}", human::cost(cost)),
            Some(cost) => human::cost(cost),
        }
    }
}

/// A node of the tree, and what became of it so far.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProgressNode {
    /// Its name, in one line.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The node it is in, by its place in [`RunProgress::nodes`](super::RunProgress::nodes).
    pub parent: Option<usize>,
    /// What is in it, likewise.
    pub children: Vec<usize>,
    /// The last part of its path.
    pub(super) segment: String,
    /// Whether it was there before the run began, rather than made by it.
    pub(super) planned: bool,
    /// Where it stands.
    pub state: NodeState,
    /// When it last began.
    pub(super) begun: Option<Timestamp>,
    /// How long it took before that.
    pub(super) took: Duration,
    /// Whether anything in it happened now rather than before the run was resumed.
    pub is_live: bool,
    /// Which time around it is, from 1; 0 if it does not go around.
    pub iteration: u64,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// What it is doing, by who does it; the newest last.
    pub activities: Vec<(String, Activity)>,
    /// What it and everything in it used.
    pub used: NodeUsage,
    /// What there is to say about it: an error, a reason, a question.
    pub note: String,
}

impl ProgressNode {
    pub(super) fn new(name: &str, kind: NodeKind, segment: String, parent: Option<usize>) -> Self {
        Self {
            // Models name those they call in: nothing in it may move the cursor.
            name: text::one_line(name),
            kind,
            parent,
            children: Vec::new(),
            segment,
            planned: false,
            state: NodeState::Waiting,
            begun: None,
            took: Duration::ZERO,
            is_live: false,
            iteration: 0,
            attempt: 1,
            activities: Vec::new(),
            used: NodeUsage::default(),
            note: String::new(),
        }
    }

    pub(super) fn begin(&mut self, at: Timestamp) {
        self.state = NodeState::Running;
        self.begun = Some(at);
        self.is_live = false;
        self.iteration = 0;
        self.attempt = 1;
        self.activities.clear();
        self.note.clear();
    }

    pub(super) fn end(&mut self, state: NodeState, at: Timestamp) {
        if self.state != NodeState::Skipped {
            self.state = state;
        }
        if let Some(begun) = self.begun.take() {
            self.took += at.since(begun);
        }
        self.activities.clear();
    }

    pub(super) fn does(&mut self, key: &str, activity: Activity) {
        self.does_no_more(key);
        self.activities.push((key.to_owned(), activity));
    }

    pub(super) fn does_no_more(&mut self, key: &str) {
        self.activities.retain(|(own, _)| own != key);
    }

    /// Returns how long it has taken so far.
    #[must_use]
    pub fn elapsed(&self, now: Timestamp) -> Duration {
        self.took + self.begun.map_or(Duration::ZERO, |begun| now.since(begun))
    }
}
