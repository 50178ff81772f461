//! Guards of loops within loops: whenever the outer one counts, the loop within begins anew, and so does its guard.

use std::collections::BTreeMap;

use super::CompiledGraph;
use super::order::cycles;

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
