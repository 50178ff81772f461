//! The order of nodes: which wait for which, so that a join runs once.
//!
//! A node that was reached waits as long as a path is under way that may still reach it. In a loop that would be for ever, so a
//! loop is taken round by round: its first node waits for everything that is still in the loop, and the others for what may reach
//! them within the round. By this rule nobody waits for whoever waits for him, and what a node is given never depends on who was
//! quicker.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, Range, RangeBounds, RangeInclusive};
use std::sync::Arc;

/// Who waits for whom.
///
/// Nodes have positions: each after whoever it waits for, and the nodes of a loop behind its first one, in a row. So who keeps a node
/// waiting is searched for backwards, and no further than to the first path there is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    positions: Arc<[usize]>,
    places: Arc<[Place]>,
}

/// What is known of the node at a position.
#[derive(Debug, Clone, Default)]
struct Place {
    /// The nodes that lead to it.
    before: Vec<usize>,
    /// The last node of the loop that it is the first node of; itself if it is of none.
    last: usize,
    /// The first node of the smallest loop that it is in without being its first node.
    inside: Option<usize>,
    /// The last node of the largest loop that it is in.
    outermost: usize,
}

/// The nodes at which paths are under way, as far as a run has come.
#[derive(Debug)]
pub(crate) struct Occupied {
    positions: Arc<[usize]>,
    paths: BTreeMap<usize, u32>,
}

impl Occupied {
    pub(crate) fn enter(&mut self, node: usize) {
        *self.paths.entry(self.positions[node]).or_insert(0) += 1;
    }

    pub(crate) fn leave(&mut self, node: usize) {
        if let Entry::Occupied(mut paths) = self.paths.entry(self.positions[node]) {
            *paths.get_mut() -= 1;
            if *paths.get() == 0 {
                paths.remove();
            }
        }
    }

    /// Whether there is no path but those that wait at this position.
    fn is_only(&self, position: usize) -> bool {
        self.paths.len() == 1 && self.paths.contains_key(&position)
    }

    fn is_any(&self, among: impl RangeBounds<usize>) -> bool {
        self.paths.range(among).next().is_some()
    }
}

impl Order {
    /// The order of nodes with these successors, of which the one at `entry` is the first.
    pub(crate) fn of(successors: &[Vec<usize>], entry: usize) -> Self {
        let rank = preorder(successors, entry);
        let (mut positions, mut places) =
            (vec![0; successors.len()], vec![Place::default(); successors.len()]);
        let mut open = vec![(0, None, (0..successors.len()).collect::<Vec<_>>())];
        let mut search = Components::among(successors);
        while let Some((mut position, inside, nodes)) = open.pop() {
            for mut members in search.in_order(&nodes) {
                let last = position + members.len() - 1;
                let first =
                    (0..members.len()).min_by_key(|member| rank[members[*member]]).unwrap_or_default();
                let first = members.remove(first);
                positions[first] = position;
                places[position] = Place { before: Vec::new(), last, inside, outermost: last };
                if !members.is_empty() {
                    open.push((position + 1, Some(position), members));
                }
                position = last + 1;
            }
        }
        for (node, next) in successors.iter().enumerate() {
            next.iter().for_each(|next| places[positions[*next]].before.push(positions[node]));
        }
        // Loops come before what is in them.
        for position in 0..places.len() {
            if let Some(first) = places[position].inside {
                places[position].outermost = places[first].outermost;
            }
        }
        Self { positions: positions.into(), places: places.into() }
    }

    /// The first nodes of the loops that a node is in, from the innermost on.
    pub(crate) fn loops_around(&self, node: usize) -> Vec<usize> {
        let position = self.positions[node];
        let place = &self.places[position];
        let is_first = place.last > position || place.before.contains(&position);
        let around = std::iter::successors(place.inside, |first| self.places[*first].inside);
        let firsts: Vec<usize> = is_first.then_some(position).into_iter().chain(around).collect();
        let node_at = |first: &usize| self.positions.iter().position(|position| position == first);
        firsts.iter().filter_map(node_at).collect()
    }

