//! The way that a run took through a graph, found from what is on record of its nodes: nodes are gone through as they were when it
//! ran, but nothing is done in them.

use std::collections::BTreeMap;

use convoke_core::Path;

use crate::CompiledGraph;
use crate::compile::{CompiledNode, reached};
use crate::run::Rules;

/// The record of one run of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeTrace {
    /// It ran, and these nodes came next.
    Routed(Vec<String>),
    /// Another branch ended its branch, for this reason.
    LeftOut(String),
    /// It failed.
    Failed,
    /// Nothing, so far.
    Nothing,
}

/// The way that a run took through a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphWay {
    pub(crate) nodes: Vec<NodeVisits>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeVisits {
    pub(crate) begun: u64,
    pub(crate) left_out: u64,
    /// Why its branch was ended last.
    pub(crate) ended_by: Option<String>,
    /// Whether it has begun and is not over.
    pub(crate) is_open: bool,
    /// How often each of its edges was taken.
    pub(crate) taken: Vec<u64>,
    /// The way through the graph that it runs, all times together, if that is known.
    pub(crate) inner: Option<GraphWay>,
}

/// What is on record of a run.
struct Record<'a> {
    trace: &'a dyn Fn(&Path) -> NodeTrace,
    is_known: &'a dyn Fn(&Path) -> bool,
    version: &'a dyn Fn(&Path) -> Option<u32>,
}

impl GraphWay {
    /// Returns whether some node has begun that is neither over nor failed.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.nodes.iter().any(|node| node.is_open)
    }

    /// This way and another through the same graph.
    fn together(mut self, other: Self) -> Self {
        for (node, other) in self.nodes.iter_mut().zip(other.nodes) {
            node.inner = match (node.inner.take(), other.inner) {
                (Some(inner), Some(more)) => Some(inner.together(more)),
                (Some(inner), None) if other.begun == 0 => Some(inner),
                (None, Some(inner)) if node.begun == 0 => Some(inner),
                _ => None,
            };
            node.begun += other.begun;
            node.left_out += other.left_out;
            node.is_open |= other.is_open;
            node.ended_by = other.ended_by.or_else(|| node.ended_by.take());
            node.taken.iter_mut().zip(other.taken).for_each(|(times, more)| *times += more);
        }
        self
    }
}

impl CompiledGraph {
    /// The way that a run took, from what is on record of a node by its path, whether anything is on record at or below a path, and
    /// which [version](convoke_core::Scope::version) was decided on at a path, which says what rules the run keeps.
    #[must_use]
    pub fn way(
        &self,
        trace: &dyn Fn(&Path) -> NodeTrace,
        is_known: &dyn Fn(&Path) -> bool,
        version: &dyn Fn(&Path) -> Option<u32>,
    ) -> GraphWay {
        let record = Record { trace, is_known, version };
        self.way_at(&Path::join(&Path::from(""), &self.definition.name, 1), &record)
    }

