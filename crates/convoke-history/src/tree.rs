//! The tree of a run: which part did what, how long it took and what it spent.

use std::collections::HashMap;
use std::time::Duration;

use super::{Effect, EntryMark, Spent, fork};
use convoke_core::store::RunRecord;
use convoke_core::{Path, RunStatus, Segment};

/// All parts of a run that left something in the journal. Steps without effects leave nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    nodes: Vec<TreeNode>,
}

/// A part of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TreeNode {
    /// Its name as the user wrote it, with `#2` for repetitions; empty for the run itself.
    pub name: String,
    /// Where it is.
    pub path: Path,
    /// What is in it, in the order of first appearance.
    pub items: Vec<TreeItem>,
    /// What it and everything below it spent.
    pub spent: Spent,
    /// How long it and everything below it took, from its first entry to its last. `None` if it has not ended, or if
    /// its first entry says when something ended but not when it began.
    pub duration: Option<Duration>,
}

/// An item of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeItem {
    /// An effect of this part itself, by its place in [`History::effects`](super::History::effects).
    Effect(usize),
    /// A part of it, for [`Tree::node`].
    Node(usize),
}

impl Tree {
    /// The run itself.
    #[must_use]
    pub fn root(&self) -> &TreeNode {
        &self.nodes[0]
    }

    /// The node of an [`TreeItem::Node`].
    ///
    /// # Panics
    /// If the number is not from an item of this tree.
    #[must_use]
    pub fn node(&self, number: usize) -> &TreeNode {
        &self.nodes[number]
    }

    /// Returns all nodes, each after the one it is in.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &TreeNode> {
        self.nodes.iter()
    }

    pub(super) fn new(record: &RunRecord, effects: &[Effect]) -> Self {
        let mut builder =
            Builder { drafts: vec![Draft::new(String::new(), Path::from(""), 0)], places: HashMap::new() };
        for (number, effect) in effects.iter().enumerate() {
            let place = builder.place(&effect.path);
            builder.drafts[place].add(number, effect);
        }
        let mut tree = Self { nodes: builder.finish(record) };
        tree.nodes[0].duration = whole_duration(record);
        tree
    }
}

fn whole_duration(record: &RunRecord) -> Option<Duration> {
    (record.status != RunStatus::Running).then(|| record.updated.since(record.created))
}

/// A node that is not summed up yet.
struct Draft {
    node: TreeNode,
    parent: usize,
    span: Span,
}

/// From where to where in the journal a node reaches.
#[derive(Clone, Copy, Default)]
struct Span {
    first: Option<(EntryMark, bool)>,
    last: Option<EntryMark>,
    is_open: bool,
}

struct Builder {
    drafts: Vec<Draft>,
    places: HashMap<String, usize>,
}

impl Builder {
    /// The node of a path, made together with those it is in if need be.
    fn place(&mut self, path: &Path) -> usize {
        let mut place = 0;
        let mut at = String::new();
        for segment in path.segments() {
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(segment);
            place = match self.places.get(&at) {
                Some(known) => *known,
                None => {
                    let new = self.drafts.len();
                    self.drafts.push(Draft::new(Segment::of(segment).to_string(), Path::from(&*at), place));
                    self.drafts[place].node.items.push(TreeItem::Node(new));
                    self.places.insert(at.clone(), new);
                    new
                }
            };
        }
        place
    }

    fn finish(mut self, record: &RunRecord) -> Vec<TreeNode> {
        // Every node comes after the one it is in, so going backwards each is complete when it is added.
        for number in (1..self.drafts.len()).rev() {
            let (outer, inner) = self.drafts.split_at_mut(number);
            let draft = &mut inner[0];
            let parent = &mut outer[draft.parent];
            draft.node.duration = draft.span.duration(record);
            parent.node.spent += draft.node.spent;
            parent.span.include(draft.span);
        }
        self.drafts.into_iter().map(|draft| draft.node).collect()
    }
}

impl Draft {
    fn new(name: String, path: Path, parent: usize) -> Self {
        let node = TreeNode { name, path, items: Vec::new(), spent: Spent::default(), duration: None };
        Self { node, parent, span: Span::default() }
    }

    fn add(&mut self, number: usize, effect: &Effect) {
        self.node.items.push(TreeItem::Effect(number));
        self.node.spent += effect.spent();
        self.span.include(Span::of(effect));
    }
}

impl Span {
    fn of(effect: &Effect) -> Self {
        let marks = || effect.attempts.iter().flat_map(|attempt| attempt.marks());
        let beginning = effect.attempts.first().and_then(|attempt| attempt.beginning());
        let first = marks().min_by_key(|mark| mark.seq);
        Self {
            first: match beginning {
                Some(mark) => Some((mark, true)),
                None => first.map(|mark| (mark, is_instant(effect))),
            },
            last: marks().max_by_key(|mark| mark.seq),
            is_open: effect.status() != super::EffectStatus::Finished,
        }
    }

    fn include(&mut self, other: Self) {
        let first = [self.first, other.first].into_iter().flatten();
        self.first = first.min_by_key(|(mark, _)| (mark.at, mark.seq));
        self.last = [self.last, other.last].into_iter().flatten().max_by_key(|mark| mark.seq);
        self.is_open |= other.is_open;
    }

    fn duration(&self, record: &RunRecord) -> Option<Duration> {
        let (first, is_begin) = self.first?;
        let last = self.last?;
        let is_known = is_begin && !self.is_open && fork::are_together(record, first, last);
        is_known.then(|| last.at.since(first.at))
    }
}

/// Whether an effect takes no time, so that its end is its beginning.
fn is_instant(effect: &Effect) -> bool {
    matches!(effect.kind, convoke_core::EffectKind::Now)
}