    /// No paths at all.
    pub(crate) fn unoccupied(&self) -> Occupied {
        Occupied { positions: Arc::clone(&self.positions), paths: BTreeMap::new() }
    }

    /// Whether some path that is under way keeps a node waiting.
    pub(crate) fn is_held_up(&self, node: usize, paths: &Occupied) -> bool {
        let node = self.positions[node];
        if paths.is_only(node) {
            return false;
        }
        let (mut first, mut last) = (node, self.places[node].last);
        if paths.is_any((Bound::Excluded(first), Bound::Included(last))) {
            return true;
        }
        loop {
            // What is in the same loop does not count here, nor does what is outside of the next larger one.
            let inside = self.places[first].inside;
            let (from, to) =
                inside.map_or((0, self.places.len()), |inside| (inside + 1, self.places[inside].last + 1));
            if paths.is_any(from..first) && self.is_reached(node, from..to, first..=last, paths) {
                return true;
            }
            let Some(inside) = inside else { return false };
            (first, last) = (inside, self.places[inside].last);
        }
    }

    /// Whether a path that is among some nodes may reach one of them. Those around it do not count.
    fn is_reached(
        &self,
        node: usize,
        among: Range<usize>,
        around: RangeInclusive<usize>,
        paths: &Occupied,
    ) -> bool {
        let earliest = paths.paths.range(among.clone()).next().map_or(0, |(position, _)| *position);
        let mut known = vec![0_u64; self.places.len().div_ceil(64)];
        let mut open = vec![node];
        while let Some(position) = open.pop() {
            // Branches mostly end in the order in which they began: who is still under way is among the last.
            for &before in self.places[position].before.iter().rev() {
                let (word, bit) = (before / 64, 1 << (before % 64));
                if !among.contains(&before)
                    || known[word] & bit != 0
                    || self.places[before].outermost < earliest
                {
                    continue;
                }
                if !around.contains(&before) && paths.paths.contains_key(&before) {
                    return true;
                }
                known[word] |= bit;
                open.push(before);
            }
        }
        false
    }
}

/// The loops: those of more than one node, and nodes that lead to themselves; each with its nodes in declared order.
pub(crate) fn cycles(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let nodes: Vec<usize> = (0..successors.len()).collect();
    let mut loops = Components::among(successors).in_order(&nodes);
    loops.retain(|members| match members[..] {
        [only] => successors[only].contains(&only),
        _ => true,
    });
    loops.iter_mut().for_each(|members| members.sort_unstable());
    loops.sort_unstable();
    loops
}

/// For every node whether it is one of some or can be reached from them.
pub(crate) fn reached(from: &[usize], successors: &[Vec<usize>]) -> Vec<bool> {
    let (mut known, mut open) = (vec![false; successors.len()], from.to_vec());
    from.iter().for_each(|node| known[*node] = true);
    while let Some(node) = open.pop() {
        for &next in &successors[node] {
            if !std::mem::replace(&mut known[next], true) {
                open.push(next);
            }
        }
    }
    known
}

/// The edges the other way round.
pub(crate) fn reversed(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut reversed = vec![Vec::new(); successors.len()];
    for (node, next) in successors.iter().enumerate() {
        next.iter().for_each(|next| reversed[*next].push(node));
    }
    reversed
}

/// The nodes that can be reached from the first, each after those it leads to, loops aside.
pub(crate) fn postorder(successors: &[Vec<usize>], entry: usize) -> Vec<usize> {
    let (mut known, mut done) = (vec![false; successors.len()], Vec::new());
    let mut open = vec![(entry, 0)];
    known[entry] = true;
    while let Some((node, edge)) = open.pop() {
        match successors[node].get(edge) {
            None => done.push(node),
            Some(&next) => {
                open.push((node, edge + 1));
                if !std::mem::replace(&mut known[next], true) {
                    open.push((next, 0));
                }
            }
        }
    }
    done
}

