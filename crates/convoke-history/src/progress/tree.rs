//! The tree of a run under way.

use std::collections::{HashMap, HashSet};

use convoke_core::{EffectKind, Path, RunStatus, Segment, Timestamp};

use super::{NodeKind, NodeState, NodeUsage, PlannedNode, ProgressNode};
use crate::History;

/// The progress of a run: a tree, folded from its events one after the other.
#[derive(Debug)]
pub struct RunProgress {
    pub(super) nodes: Vec<ProgressNode>,
    /// Which node a step that was begun is.
    pub(super) at: HashMap<Path, usize>,
    /// Where graphs are, whose steps are nodes.
    pub(super) graphs: HashSet<String>,
    /// Calls of tools that are known, by who makes them: ids are unique only in a conversation.
    pub(super) calls: HashMap<(usize, String), LiveToolCall>,
    /// Questions that are open, and who asks them.
    pub(super) questions: HashMap<String, usize>,
    /// What calls of models before the run was resumed used, by where they were made.
    past: Vec<(Path, NodeUsage)>,
    pub(super) is_resumed: bool,
    pub(super) ended: Option<RunStatus>,
    pub(super) message: Option<LiveMessage>,
}

/// A tool call under way.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LiveToolCall {
    /// The name of the tool.
    pub tool: String,
    /// The beginning of what it was given, as JSON.
    pub arguments: String,
}

/// A message that a model is writing.
#[derive(Debug)]
#[non_exhaustive]
pub struct LiveMessage {
    pub(super) id: String,
    /// To which node, by its place in [`RunProgress::nodes`].
    pub node: usize,
    /// The end of it so far.
    pub text: String,
}

impl RunProgress {
    /// A tree in which nothing has happened yet.
    #[must_use]
    pub fn new(planned: &PlannedNode) -> Self {
        let mut progress = Self {
            nodes: Vec::new(),
            at: HashMap::new(),
            graphs: HashSet::new(),
            calls: HashMap::new(),
            questions: HashMap::new(),
            past: Vec::new(),
            is_resumed: false,
            ended: None,
            message: None,
        };
        progress.plan(planned, None, 1);
        progress
    }

    /// The same, with what the run's journal says was used before. What answers from a journal is not told of every call, so
    /// nodes take it from here when they begin again.
    #[must_use]
    pub fn with_history(mut self, history: &History) -> Self {
        let calls = history.effects.iter().filter(|effect| effect.kind == EffectKind::Model);
        self.past = calls.map(|effect| (effect.path.clone(), NodeUsage::from(effect.spent()))).collect();
        self
    }

    /// What was used before at a path and below it.
    pub(super) fn used_before(&self, path: &Path) -> NodeUsage {
        let within = self.past.iter().filter(|(place, _)| place.is_within(path));
        within.fold(NodeUsage::default(), |sum, (_, used)| sum.with(*used))
    }

    /// Whether it is known what was used before.
    pub(super) fn knows_the_past(&self) -> bool {
        !self.past.is_empty()
    }

    fn plan(&mut self, planned: &PlannedNode, parent: Option<usize>, repetition: u32) {
        let segment = Path::join(&Path::from(""), &planned.name, repetition).as_str().to_owned();
        let own = self.add(&planned.name, planned.kind, segment, parent);
        self.nodes[own].planned = true;
        for (index, child) in planned.children.iter().enumerate() {
            let same = planned.children[..index].iter().filter(|other| other.name == child.name);
            self.plan(child, Some(own), same.fold(1, |number, _| number + 1));
        }
    }

    fn add(&mut self, name: &str, kind: NodeKind, segment: String, parent: Option<usize>) -> usize {
        let own = self.nodes.len();
        self.nodes.push(ProgressNode::new(name, kind, segment, parent));
        if let Some(parent) = parent {
            self.nodes[parent].children.push(own);
        }
        own
    }

