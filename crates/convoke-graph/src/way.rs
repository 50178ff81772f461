//! The way that a run took through a graph, found from what is on record of its nodes: nodes are gone through as they were when it
//! ran, but nothing is done in them.

use std::collections::BTreeMap;

use crate::CompiledGraph;
use crate::compile::CompiledNode;

/// The record of one run of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeTrace {
    /// It ran, and these nodes came next.
    Routed(Vec<String>),
    /// Another branch ended its branch.
    LeftOut,
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
    /// Whether it has begun and is not over.
    pub(crate) is_open: bool,
    /// How often each of its edges was taken.
    pub(crate) taken: Vec<u64>,
}

impl GraphWay {
    /// Returns whether some node has begun that is neither over nor failed.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.nodes.iter().any(|node| node.is_open)
    }
}

impl CompiledGraph {
    /// The way that a run took, from what is on record of a node by its id and the number of the time it ran, from 1.
    #[must_use]
    pub fn way(&self, trace: &dyn Fn(&str, u64) -> NodeTrace) -> GraphWay {
        let visits =
            |node: &CompiledNode| NodeVisits { taken: vec![0; node.edges.len()], ..NodeVisits::default() };
        let mut way = GraphWay { nodes: self.nodes.iter().map(visits).collect() };
        let mut waiting = BTreeMap::from([(self.entry, 1)]);
        let mut paths = self.order.unoccupied();
        paths.enter(self.entry);
        let mut stopped = vec![false; self.nodes.len()];
        for _ in 0..self.definition.max_nodes {
            let is_ready = |node: &usize| !stopped[*node] && !self.order.is_held_up(*node, &paths);
            let Some(node) = waiting.keys().copied().find(is_ready) else { break };
            (1..waiting.remove(&node).unwrap_or(1)).for_each(|_| paths.leave(node));
            let (compiled, visits) = (&self.nodes[node], &mut way.nodes[node]);
            visits.begun += 1;
            let next = match trace(&compiled.definition.id, visits.begun) {
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
                NodeTrace::LeftOut => {
                    visits.left_out += 1;
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
}
