//! Searches of graphs: what can be reached, in which order nodes are come across, and which can reach each other.

use std::collections::{HashMap, HashSet, VecDeque};

/// The loops: those of more than one node, and nodes that lead to themselves; each with its nodes in declared order.
pub(crate) fn cycles(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    cycles_among(&(0..successors.len()).collect::<Vec<_>>(), successors)
}

/// The loops that some nodes are in without others.
pub(super) fn cycles_among(nodes: &[usize], successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut loops = Components::among(successors).in_order(nodes);
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
pub(super) fn preorder(successors: &[Vec<usize>], entry: usize) -> Vec<usize> {
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

/// The nodes on every way from one of some to a last one, in the order in which they are passed; none if there is no way.
pub(super) fn passed<N: Iterator<Item = usize>>(
    from: &[usize],
    is_last: impl Fn(usize) -> bool,
    next: impl Fn(usize) -> N,
) -> Vec<usize> {
    let way = shortest(from, &is_last, &next);
    let places: HashMap<usize, usize> = way.iter().enumerate().map(|(place, node)| (*node, place)).collect();
    let (mut known, mut open) = (HashSet::new(), from.to_vec());
    // How far one comes without passing what is on the shortest way from here on.
    let (mut furthest, mut passed) = (0, Vec::new());
    for (place, node) in way.iter().enumerate() {
        while let Some(node) = open.pop() {
            match places.get(&node) {
                Some(place) => furthest = furthest.max(*place),
                None if !known.insert(node) => {}
                None if is_last(node) => return passed,
                None => open.extend(next(node)),
            }
        }
        if furthest == place {
            passed.push(*node);
        }
        open.extend(next(*node));
    }
    passed
}

/// A shortest way from one of some nodes to a last one; nothing if there is none.
fn shortest<N: Iterator<Item = usize>>(
    from: &[usize],
    is_last: impl Fn(usize) -> bool,
    next: impl Fn(usize) -> N,
) -> Vec<usize> {
    let mut came_from: HashMap<usize, usize> = from.iter().map(|node| (*node, *node)).collect();
    let mut open: VecDeque<usize> = from.iter().copied().collect();
    while let Some(node) = open.pop_front() {
        if is_last(node) {
            let back = |node: &usize| came_from.get(node).copied().filter(|before| before != node);
            let mut way: Vec<usize> = std::iter::successors(Some(node), back).collect();
            way.reverse();
            return way;
        }
        for next in next(node) {
            came_from.entry(next).or_insert_with(|| {
                open.push_back(next);
                node
            });
        }
    }
    Vec::new()
}

/// What finds the nodes that can reach each other, among all or some of a graph.
pub(super) struct Components<'a> {
    successors: &'a [Vec<usize>],
    /// In which search a node was among those asked about last; its number there, and the component that it is in.
    asked: Vec<usize>,
    number: Vec<usize>,
    component: Vec<usize>,
    searches: usize,
}

const UNKNOWN: usize = usize::MAX;

impl<'a> Components<'a> {
    pub(super) fn among(successors: &'a [Vec<usize>]) -> Self {
        let count = successors.len();
        let unknown = vec![UNKNOWN; count];
        Self { successors, asked: vec![0; count], number: unknown.clone(), component: unknown, searches: 0 }
    }

    /// The components of some nodes, looking at the edges between them only: each after those that lead to it, and of those that
    /// might come next the one that might first.
    pub(super) fn in_order(&mut self, nodes: &[usize]) -> Vec<Vec<usize>> {
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