/// In which order nodes are come across from the first on; those that are not come last, in declared order.
fn preorder(successors: &[Vec<usize>], entry: usize) -> Vec<usize> {
    let mut rank = vec![usize::MAX; successors.len()];
    let (mut open, mut next) = (vec![entry], 0);
    while let Some(node) = open.pop() {
        if rank[node] == usize::MAX {
            rank[node] = next;
            next += 1;
            open.extend(successors[node].iter().rev());
        }
    }
    for place in rank.iter_mut().filter(|place| **place == usize::MAX) {
        *place = next;
        next += 1;
    }
    rank
}

/// What finds the nodes that can reach each other, among all or some of a graph.
struct Components<'a> {
    successors: &'a [Vec<usize>],
    /// In which search a node was among those asked about last; its number there, and the component that it is in.
    asked: Vec<usize>,
    number: Vec<usize>,
    component: Vec<usize>,
    searches: usize,
}

const UNKNOWN: usize = usize::MAX;

impl<'a> Components<'a> {
    fn among(successors: &'a [Vec<usize>]) -> Self {
        let count = successors.len();
        let unknown = vec![UNKNOWN; count];
        Self { successors, asked: vec![0; count], number: unknown.clone(), component: unknown, searches: 0 }
    }

    /// The components of some nodes, looking at the edges between them only: each after those that lead to it, and of those that
    /// might come next the one that might first.
    fn in_order(&mut self, nodes: &[usize]) -> Vec<Vec<usize>> {
        self.searches += 1;
        for &node in nodes {
            (self.asked[node], self.number[node], self.component[node]) = (self.searches, UNKNOWN, UNKNOWN);
        }
        let mut components = self.find(nodes);
        let leads = |this: &Self, node: usize| {
            let (own, here) = (this.component[node], this.searches);
            let next = this.successors[node].iter().filter(move |next| this.asked[**next] == here);
            next.map(|next| this.component[*next]).filter(move |next| *next != own).collect::<Vec<_>>()
        };
        let mut before = vec![0_usize; components.len()];
        for next in nodes.iter().flat_map(|node| leads(self, *node)) {
            before[next] += 1;
        }
        // They are found in reverse.
        let mut open: VecDeque<usize> = (0..components.len()).rev().filter(|one| before[*one] == 0).collect();
        let mut ordered = Vec::with_capacity(components.len());
        while let Some(component) = open.pop_front() {
            for next in components[component].iter().flat_map(|node| leads(self, *node)) {
                before[next] -= 1;
                if before[next] == 0 {
                    open.push_back(next);
                }
            }
            ordered.push(std::mem::take(&mut components[component]));
        }
        ordered
    }

