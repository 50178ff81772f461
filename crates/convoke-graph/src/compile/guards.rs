//! Guards of loops within loops: whenever the outer one begins another round, the loop within begins anew, and so does its guard.

use std::collections::{BTreeMap, HashSet};

use super::CompiledGraph;
use super::search::{cycles, cycles_among, passed};
use crate::Board;

/// What guards say once they have counted enough.
const EXCEEDED: &str = "loop_count_exceeded";

impl CompiledGraph {
    /// For the guards of loops with loops in them, by number: the ids of the guards there.
    pub(crate) fn guards_within(&self) -> BTreeMap<usize, Vec<String>> {
        let successors = self.successors();
        let mut within = BTreeMap::new();
        for members in cycles(&successors) {
            let guards: Vec<usize> = members.iter().copied().filter(|node| self.is_guard(*node)).collect();
            for &outer in guards.iter().filter(|_| guards.len() > 1) {
                // All of its ways around lead through those within, whose own do without it.
                let passed = passed_by_all(outer, &members, &successors);
                let inner: Vec<usize> = guards
                    .iter()
                    .copied()
                    .filter(|guard| *guard != outer && passed.contains(guard))
                    .collect();
                if inner.is_empty() {
                    continue;
                }
                let left = loops_without(outer, &members, &successors);
                let inner = inner.into_iter().filter(|guard| left.contains(guard));
                let ids: Vec<String> = inner.map(|guard| self.nodes[guard].definition.id.clone()).collect();
                if !ids.is_empty() {
                    within.insert(outer, ids);
                }
            }
        }
        within
    }

    /// For the first nodes of loops with other loops in them, by number: the ids of the guards of those. A guard that one goes round
    /// by without having come to its end is one of this loop, too.
    pub(crate) fn guards_of_rounds(&self) -> BTreeMap<usize, Vec<String>> {
        let mut rounds: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let node_at = self.order.nodes();
        for guard in (0..self.nodes.len()).filter(|node| self.is_guard(*node)) {
            let mut around = self.order.loops_around(guard).into_iter().map(|position| node_at[position]);
            let Some(first) = around.next() else { continue };
            let mut outer: Vec<usize> = around.collect();
            let mut known = HashSet::from([first, guard]);
            let mut open = self.stays(guard);
            while let Some(node) = open.pop().filter(|_| !outer.is_empty()) {
                outer.retain(|first| *first != node);
                if known.insert(node) {
                    open.extend(self.nodes[node].edges.iter().filter_map(|edge| edge.to));
                }
            }
            let id = &self.nodes[guard].definition.id;
            outer.into_iter().for_each(|first| rounds.entry(first).or_default().push(id.clone()));
        }
        rounds
    }

    fn is_guard(&self, node: usize) -> bool {
        self.nodes[node].definition.kind == "loopguard"
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

/// The nodes besides this one on every way around from it to itself, of which all are among the members of its loop.
fn passed_by_all(node: usize, members: &[usize], successors: &[Vec<usize>]) -> Vec<usize> {
    let next = |from: usize| {
        let next = successors[from].iter().copied();
        next.filter(|next| *next != node && members.binary_search(next).is_ok())
    };
    let leads_back = |from: usize| successors[from].contains(&node);
    match leads_back(node) {
        true => Vec::new(),
        false => passed(&next(node).collect::<Vec<_>>(), leads_back, next),
    }
}

/// The nodes of a loop that are in loops also without one of them.
fn loops_without(node: usize, members: &[usize], successors: &[Vec<usize>]) -> HashSet<usize> {
    let rest: Vec<usize> = members.iter().copied().filter(|member| *member != node).collect();
    cycles_among(&rest, successors).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every node whether it is in a loop that does without another one.
    fn without(other: usize, successors: &[Vec<usize>]) -> Vec<bool> {
        let mut left = successors.to_vec();
        left[other].clear();
        let mut found = vec![false; successors.len()];
        cycles(&left).into_iter().flatten().for_each(|node| found[node] = true);
        found
    }

    proptest::proptest! {
        /// By the rule as it is said, for which every node is taken out of the whole graph.
        #[test]
        fn loops_are_within_others_as_the_rule_says(edges in proptest::collection::vec((0_usize..8, 0_usize..8), 0..20)) {
            let mut successors = vec![Vec::new(); 8];
            edges.into_iter().for_each(|(from, to)| successors[from].push(to));
            let loops = cycles(&successors);
            for (outer, inner) in (0..8).flat_map(|outer| (0..8).map(move |inner| (outer, inner))) {
                let expected = loops.iter().any(|members| members.contains(&outer))
                    && without(outer, &successors)[inner]
                    && !without(inner, &successors)[outer];
                let found = loops.iter().filter(|members| members.contains(&outer)).any(|members| {
                    passed_by_all(outer, members, &successors).contains(&inner)
                        && loops_without(outer, members, &successors).contains(&inner)
                });
                proptest::prop_assert_eq!(found, expected, "{} in {} of {:?}", inner, outer, successors);
            }
        }
    }
}
