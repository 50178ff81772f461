//! Guards of loops within loops: whenever the outer one begins another round, the loop within begins anew, and so does its guard.

use std::collections::BTreeMap;

use super::CompiledGraph;
use super::order::{cycles, reached};
use crate::Board;

/// What guards say once they have counted enough.
const EXCEEDED: &str = "loop_count_exceeded";

impl CompiledGraph {
    /// For the guards of loops with loops in them, by number: the ids of the guards there.
    pub(crate) fn guards_within(&self) -> BTreeMap<usize, Vec<String>> {
        let is_guard = |node: &usize| self.nodes[*node].definition.kind == "loopguard";
        let guards: Vec<usize> = (0..self.nodes.len()).filter(is_guard).collect();
        if guards.len() < 2 {
            return BTreeMap::new();
        }
        let successors = self.successors();
        let all = in_loops(&successors);
        let without: Vec<Vec<bool>> =
            guards.iter().map(|guard| in_loops(&cut(&successors, *guard))).collect();
        let mut within = BTreeMap::new();
        for (outer, guard) in guards.iter().enumerate().filter(|(_, guard)| all[**guard]) {
            // Its loop does without the outer guard, whose own loops all lead through this one.
            let is_within = |inner: &usize| without[outer][guards[*inner]] && !without[*inner][*guard];
            let ids: Vec<String> = (0..guards.len())
                .filter(|inner| *inner != outer && is_within(inner))
                .map(|inner| self.nodes[guards[inner]].definition.id.clone())
                .collect();
            if !ids.is_empty() {
                within.insert(*guard, ids);
            }
        }
        within
    }

    /// For the first nodes of loops with other loops in them, by number: the ids of the guards of those. A guard that one goes round
    /// by without having come to its end is one of this loop, too.
    pub(crate) fn guards_of_rounds(&self) -> BTreeMap<usize, Vec<String>> {
        let mut rounds: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let successors = self.successors();
        let guards = self.nodes.iter().enumerate().filter(|(_, node)| node.definition.kind == "loopguard");
        for (guard, node) in guards {
            let around = self.order.loops_around(guard);
            let [first, outer @ ..] = &around[..] else { continue };
            let mut ways = cut(&successors, *first);
            let stays = self.stays(guard);
            ways[guard].clear();
            let is_reached = reached(&stays, &ways);
            for first in outer.iter().filter(|first| !is_reached[**first]) {
                rounds.entry(*first).or_default().push(node.definition.id.clone());
            }
        }
        rounds
    }

    /// Where one may go from a guard that has not counted enough.
    fn stays(&self, guard: usize) -> Vec<usize> {
        let mut board = Board::new();
        board.put(EXCEEDED, false);
        let edges = &self.nodes[guard].edges;
        // What else a condition may ask for is not known.
        let taken = |edge: &super::CompiledEdge| {
            let condition =
                edge.condition.as_ref().filter(|condition| condition.names().all(|name| name == EXCEEDED));
            condition.and_then(|condition| condition.holds(&board, 0).ok())
        };
        let is_sure = edges.iter().any(|edge| taken(edge) == Some(true));
        let stays = edges.iter().filter(|edge| match edge.condition {
            Some(_) => taken(edge) != Some(false),
            None => !is_sure,
        });
        stays.filter_map(|edge| edge.to).collect()
    }
}

/// The edges without those from a node.
fn cut(successors: &[Vec<usize>], node: usize) -> Vec<Vec<usize>> {
    let mut left = successors.to_vec();
    left[node].clear();
    left
}

/// For every node whether it is in a loop.
fn in_loops(successors: &[Vec<usize>]) -> Vec<bool> {
    let mut found = vec![false; successors.len()];
    cycles(successors).into_iter().flatten().for_each(|node| found[node] = true);
    found
}