    /// Finds the components (Tarjan, without recursion).
    fn find(&mut self, nodes: &[usize]) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        let mut low: Vec<usize> = Vec::with_capacity(nodes.len());
        let mut stack: Vec<usize> = Vec::new();
        for &root in nodes {
            if self.number[root] != UNKNOWN {
                continue;
            }
            let mut calls = vec![(root, 0)];
            while let Some((node, mut edge)) = calls.pop() {
                if edge == 0 {
                    self.number[node] = low.len();
                    low.push(low.len());
                    stack.push(node);
                }
                let own = self.number[node];
                let mut descends = false;
                while let Some(&target) = self.successors[node].get(edge) {
                    edge += 1;
                    if self.asked[target] != self.searches {
                        continue;
                    }
                    if self.number[target] == UNKNOWN {
                        calls.extend([(node, edge), (target, 0)]);
                        descends = true;
                        break;
                    }
                    if self.component[target] == UNKNOWN {
                        low[own] = low[own].min(self.number[target]);
                    }
                }
                if descends {
                    continue;
                }
                if low[own] == own {
                    let begins = stack.iter().rposition(|member| *member == node).unwrap_or(0);
                    let members = stack.split_off(begins);
                    members.iter().for_each(|member| self.component[*member] = found.len());
                    found.push(members);
                }
                if let Some((parent, _)) = calls.last() {
                    let parent = self.number[*parent];
                    low[parent] = low[parent].min(low[own]);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Order {
        /// Whether a path that is at `earlier` keeps `later` waiting.
        fn holds_up(&self, earlier: usize, later: usize) -> bool {
            let mut paths = self.unoccupied();
            paths.enter(earlier);
            self.is_held_up(later, &paths)
        }
    }

    /// 0 → 1, 2; 1 → 3; 2 → 4 → 3: arms of different length.
    #[test]
    fn a_join_waits_for_the_longer_arm() {
        let order = Order::of(&[vec![1, 2], vec![3], vec![4], vec![], vec![3]], 0);
        assert!(order.holds_up(2, 3) && order.holds_up(4, 3) && !order.holds_up(1, 2));
    }

    /// 0 → 1, 2; 1 → 3 → 1 (a loop with its exit at 1), 1 → 4; 2 → 4.
    #[test]
    fn a_join_waits_for_a_loop_that_is_left_at_its_beginning() {
        let order = Order::of(&[vec![1, 2], vec![3, 4], vec![4], vec![1], vec![]], 0);
        assert!(
            order.holds_up(3, 4) && order.holds_up(1, 4) && order.holds_up(3, 1) && !order.holds_up(1, 3)
        );
    }

    #[test]
    fn nobody_waits_for_whoever_waits_for_him() {
        let successors = [vec![1, 2], vec![2, 3], vec![1, 3], vec![0, 4], vec![4, 1]];
        let order = Order::of(&successors, 0);
        for one in 0..5 {
            for other in 0..5 {
                assert!(!(order.holds_up(one, other) && order.holds_up(other, one)), "{one} and {other}");
            }
        }
    }

    /// Who waits for whom by the rule as it is said, which takes the square of the nodes at least.
    fn settled(nodes: &[usize], successors: &[Vec<usize>], rank: &[usize], waits: &mut Vec<(usize, usize)>) {
        let others: Vec<usize> = (0..successors.len()).filter(|node| !nodes.contains(node)).collect();
        let reached = |from: usize| {
            let mut known = others.clone();
            let (mut found, mut open) = (Vec::new(), vec![from]);
            while let Some(node) = open.pop() {
                for &next in &successors[node] {
                    if !known.contains(&next) {
                        known.push(next);
                        found.push(next);
                        open.push(next);
                    }
                }
            }
            found
        };
        let reached: Vec<Vec<usize>> = (0..successors.len()).map(reached).collect();
        let both = |one: usize, other: usize| reached[one].contains(&other) && reached[other].contains(&one);
        let mut done: Vec<usize> = Vec::new();
        for &node in nodes {
            let later = reached[node].iter().filter(|other| **other != node && !both(node, **other));
            waits.extend(later.map(|other| (node, *other)));
            let members: Vec<usize> =
                nodes.iter().copied().filter(|other| *other == node || both(node, *other)).collect();
            if !done.contains(&node) && members.len() > 1 {
                done.extend(&members);
                let first = *members.iter().min_by_key(|node| rank[**node]).unwrap();
                let rest: Vec<usize> = members.into_iter().filter(|node| *node != first).collect();
                waits.extend(rest.iter().map(|node| (*node, first)));
                settled(&rest, successors, rank, waits);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn nodes_wait_for_whom_the_rule_says(
            edges in proptest::collection::vec((0_usize..9, 0_usize..9), 0..24),
            taken in proptest::collection::vec(0_usize..9, 0..5),
        ) {
            let mut successors = vec![Vec::new(); 9];
            for (from, to) in edges {
                successors[from].push(to);
            }
            let (order, mut waits) = (Order::of(&successors, 0), Vec::new());
            settled(&(0..9).collect::<Vec<_>>(), &successors, &preorder(&successors, 0), &mut waits);
            for later in 0..9 {
                let mut paths = order.unoccupied();
                taken.iter().for_each(|node| paths.enter(*node));
                let expected = taken.iter().any(|earlier| waits.contains(&(*earlier, later)));
                proptest::prop_assert_eq!(order.is_held_up(later, &paths), expected, "{:?} {:?}", later, waits);
            }
        }
    }
}