    /// The node that is or has the step at a path, by its place in [`nodes`](Self::nodes).
    #[must_use]
    pub fn nearest(&self, path: &Path) -> usize {
        let mut text = path.as_str();
        loop {
            if let Some(node) = self.at.get(&Path::from(text)) {
                return *node;
            }
            match text.rsplit_once('/') {
                Some((above, _)) => text = above,
                None => return 0,
            }
        }
    }

    /// The node that a step begins, made if it is not there.
    pub(super) fn begun_by(&mut self, path: &Path, kind: NodeKind) -> usize {
        let mut segments = path.segments();
        let last = segments.next_back().unwrap_or_default().to_owned();
        let node = if segments.next_back().is_none() {
            0
        } else {
            let above = path.as_str().rsplit_once('/').map_or("", |(above, _)| above);
            let parent = self.nearest(&Path::from(above));
            let name = Segment::of(&last).to_string();
            self.child(parent, &last).unwrap_or_else(|| self.add(&name, kind, last, Some(parent)))
        };
        self.at.insert(path.clone(), node);
        node
    }

    /// The child that a step of this name is. A repetition of which there is but one in the plan is that one again.
    fn child(&self, parent: usize, segment: &str) -> Option<usize> {
        let children = &self.nodes[parent].children;
        let is = |node: &&usize, segment: &str| self.nodes[**node].segment == segment;
        let once = || {
            let base = Segment::of(segment).written();
            children.iter().find(|node| self.nodes[**node].planned && is(node, base))
        };
        children.iter().find(|node| is(node, segment)).or_else(once).copied()
    }

    /// The node of a name at a path, or right below it: some is said by a part about itself, some by what is around it.
    #[must_use]
    pub fn named(&self, path: &Path, name: Option<&str>) -> usize {
        let nearest = self.nearest(path);
        let Some(name) = name.filter(|name| self.nodes[nearest].name != **name) else { return nearest };
        let children = &self.nodes[nearest].children;
        children.iter().copied().find(|child| self.nodes[*child].name == name).unwrap_or(nearest)
    }

    /// A node and all around it.
    pub(super) fn upwards(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |node| self.nodes[*node].parent)
    }

    /// The node that something at a path is about.
    #[must_use]
    pub fn node(&self, path: &Path) -> &ProgressNode {
        &self.nodes[self.nearest(path)]
    }

    /// A call of a tool at a path.
    #[must_use]
    pub fn call(&self, path: &Path, id: &str) -> Option<&LiveToolCall> {
        self.calls.get(&(self.nearest(path), id.to_owned()))
    }

    /// Returns all nodes; the first is the whole. Each comes after the one it is in.
    #[must_use]
    pub fn nodes(&self) -> &[ProgressNode] {
        &self.nodes
    }

    /// The node that the step at exactly this path is, if it has begun and is one.
    #[must_use]
    pub fn begun_at(&self, path: &Path) -> Option<usize> {
        self.at.get(path).copied()
    }

    /// The whole.
    #[must_use]
    pub fn root(&self) -> &ProgressNode {
        // There is always one: made with the tree.
        &self.nodes[0]
    }

    /// Returns whether the run had been started before.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Returns how the run ended.
    #[must_use]
    pub fn ended(&self) -> Option<RunStatus> {
        self.ended
    }

    /// The message that is being said.
    #[must_use]
    pub fn message(&self) -> Option<&LiveMessage> {
        self.message.as_ref()
    }

    /// Returns how many goals are settled, and how many there are.
    #[must_use]
    pub fn goals(&self) -> (usize, usize) {
        let is_goal = |node: &&ProgressNode| matches!(node.kind, NodeKind::Goal | NodeKind::Convergence);
        let goals = self.nodes.iter().filter(is_goal);
        (goals.clone().filter(|node| node.state.is_settled()).count(), goals.count())
    }

    /// Ends whatever is not over.
    pub(super) fn stop(&mut self, state: NodeState, at: Timestamp) {
        for node in &mut self.nodes {
            if node.begun.is_some() {
                node.end(state, at);
            }
        }
    }
}
