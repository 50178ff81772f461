//! The order of nodes: which wait for which, so that a join runs once.
//!
//! A node that was reached waits as long as a path is under way that may still reach it. In a loop that would be for ever, so a
//! loop is taken round by round: its [first node](super::rounds) waits for everything that is still in the loop, and the others for
//! what may reach them within the round. Where a loop is come into at several nodes, whoever is not in it yet belongs to the round that
//! is under way: a node there waits for them, too, unless they would have to pass the first node before, which waits for this one. By
//! this rule nobody waits for whoever waits for him, and what a node is given never depends on who was quicker.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::occupied::{Occupied, Positions};
use super::rounds::{Beginning, Lead, Rounds, come_across_first};
use super::search::{Components, preorder};

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
    /// Whether the loop that it is the first node of is come into at others, too.
    is_one_of_several: bool,
    /// The last node of the largest loop that it is in.
    outermost: usize,
}

impl Order {
    /// The order of nodes with these edges, of which the one at `entry` is the first.
    pub(crate) fn of(leads: &[Vec<Lead>], entry: usize) -> Self {
        let successors = successors(leads);
        let mut rounds = Rounds::of(leads, &successors, entry);
        Self::with(&successors, |members| rounds.beginning(members))
    }

    /// The order that earlier builds had, if it was another: they knew no loops that are come into at several nodes.
    pub(crate) fn before(&self, leads: &[Vec<Lead>], entry: usize) -> Option<Self> {
        self.places.iter().any(|place| place.is_one_of_several).then(|| {
            let successors = successors(leads);
            let rank = preorder(&successors, entry);
            let beginning = |node| Beginning { node, is_one_of_several: false };
            Self::with(&successors, |members| come_across_first(members, &rank).map(beginning))
        })
    }

