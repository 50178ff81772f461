//! Where paths are under way in a graph, and how many: asked for every node that begins, so in bits.

use std::ops::Range;
use std::sync::Arc;

/// The nodes at which paths are under way, as far as a run has come.
#[derive(Debug)]
pub(crate) struct Occupied {
    positions: Arc<[usize]>,
    /// How many paths there are at a position.
    paths: Box<[u32]>,
    /// The positions that have any, a bit for each.
    pub(super) taken: Positions,
    /// How many these are.
    count: usize,
}

impl Occupied {
    pub(super) fn nowhere(positions: &Arc<[usize]>) -> Self {
        let (count, positions) = (positions.len(), Arc::clone(positions));
        Self { positions, paths: vec![0; count].into(), taken: Positions::none_of(count), count: 0 }
    }

    pub(crate) fn enter(&mut self, node: usize) {
        let position = self.positions[node];
        self.paths[position] += 1;
        self.count += usize::from(self.taken.insert(position));
    }

    pub(crate) fn leave(&mut self, node: usize) {
        let position = self.positions[node];
        match self.paths[position] {
            0 => {}
            1 => {
                self.paths[position] = 0;
                self.taken.remove(position);
                self.count -= 1;
            }
            ref mut paths => *paths -= 1,
        }
    }

    /// Whether there is no path but those that wait at this position.
    pub(super) fn is_only(&self, position: usize) -> bool {
        self.count == 1 && self.taken.has(position)
    }
}

/// Some of all positions.
#[derive(Debug)]
pub(super) struct Positions(Box<[u64]>);

impl Positions {
    pub(super) fn none_of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)].into())
    }

    pub(super) fn has(&self, position: usize) -> bool {
        self.0[position / 64] & (1 << (position % 64)) != 0
    }

    /// Adds one, and says whether it is new.
    pub(super) fn insert(&mut self, position: usize) -> bool {
        let is_new = !self.has(position);
        self.0[position / 64] |= 1 << (position % 64);
        is_new
    }

    fn remove(&mut self, position: usize) {
        self.0[position / 64] &= !(1 << (position % 64));
    }

    /// The first one of a range.
    pub(super) fn first(&self, among: Range<usize>) -> Option<usize> {
        let words = among.start / 64..among.end.div_ceil(64);
        let first = words.into_iter().find_map(|word| {
            // Of its first word, those before it do not count.
            let before = among.start.saturating_sub(word * 64);
            let rest = self.0[word] & (u64::MAX << before);
            (rest != 0).then(|| word * 64 + rest.trailing_zeros() as usize)
        });
        first.filter(|first| *first < among.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn it_knows_where_paths_are_that_came_and_have_not_left(
            steps in proptest::collection::vec((0_usize..200, proptest::bool::ANY), 0..60),
            (start, end) in (0_usize..=200, 0_usize..=200),
        ) {
            let positions: Arc<[usize]> = (0..200).rev().collect();
            let (mut occupied, mut paths) = (Occupied::nowhere(&positions), [0_u32; 200]);
            for (node, enters) in steps {
                let count = &mut paths[positions[node]];
                if enters {
                    occupied.enter(node);
                    *count += 1;
                } else {
                    occupied.leave(node);
                    *count = count.saturating_sub(1);
                }
            }
            let taken: Vec<usize> = (0..200).filter(|position| paths[*position] > 0).collect();
            let first = taken.iter().copied().find(|position| (start..end).contains(position));
            proptest::prop_assert_eq!(occupied.taken.first(start..end), first);
            for position in 0..200 {
                proptest::prop_assert_eq!(occupied.is_only(position), taken == [position]);
            }
        }
    }
}
