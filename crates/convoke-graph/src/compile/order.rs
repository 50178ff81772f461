//! Which nodes wait for which: what makes a join run once.
//!
//! A node that was reached waits as long as a path is under way that may still reach it. In a loop that would be for ever, so a
//! loop is taken round by round: its first node waits for everything that is still in the loop, and the others for what may reach
//! them within the round. By this rule nobody waits for whoever waits for him, and what a node is given never depends on who was
//! quicker.

/// For every node, the nodes that it waits for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    rows: Vec<Vec<u64>>,
}

/// The nodes at which paths are under way, as far as a run has come.
#[derive(Debug, Default)]
pub(crate) struct Occupied {
    counts: Vec<u32>,
    bits: Vec<u64>,
}

impl Occupied {
    pub(crate) fn none_of(nodes: usize) -> Self {
        Self { counts: vec![0; nodes], bits: vec![0; nodes.div_ceil(64)] }
    }

    pub(crate) fn enter(&mut self, node: usize) {
        self.counts[node] += 1;
        self.bits[node / 64] |= 1 << (node % 64);
    }

    pub(crate) fn leave(&mut self, node: usize) {
        self.counts[node] -= 1;
        if self.counts[node] == 0 {
            self.bits[node / 64] &= !(1 << (node % 64));
        }
    }
}

impl Order {
    /// The order of nodes with these successors, of which the one at `entry` is the first.
    pub(crate) fn of(successors: &[Vec<usize>], entry: usize) -> Self {
        let count = successors.len();
        let mut order = Self { rows: vec![vec![0; count.div_ceil(64)]; count] };
        let rank = preorder(successors, entry);
        order.settle(&(0..count).collect::<Vec<_>>(), successors, &rank);
        order
    }

    /// Whether some path that is under way keeps a node waiting.
    pub(crate) fn is_held_up(&self, node: usize, paths: &Occupied) -> bool {
        self.rows[node].iter().zip(&paths.bits).any(|(earlier, taken)| earlier & taken != 0)
    }

    fn set(&mut self, earlier: usize, later: usize) {
        self.rows[later][earlier / 64] |= 1 << (earlier % 64);
    }

    /// Settles who waits for whom among some nodes, looking at the edges between them only.
    fn settle(&mut self, nodes: &[usize], successors: &[Vec<usize>], rank: &[usize]) {
        let loops = components(nodes, successors);
        for &node in nodes {
            for other in reached(node, nodes, successors) {
                if loops[other] != loops[node] {
                    self.set(node, other);
                }
            }
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); successors.len()];
        nodes.iter().for_each(|node| members[loops[*node]].push(*node));
        for members in members.into_iter().filter(|members| members.len() > 1) {
            let Some(first) = members.iter().copied().min_by_key(|node| rank[*node]) else { continue };
            let rest: Vec<usize> = members.into_iter().filter(|node| *node != first).collect();
            rest.iter().for_each(|node| self.set(*node, first));
            self.settle(&rest, successors, rank);
        }
    }
}

/// The loops: those of more than one node, and nodes that lead to themselves.
pub(crate) fn cycles(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let nodes: Vec<usize> = (0..successors.len()).collect();
    let loops = components(&nodes, successors);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); successors.len()];
    nodes.iter().for_each(|node| members[loops[*node]].push(*node));
    members.retain(|members| match members[..] {
        [] => false,
        [only] => successors[only].contains(&only),
        _ => true,
    });
    members
}

/// The nodes that can be reached from one, itself only through a loop.
pub(crate) fn reached(from: usize, nodes: &[usize], successors: &[Vec<usize>]) -> Vec<usize> {
    let mut known = vec![true; successors.len()];
    nodes.iter().for_each(|node| known[*node] = false);
    let (mut found, mut open) = (Vec::new(), vec![from]);
    while let Some(node) = open.pop() {
        for &next in &successors[node] {
            if !std::mem::replace(&mut known[next], true) {
                found.push(next);
                open.push(next);
            }
        }
    }
    found
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

/// For every node a number that those share which can reach each other (Tarjan, without recursion).
fn components(nodes: &[usize], successors: &[Vec<usize>]) -> Vec<usize> {
    let count = successors.len();
    let mut is_here = vec![false; count];
    nodes.iter().for_each(|node| is_here[*node] = true);
    let (mut index, mut low, mut on_stack) = (vec![usize::MAX; count], vec![0; count], vec![false; count]);
    let (mut component, mut stack, mut next) = (vec![usize::MAX; count], Vec::new(), 0);
    for &root in nodes {
        if index[root] != usize::MAX {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            let mut edge = edge;
            let mut descends = false;
            while let Some(&target) = successors[node].get(edge) {
                edge += 1;
                if !is_here[target] {
                    continue;
                }
                if index[target] == usize::MAX {
                    calls.push((node, edge));
                    calls.push((target, 0));
                    descends = true;
                    break;
                }
                if on_stack[target] {
                    low[node] = low[node].min(index[target]);
                }
            }
            if descends {
                continue;
            }
            if low[node] == index[node] {
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    component[member] = node;
                    if member == node {
                        break;
                    }
                }
            }
            if let Some((parent, _)) = calls.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Order {
        /// Whether a path that is at `earlier` keeps `later` waiting.
        fn holds_up(&self, earlier: usize, later: usize) -> bool {
            let mut paths = Occupied::none_of(self.rows.len());
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
}
