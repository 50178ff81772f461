//! Where the rounds of loops begin.
//!
//! A loop that is come into at one node begins there. Where it is come into at several, as through the arms of a fork, when an edge
//! leads from the join back into one of them, none of these can be where rounds begin: whoever comes in somewhere else is in the same
//! round still. Rounds begin then at the node that every way out of the loop leads through, the last one if there are several: the
//! join, so arms come before it, and ways back are to the next round. Ways out are all edges that leave the loop; if no node is on every
//! way to one of those (an arm that gives up has one of its own), those that are taken if no condition is true; and if there are none
//! either, nodes at which the path ends then. If that says nothing, rounds begin at the node that is come across last from the entry on,
//! edges in declared order: of two nodes that would wait for each other, the one that is come across first goes first.

use super::search::{passed, preorder, reached, reversed};

/// An edge, as far as it matters to the order of nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lead {
    /// `None` is the end.
    pub(super) to: Option<usize>,
    pub(super) is_conditional: bool,
}

/// Where a loop begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning {
    pub(super) node: usize,
    /// Whether the loop is come into at other nodes, too.
    pub(super) is_one_of_several: bool,
}

/// What finds where loops begin.
pub(super) struct Rounds<'a> {
    leads: &'a [Vec<Lead>],
    entry: usize,
    /// In which order nodes are come across.
    rank: Vec<usize>,
    /// The nodes that lead to each and can be reached.
    before: Vec<Vec<usize>>,
    /// Which nodes are in the loop that is asked about.
    is_inside: Vec<bool>,
}

/// The node at which earlier builds had a loop begin: the first that is come across.
pub(super) fn come_across_first(members: &[usize], rank: &[usize]) -> Option<usize> {
    members.iter().copied().min_by_key(|member| rank[*member])
}

impl<'a> Rounds<'a> {
    pub(super) fn of(leads: &'a [Vec<Lead>], successors: &[Vec<usize>], entry: usize) -> Self {
        let is_reached = reached(&[entry], successors);
        let mut before = reversed(successors);
        before.iter_mut().for_each(|before| before.retain(|node| is_reached[*node]));
        let rank = preorder(successors, entry);
        Self { leads, entry, rank, before, is_inside: vec![false; leads.len()] }
    }

    /// Where the loop with these nodes begins; nothing if there are none.
    pub(super) fn beginning(&mut self, members: &[usize]) -> Option<Beginning> {
        let first = come_across_first(members, &self.rank)?;
        members.iter().for_each(|member| self.is_inside[*member] = true);
        let is_entered = |node: &usize| {
            *node == self.entry || self.before[*node].iter().any(|before| !self.is_inside[*before])
        };
        let entered: Vec<usize> = members.iter().copied().filter(is_entered).collect();
        let is_one_of_several = entered.len() > 1;
        let node = match is_one_of_several {
            true => {
                let ways_out: [&dyn Fn(usize) -> bool; 3] =
                    [&|node| self.leaves(node), &|node| self.leaves_otherwise(node), &|node| self.ends(node)];
                let last = || members.iter().copied().max_by_key(|member| self.rank[*member]);
                ways_out.iter().find_map(|is_last| self.passed_last(&entered, is_last)).or_else(last)
            }
            false => Some(first),
        };
        members.iter().for_each(|member| self.is_inside[*member] = false);
        node.map(|node| Beginning { node, is_one_of_several })
    }

    fn is_outside(&self, lead: &Lead) -> bool {
        lead.to.is_none_or(|to| !self.is_inside[to])
    }

    /// Whether an edge leads out of the loop from a node.
    fn leaves(&self, node: usize) -> bool {
        self.leads[node].iter().any(|lead| self.is_outside(lead))
    }

    /// Whether one leaves the loop from a node if no condition is true.
    fn leaves_otherwise(&self, node: usize) -> bool {
        self.leads[node].iter().any(|lead| !lead.is_conditional && self.is_outside(lead))
    }

    /// Whether the path ends at a node if no condition is true.
    fn ends(&self, node: usize) -> bool {
        self.leads[node].iter().all(|lead| lead.is_conditional)
    }

    /// The last node on every way through the loop from one of some nodes to one of others.
    fn passed_last(&self, from: &[usize], is_last: impl Fn(usize) -> bool) -> Option<usize> {
        passed(from, is_last, |node| self.next(node)).pop()
    }

    /// Where one may go from a node without leaving the loop.
    fn next(&self, node: usize) -> impl Iterator<Item = usize> {
        self.leads[node].iter().filter_map(|lead| lead.to).filter(|to| self.is_inside[*to])
    }
}