    fn with(successors: &[Vec<usize>], mut beginning: impl FnMut(&[usize]) -> Option<Beginning>) -> Self {
        let (mut positions, mut places) =
            (vec![0; successors.len()], vec![Place::default(); successors.len()]);
        let mut open = vec![(0, None, (0..successors.len()).collect::<Vec<_>>())];
        let mut search = Components::among(successors);
        while let Some((mut position, inside, nodes)) = open.pop() {
            for mut members in search.in_order(&nodes) {
                let last = position + members.len() - 1;
                let Some(Beginning { node: first, is_one_of_several }) = beginning(&members) else {
                    continue;
                };
                members.retain(|member| *member != first);
                positions[first] = position;
                places[position] =
                    Place { before: Vec::new(), last, inside, is_one_of_several, outermost: last };
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

    /// Whose positions these are.
    pub(crate) fn nodes(&self) -> Vec<usize> {
        let mut nodes = vec![0; self.positions.len()];
        self.positions.iter().enumerate().for_each(|(node, position)| nodes[*position] = node);
        nodes
    }

    /// The first nodes of the loops that a node is in, from the innermost on: their positions.
    pub(crate) fn loops_around(&self, node: usize) -> Vec<usize> {
        let position = self.positions[node];
        let place = &self.places[position];
        let is_first = place.last > position || place.before.contains(&position);
        let around = std::iter::successors(place.inside, |first| self.places[*first].inside);
        is_first.then_some(position).into_iter().chain(around).collect()
    }

    /// No paths at all.
    pub(crate) fn unoccupied(&self) -> Occupied {
        Occupied::nowhere(&self.positions)
    }

    /// Whether some path that is under way keeps a node waiting.
    pub(crate) fn is_held_up(&self, node: usize, paths: &Occupied) -> bool {
        let node = self.positions[node];
        if paths.is_only(node) {
            return false;
        }
        let (mut first, mut last) = (node, self.places[node].last);
        if paths.taken.first(first + 1..last + 1).is_some() {
            return true;
        }
        loop {
            // What is in the same loop does not count here, nor does what is outside of the next larger one.
            let inside = self.places[first].inside;
            let (from, to) =
                inside.map_or((0, self.places.len()), |inside| (inside + 1, self.places[inside].last + 1));
            let earliest = paths.taken.first(from..to).filter(|earliest| *earliest < first);
            if earliest
                .is_some_and(|earliest| self.is_reached(node, earliest, from..to, first..=last, &paths.taken))
            {
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
        earliest: usize,
        among: Range<usize>,
        around: RangeInclusive<usize>,
        taken: &Positions,
    ) -> bool {
        let mut known = Positions::none_of(self.places.len());
        // Whoever comes by the first node of a loop around waits there for this one.
        let mut inside = self.places[node].inside;
        while let Some(first) = inside.filter(|first| around.contains(first)) {
            if self.places[first].is_one_of_several {
                known.insert(first);
            }
            inside = self.places[first].inside;
        }
        let mut open = vec![node];
        while let Some(position) = open.pop() {
            // Branches mostly end in the order in which they began: who is still under way is among the last.
            for &before in self.places[position].before.iter().rev() {
                if !among.contains(&before)
                    || self.places[before].outermost < earliest
                    || !known.insert(before)
                {
                    continue;
                }
                if !around.contains(&before) && taken.has(before) {
                    return true;
                }
                open.push(before);
            }
        }
        false
    }
}

fn successors(leads: &[Vec<Lead>]) -> Vec<Vec<usize>> {
    leads.iter().map(|leads| leads.iter().filter_map(|lead| lead.to).collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        let order = Order::of(&leads(&[(0, 1), (0, 2), (1, 3), (2, 4), (4, 3)], 5, &[]), 0);
        assert!(order.holds_up(2, 3) && order.holds_up(4, 3) && !order.holds_up(1, 2));
    }

    /// 0 → 1, 2; 1 → 3 → 1 (a loop with its exit at 1), 1 → 4; 2 → 4.
    #[test]
    fn a_join_waits_for_a_loop_that_is_left_at_its_beginning() {
        let order = Order::of(&leads(&[(0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (3, 1)], 5, &[]), 0);
        assert!(
            order.holds_up(3, 4) && order.holds_up(1, 4) && order.holds_up(3, 1) && !order.holds_up(1, 3)
        );
    }

    #[test]
    fn nobody_waits_for_whoever_waits_for_him() {
        let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 1), (2, 3), (3, 0), (3, 4), (4, 4), (4, 1)];
        let order = Order::of(&leads(&edges, 5, &[]), 0);
        for one in 0..5 {
            for other in 0..5 {
                assert!(!(order.holds_up(one, other) && order.holds_up(other, one)), "{one} and {other}");
            }
        }
    }

    /// A loop: its first node, all of its nodes, and whether it is come into at several.
    type Loop = (usize, Vec<usize>, bool);

    fn loops(nodes: &[usize], successors: &[Vec<usize>], rounds: &mut Rounds<'_>, found: &mut Vec<Loop>) {
        let is_reached = |from: usize| among(nodes, successors, from, &[]);
        let reached: BTreeMap<usize, Vec<usize>> =
            nodes.iter().map(|node| (*node, is_reached(*node))).collect();
        let mut done: Vec<usize> = Vec::new();
        for node in nodes {
            let both = |other: &&usize| reached[node].contains(other) && reached[other].contains(node);
            let members: Vec<usize> = nodes.iter().filter(both).copied().collect();
            if !done.contains(node) && members.len() > 1 {
                done.extend(&members);
                let Beginning { node: first, is_one_of_several } = rounds.beginning(&members).unwrap();
                let rest: Vec<usize> = members.iter().copied().filter(|node| *node != first).collect();
                found.push((first, members, is_one_of_several));
                loops(&rest, successors, rounds, found);
            }
        }
    }

    /// What can be reached from a node among some, not passing others.
    fn among(nodes: &[usize], successors: &[Vec<usize>], from: usize, past: &[usize]) -> Vec<usize> {
        let (mut found, mut open) = (Vec::new(), vec![from]);
        while let Some(node) = open.pop() {
            for next in &successors[node] {
                if nodes.contains(next) && !past.contains(next) && !found.contains(next) {
                    found.push(*next);
                    open.push(*next);
                }
            }
        }
        found
    }

    /// Whether one node waits for another by the rule as it is said.
    fn waits(node: usize, other: usize, loops: &[Loop], successors: &[Vec<usize>]) -> bool {
        let around = || loops.iter().filter(|(_, members, _)| members.contains(&node));
        if around().any(|(first, members, _)| *first == node && members.contains(&other)) {
            return node != other;
        }
        // Without the loops that the other is not in, the smallest around both.
        let both = around().filter(|(_, members, _)| members.contains(&other));
        let rest = match both.min_by_key(|(_, members, _)| members.len()) {
            Some((first, members, _)) => members.iter().copied().filter(|node| node != first).collect(),
            None => (0..successors.len()).collect::<Vec<_>>(),
        };
        let past = around().filter(|(first, members, is_one_of_several)| {
            *is_one_of_several && *first != node && !members.contains(&other)
        });
        let past: Vec<usize> = past.map(|(first, ..)| *first).collect();
        node != other && rest.contains(&other) && among(&rest, successors, other, &past).contains(&node)
    }

    fn leads(edges: &[(usize, usize)], nodes: usize, conditional: &[bool]) -> Vec<Vec<Lead>> {
        let mut leads = vec![Vec::new(); nodes];
        for ((from, to), is_conditional) in
            edges.iter().zip(conditional.iter().chain(std::iter::repeat(&false)))
        {
            let (to, is_conditional) = ((*to < nodes).then_some(*to), *is_conditional);
            leads[*from].push(Lead { to, is_conditional });
        }
        leads
    }

    /// 0 → 1, 2 → 3; 3 back to 1 if need be; 3 → 4. With another exit at the arm; with the arms declared the other way round; with the
    /// way back to both of them; with the way back behind the join; with an arm that is longer.
    #[test]
    fn arms_come_before_the_join_from_which_a_way_leads_back() {
        let back = |edges: &[(usize, usize)]| leads(edges, 6, &[true]);
        for edges in [
            &[(3, 1), (0, 1), (0, 2), (1, 3), (2, 3), (3, 4)][..],
            &[(3, 1), (0, 2), (0, 1), (2, 3), (1, 3), (3, 4)],
            &[(3, 1), (3, 2), (0, 1), (0, 2), (1, 3), (2, 3), (3, 4)],
            &[(3, 1), (3, 2), (0, 1), (0, 2), (1, 3), (2, 3), (3, 6)],
            &[(3, 1), (0, 1), (0, 2), (1, 3), (2, 3)],
            &[(4, 1), (0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)],
            &[(3, 1), (0, 1), (0, 2), (1, 5), (5, 3), (2, 3), (3, 4)],
        ] {
            let order = Order::of(&back(edges), 0);
            assert!(order.holds_up(1, 3) && order.holds_up(2, 3), "{edges:?}");
            assert!(
                ![2, 3].iter().any(|node| order.holds_up(*node, 1)) && !order.holds_up(1, 2),
                "{edges:?}"
            );
        }
        let gives_up = [(1, 5), (3, 1), (0, 2), (0, 1), (1, 3), (2, 3), (3, 4)];
        let order = Order::of(&leads(&gives_up, 6, &[true, true]), 0);
        assert!(order.holds_up(1, 3) && order.holds_up(2, 3) && !order.holds_up(2, 1));
    }

    /// 0 → 1, 2; 1 and 2 lead to each other, and out.
    #[test]
    fn of_two_that_would_wait_for_each_other_the_first_goes_first() {
        let order = Order::of(&leads(&[(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)], 4, &[]), 0);
        assert!(order.holds_up(1, 2) && !order.holds_up(2, 1));
        let order = Order::of(&leads(&[(0, 2), (0, 1), (1, 2), (2, 1), (1, 3), (2, 3)], 4, &[]), 0);
        assert!(order.holds_up(2, 1) && !order.holds_up(1, 2));
    }

    proptest::proptest! {
        #[test]
        fn nodes_wait_for_whom_the_rule_says(
            edges in proptest::collection::vec((0_usize..9, 0_usize..10), 0..24),
            conditional in proptest::collection::vec(proptest::prelude::any::<bool>(), 24),
            taken in proptest::collection::vec(0_usize..9, 0..5),
        ) {
            let leads = leads(&edges, 9, &conditional);
            let (successors, order) = (successors(&leads), Order::of(&leads, 0));
            let mut found = Vec::new();
            loops(&(0..9).collect::<Vec<_>>(), &successors, &mut Rounds::of(&leads, &successors, 0), &mut found);
            for later in 0..9 {
                let mut paths = order.unoccupied();
                taken.iter().for_each(|node| paths.enter(*node));
                let expected = taken.iter().any(|earlier| waits(later, *earlier, &found, &successors));
                proptest::prop_assert_eq!(order.is_held_up(later, &paths), expected, "{:?} {:?}", later, found);
            }
        }

        /// Where paths are, one of them goes on: nobody waits in a circle.
        #[test]
        fn somebody_always_goes_on(
            edges in proptest::collection::vec((0_usize..9, 0_usize..10), 0..30),
            conditional in proptest::collection::vec(proptest::prelude::any::<bool>(), 30),
            taken in proptest::collection::vec(0_usize..9, 1..7),
        ) {
            let order = Order::of(&leads(&edges, 9, &conditional), 0);
            let mut paths = order.unoccupied();
            taken.iter().for_each(|node| paths.enter(*node));
            proptest::prop_assert!(taken.iter().any(|node| !order.is_held_up(*node, &paths)));
        }
    }
}