    /// The way that was taken where it ran at a path.
    fn way_at(&self, root: &Path, record: &Record<'_>) -> GraphWay {
        let mut way = self.untaken();
        let mut waiting = BTreeMap::from([(self.entry, 1)]);
        let order = self.order_by(Rules::numbered((record.version)(&Rules::kept_at(root))));
        let mut paths = order.unoccupied();
        paths.enter(self.entry);
        let mut stopped = vec![false; self.nodes.len()];
        for _ in 0..self.definition.max_nodes {
            let is_ready = |node: &usize| !stopped[*node] && !order.is_held_up(*node, &paths);
            let Some(node) = waiting.keys().copied().find(is_ready) else { break };
            (1..waiting.remove(&node).unwrap_or(1)).for_each(|_| paths.leave(node));
            let (compiled, visits) = (&self.nodes[node], &mut way.nodes[node]);
            visits.begun += 1;
            let at =
                Path::join(root, &compiled.definition.id, u32::try_from(visits.begun).unwrap_or(u32::MAX));
            let trace = (record.trace)(&at);
            self.add_inner(compiled, visits, &at, &trace, record);
            let next = match trace {
                NodeTrace::Routed(names) => names,
                NodeTrace::Nothing if !compiled.keeps_route() => {
                    let mut names: Vec<String> = Vec::new();
                    for name in compiled.edges.iter().map(|edge| self.target(edge.to).to_owned()) {
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                    names
                }
                NodeTrace::LeftOut(reason) => {
                    visits.left_out += 1;
                    visits.ended_by = Some(reason);
                    Vec::new()
                }
                NodeTrace::Failed => {
                    stopped[node] = true;
                    continue;
                }
                NodeTrace::Nothing => {
                    visits.is_open = true;
                    stopped[node] = true;
                    continue;
                }
            };
            paths.leave(node);
            for name in next {
                // Edges with a condition go first.
                let leads = |edge: &usize| self.target(compiled.edges[*edge].to) == name;
                let by_condition = |edge: &usize| compiled.edges[*edge].condition.is_none();
                let Some(edge) = (0..compiled.edges.len()).filter(leads).min_by_key(by_condition) else {
                    continue;
                };
                visits.taken[edge] += 1;
                if let Some(target) = compiled.edges[edge].to {
                    paths.enter(target);
                    *waiting.entry(target).or_insert(0) += 1;
                }
            }
        }
        way
    }

    /// Adds the way that was taken through the graph that a node runs, at this visit of it; nothing if that cannot be known: of items
    /// that leave nothing on record nobody knows how many there were.
    fn add_inner(
        &self,
        node: &CompiledNode,
        visits: &mut NodeVisits,
        at: &Path,
        trace: &NodeTrace,
        record: &Record<'_>,
    ) {
        let Some(graph) = self.graph_of(node) else { return };
        let is_over = matches!(trace, NodeTrace::Routed(_));
        let path = |time| Path::join(at, &graph.definition.name, time);
        let times = match &*node.definition.kind {
            // It may have been passed over, and leads on as if it had run.
            "graph" if node.skip.is_some() && !(record.is_known)(&path(1)) => None,
            "graph" => Some(u32::from(is_over || (record.is_known)(&path(1)))),
            _ if graph.nodes[graph.entry].keeps_route() || (is_over && graph.keeps_something()) => Some(
                (1..)
                    .take_while(|time| (record.is_known)(&path(*time)))
                    .count()
                    .try_into()
                    .unwrap_or(u32::MAX),
            ),
            _ => None,
        };
        let ways =
            times.map(|times| (1..=times).map(|time| graph.way_at(&path(time), record)).collect::<Vec<_>>());
        let ways = ways.filter(|ways| !is_over || !ways.iter().any(GraphWay::is_under_way));
        let before = if visits.begun == 1 { Some(graph.untaken()) } else { visits.inner.take() };
        visits.inner =
            before.zip(ways).map(|(before, ways)| ways.into_iter().fold(before, GraphWay::together));
    }

    /// Whether it leaves something on record whenever it comes to an end: nobody gets there by nodes alone that only compute.
    fn keeps_something(&self) -> bool {
        let edges = |node: &CompiledNode| match node.keeps_route() {
            true => Vec::new(),
            false => node.edges.iter().filter_map(|edge| edge.to).collect(),
        };
        let silent = reached(&[self.entry], &self.nodes.iter().map(edges).collect::<Vec<_>>());
        let ends =
            |node: &CompiledNode| node.edges.is_empty() || node.edges.iter().any(|edge| edge.to.is_none());
        !self.nodes.iter().zip(silent).any(|(node, is_silent)| is_silent && !node.keeps_route() && ends(node))
    }

    /// A way on which nobody has gone yet.
    fn untaken(&self) -> GraphWay {
        let visits =
            |node: &CompiledNode| NodeVisits { taken: vec![0; node.edges.len()], ..NodeVisits::default() };
        GraphWay { nodes: self.nodes.iter().map(visits).collect() }
    }
}
