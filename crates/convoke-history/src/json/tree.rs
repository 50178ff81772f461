//! The tree of a run, as JSON.

use serde::Serialize;

use super::{SpentView, seconds};
use crate::{History, Tree, TreeItem, TreeNode};

/// A part of a run, with the parts in it.
#[derive(Debug, Serialize)]
pub struct NodeView<'a> {
    name: &'a str,
    path: &'a str,
    duration_seconds: Option<f64>,
    failures: u64,
    spent: SpentView,
    /// Numbers of the first entries of its own effects.
    effects: Vec<u64>,
    children: Vec<NodeView<'a>>,
}

impl<'a> NodeView<'a> {
    /// The run itself.
    #[must_use]
    pub fn root(history: &'a History) -> Self {
        Self::new(history, &history.tree, history.tree.root())
    }

    fn new(history: &'a History, tree: &'a Tree, node: &'a TreeNode) -> Self {
        let mut view = Self {
            name: &node.name,
            path: node.path.as_str(),
            duration_seconds: node.duration.map(seconds),
            failures: node.spent.failures,
            spent: (&node.spent).into(),
            effects: Vec::new(),
            children: Vec::new(),
        };
        for item in &node.items {
            match *item {
                TreeItem::Effect(number) => view.effects.push(history.effects[number].first_seq()),
                TreeItem::Node(number) => view.children.push(Self::new(history, tree, tree.node(number))),
            }
        }
        view
    }
}
