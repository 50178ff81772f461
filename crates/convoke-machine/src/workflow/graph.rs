//! The graph of a workflow's states: what leads back, and what can be reached.

use std::collections::{BTreeMap, BTreeSet};

use super::Spec;

/// Edges by state; everything in sorted order, so that what is found is found in the same order every time.
pub(super) struct Graph<'a> {
    events: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    fallbacks: BTreeMap<&'a str, &'a str>,
}

/// An event that leads back to a state on the way to its own: that one, the event, and where it leads.
type BackEdge<'a> = (&'a str, &'a str, &'a str);

impl<'a> Graph<'a> {
    pub(super) fn of(spec: &'a Spec) -> Self {
        let mut graph = Self { events: BTreeMap::new(), fallbacks: BTreeMap::new() };
        for (name, state) in &spec.states {
            let known = state.on_event.iter().filter(|(_, target)| spec.states.contains_key(*target));
            let edges = known.map(|(event, target)| (event.as_str(), target.as_str()));
            graph.events.insert(name, edges.collect());
            if spec.states.contains_key(&state.on_max_visits) {
                graph.fallbacks.insert(name, &state.on_max_visits);
            }
        }
        graph
    }

    /// The states that events and fallbacks lead to from a state, itself included, without coming by another one.
    pub(super) fn reachable(&self, from: &'a str, without: Option<&str>) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(state) = open.pop() {
            if Some(state) != without && self.events.contains_key(state) && reached.insert(state) {
                open.extend(self.events[state].values().copied());
                open.extend(self.fallbacks.get(state).copied());
            }
        }
        reached
    }

    /// Every event that leads back, from the first state on and then from those it does not reach.
    pub(super) fn back_edges(&self, entry: &'a str) -> Vec<BackEdge<'a>> {
        let mut found = Vec::new();
        let mut done = BTreeSet::new();
        let first = self.events.contains_key(entry).then_some(entry);
        for root in first.into_iter().chain(self.events.keys().copied()) {
            self.search(root, &mut done, &mut found);
        }
        found.sort_unstable();
        found
    }

    /// A depth-first search with a stack of its own: packs of others may be deep.
    fn search(&self, root: &'a str, done: &mut BTreeSet<&'a str>, found: &mut Vec<BackEdge<'a>>) {
        if !done.insert(root) {
            return;
        }
        let mut on_path = BTreeSet::from([root]);
        let mut stack = vec![(root, self.events[root].iter())];
        while let Some((from, rest)) = stack.last_mut() {
            let from = *from;
            match rest.next() {
                Some((event, to)) if on_path.contains(to) => found.push((from, event, to)),
                Some((_, to)) => {
                    if done.insert(to) {
                        on_path.insert(to);
                        stack.push((to, self.events[to].iter()));
                    }
                }
                None => {
                    on_path.remove(from);
                    stack.pop();
                }
            }
        }
    }
}
