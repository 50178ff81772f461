//! Guards of loops within loops: whenever the outer one begins another round, the loop within begins anew, and so does its guard.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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

    /// For the nodes that begin another round of a loop around that of a guard, by number: the ids of such guards. These are the first
    /// nodes of loops around, and those that lead back to a loop which only its guard has left, having counted enough. A loop that is
    /// gone round by a guard which has not is its own.
    pub(crate) fn guards_of_rounds(&self) -> BTreeMap<usize, Vec<String>> {
        let mut rounds: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let (successors, node_at) = (self.successors(), self.order.nodes());
        for members in cycles(&successors) {
            for &guard in members.iter().filter(|node| self.is_guard(**node)) {
                let mut around = self.order.loops_around(guard).into_iter().map(|position| node_at[position]);
                let Some(first) = around.next() else { continue };
                let stays = self.stays(guard);
                let mut begins = left_and_entered(guard, &stays, &members, &successors);
                let mut outer: Vec<usize> = around.collect();
                let mut known = HashSet::from([first, guard]);
                let mut open = stays;
                while let Some(node) = open.pop().filter(|_| !outer.is_empty()) {
                    outer.retain(|first| *first != node);
                    if known.insert(node) {
                        open.extend(&successors[node]);
                    }
                }
                begins.extend(outer);
                let id = &self.nodes[guard].definition.id;
                begins.into_iter().for_each(|node| rounds.entry(node).or_default().push(id.clone()));
            }
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

/// The nodes outside of the loop that a guard which has not counted enough is in, from which one comes back to it. All of them are among
/// the members of the largest loop around.
fn left_and_entered(
    guard: usize,
    stays: &[usize],
    members: &[usize],
    successors: &[Vec<usize>],
) -> BTreeSet<usize> {
    let is_member = |node: &usize| members.binary_search(node).is_ok();
    let reached = |from: &[usize], next: &dyn Fn(usize) -> Vec<usize>| {
        let mut known: HashSet<usize> = from.iter().copied().filter(is_member).collect();
        let mut open: Vec<usize> = known.iter().copied().collect();
        while let Some(node) = open.pop() {
            open.extend(next(node).into_iter().filter(|next| is_member(next) && known.insert(*next)));
        }
        known
    };
    let ways = |node: usize| if node == guard { stays.to_vec() } else { successors[node].clone() };
    let leads = reached(stays, &ways);
    if !leads.contains(&guard) {
        return BTreeSet::new();
    }
    let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
    for (node, next) in members.iter().flat_map(|node| ways(*node).into_iter().map(move |next| (*node, next)))
    {
        before.entry(next).or_default().push(node);
    }
    let led = reached(&[guard], &|node| before.get(&node).cloned().unwrap_or_default());
    let is_in_loop = |node: &usize| leads.contains(node) && led.contains(node);
    let left = reached(&successors[guard], &|node| successors[node].clone());
    let enters = |node: &usize| successors[*node].iter().any(is_in_loop);
    left.into_iter().filter(|node| !is_in_loop(node) && enters(node)).collect()
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
