//! Paths that wait at nodes which have not begun.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::branches::Lineage;
use super::token::Token;

/// The nodes at which paths wait, in order. Mostly it is a single one, which needs no map.
#[derive(Default)]
pub(super) struct Waiting {
    /// The only node; nothing if there are several.
    only: Option<(usize, Arrived)>,
    several: BTreeMap<usize, Arrived>,
}

impl Waiting {
    /// A path has come to a node.
    pub(super) fn add(&mut self, node: usize, token: Token) {
        match &mut self.only {
            Some((only, arrived)) if *only == node => return arrived.others.push(token),
            Some(_) => self.several.extend(self.only.take()),
            None if self.several.is_empty() => {
                self.only = Some((node, Arrived::new(token)));
                return;
            }
            None => {}
        }
        match self.several.entry(node) {
            Entry::Vacant(place) => drop(place.insert(Arrived::new(token))),
            Entry::Occupied(mut arrived) => arrived.get_mut().others.push(token),
        }
    }

    /// The paths go on from a node.
    pub(super) fn take(&mut self, node: usize) -> Option<Arrived> {
        match self.only.take_if(|(only, _)| *only == node) {
            Some((_, arrived)) => Some(arrived),
            None => self.several.remove(&node),
        }
    }

    pub(super) fn get(&self, node: usize) -> Option<&Arrived> {
        let only = self.only.as_ref().filter(|(only, _)| *only == node);
        only.map(|(_, arrived)| arrived).or_else(|| self.several.get(&node))
    }

    /// The first node from this one on.
    pub(super) fn first_from(&self, node: usize) -> Option<usize> {
        match &self.only {
            Some((only, _)) => Some(*only).filter(|only| *only >= node),
            None => self.several.range(node..).next().map(|(node, _)| *node),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.only.is_none() && self.several.is_empty()
    }

    /// All paths, node by node.
    pub(super) fn into_paths(self) -> impl Iterator<Item = Token> {
        let arrived = self.only.map(|(_, arrived)| arrived).into_iter().chain(self.several.into_values());
        arrived.flat_map(Arrived::into_all)
    }
}

/// The paths that have come to a node: mostly a single one, which takes no list.
pub(super) struct Arrived {
    first: Token,
    others: Vec<Token>,
}

impl Arrived {
    fn new(first: Token) -> Self {
        Self { first, others: Vec::new() }
    }

    /// How many there are besides the first.
    pub(super) fn more(&self) -> usize {
        self.others.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Token> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The branches that they are in, path by path.
    pub(super) fn take_lineages(&mut self) -> Vec<Lineage> {
        let all = std::iter::once(&mut self.first).chain(&mut self.others);
        all.map(|token| std::mem::take(&mut token.lineage)).filter(|lineage| !lineage.is_empty()).collect()
    }

    /// The only one, or all of them.
    pub(super) fn into_only(self) -> Result<Token, Vec<Token>> {
        if self.others.is_empty() { Ok(self.first) } else { Err(self.into_all()) }
    }

    fn into_all(mut self) -> Vec<Token> {
        self.others.insert(0, self.first);
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Board;

    /// What is there from a node on, in order.
    fn nodes(waiting: &Waiting, from: usize) -> Vec<usize> {
        let next = |node: &usize| waiting.first_from(node + 1);
        std::iter::successors(waiting.first_from(from), next).collect()
    }

    #[test]
    fn paths_wait_in_the_order_of_nodes_whether_at_one_or_at_several() {
        let mut waiting = Waiting::default();
        let add = |waiting: &mut Waiting, node| waiting.add(node, Token::new(Board::new()));
        add(&mut waiting, 5);
        add(&mut waiting, 5);
        assert_eq!((nodes(&waiting, 0), nodes(&waiting, 6)), (vec![5], vec![]));
        assert_eq!(waiting.get(5).map(Arrived::more), Some(1));
        add(&mut waiting, 2);
        add(&mut waiting, 5);
        assert_eq!((nodes(&waiting, 0), nodes(&waiting, 3)), (vec![2, 5], vec![5]));
        assert_eq!(waiting.take(5).map(|arrived| arrived.iter().count()), Some(3));
        add(&mut waiting, 1);
        assert_eq!(nodes(&waiting, 0), [1, 2]);
        assert!(waiting.take(1).is_some() && waiting.take(2).is_some() && waiting.take(2).is_none());
        assert!(waiting.is_empty() && waiting.get(2).is_none());
        add(&mut waiting, 7);
        assert_eq!((nodes(&waiting, 0), waiting.into_paths().count()), (vec![7], 1));
    }
}
