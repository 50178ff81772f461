//! Putting together what branches did.
//!
//! Every node that ran is a change with a number; a branch has a board and the changes that made it what it is since there was one
//! branch only. Of two branches, those changes count as made side by side that the other has not: a change of one variable by both
//! is a conflict, unless they agree or a reducer says what becomes of it. Everything else of either is kept. This needs no fork to
//! have its join: branches may meet in any order, and some never.
//!
//! Who writes to a variable what it was before changes nothing, and conflicts with nobody; but where a reducer judges what branches
//! wrote (`all`, `max`, `last`), it has said something, and that counts.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use convoke_core::sort_keys;
use serde_json::Value;

use super::change::VarChange;
use super::{Board, ChannelChange, Difference, Reducer};

/// What one node changed.
#[derive(Debug)]
pub(crate) struct Change {
    /// Unique in a run of a graph.
    pub(crate) id: u64,
    /// The node.
    pub(crate) node: Arc<str>,
    pub(crate) difference: Difference,
}

impl Change {
    /// Whether it is what reducers made of others, and no node's.
    pub(crate) fn is_merge(&self) -> bool {
        self.node.is_empty()
    }

    /// What the node made of a variable, if it made something else of it.
    fn written(&self, key: &str) -> Option<&VarChange> {
        let written = self.difference.vars.get(key).filter(|_| !self.is_merge());
        written.filter(|written| written.is_difference())
    }
}

/// The changes of a branch, each after those it follows from.
pub(crate) type History = Vec<Arc<Change>>;

/// Two branches that cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("branches conflict over {what} `{key}`: `{first}` and `{second}` have both written it. {}", remedy(.what, .key, .rule))]
#[non_exhaustive]
pub struct MergeConflict {
    /// `variable` or `channel`.
    pub what: &'static str,
    /// The variable or channel.
    pub key: String,
    /// The node that wrote it in the first branch.
    pub first: String,
    /// The node that wrote it in the second branch.
    pub second: String,
    /// The rule that does not fit what they wrote, if there is one, and what it puts together.
    pub rule: Option<(&'static str, &'static str)>,
}

fn remedy(what: &str, key: &str, rule: &Option<(&str, &str)>) -> String {
    match rule {
        Some((rule @ "append", values)) => format!(
            "The rule `{rule}` under `merge` puts {values} together that go on from what was there before, and one of theirs does not: \
             have them add to `{key}`, or choose another rule for it, `union` for instance"
        ),
        Some((rule, values)) => {
            let beyond = if *rule == "sum" { ", or the sum is more than whole numbers reach to" } else { "" };
            format!(
                "The rule `{rule}` under `merge` puts {values} together, and what they wrote is something else{beyond}: have them \
                 write {values}, or choose another rule for `{key}`"
            )
        }
        None if what == "channel" => "Let one of them write to a channel of its own".to_owned(),
        None if Reducer::is_unnamed(key) => format!(
            "They write to no other name: say under `merge` what becomes of `{key}`, or lead the branches together before it is written"
        ),
        None => {
            format!("Give them different names to write to, or say under `merge` what becomes of `{key}`")
        }
    }
}

/// Branches that are put together one after another: what they come to so far. Adding one costs as much as it has changed, however
/// many there are.
pub(crate) struct Merging<'a> {
    /// The board that the histories begin with.
    base: &'a Board,
    reducer: &'a dyn Fn(&str) -> Reducer,
    board: Board,
    history: History,
    known: HashSet<u64>,
    /// Where in the history a variable was written, in order.
    writes: BTreeMap<Arc<str>, Vec<usize>>,
    /// Where in the history a channel was written, in order; and where it was given other messages.
    said: BTreeMap<Arc<str>, Vec<usize>>,
    replaced: BTreeMap<Arc<str>, Vec<usize>>,
    /// What reducers made of variables that several branches wrote.
    reduced: BTreeMap<Arc<str>, LastWrite>,
}

/// Who wrote a variable last, and what; `None` if they removed it.
type LastWrite = (Arc<str>, Option<Arc<Value>>);

impl<'a> Merging<'a> {
    pub(crate) fn new(
        base: &'a Board,
        reducer: &'a dyn Fn(&str) -> Reducer,
        board: Board,
        history: History,
    ) -> Self {
        let mut merging = Self {
            base,
            reducer,
            board,
            history: History::new(),
            known: HashSet::new(),
            writes: BTreeMap::new(),
            said: BTreeMap::new(),
            replaced: BTreeMap::new(),
            reduced: BTreeMap::new(),
        };
        history.into_iter().for_each(|change| merging.remember(change));
        merging
    }

    /// Adds the next branch.
    ///
    /// # Errors
    /// The first conflict, by name. What there is then is of no use any more.
    pub(crate) fn add(&mut self, board: &Board, history: &History) -> Result<(), MergeConflict> {
        let others = Ids::of(history);
        let theirs: Vec<&Arc<Change>> =
            history.iter().filter(|change| !self.known.contains(&change.id)).collect();
        let writes = last_writes(&theirs, self.reducer);
        let decisions = self.decisions(&writes, &others);
        for (&key, &(node, value)) in &writes {
            let Some((writer, written)) = self.last_write(key, &others) else { continue };
            let rule = match (self.reducer)(key) {
                Reducer::Last if Reducer::decision_of(key).is_some_and(|key| decisions.contains(&key)) => {
                    Reducer::First
                }
                rule => rule,
            };
            if written == value && !rule.accumulates() {
                continue;
            }
            let (writer, before) = (Arc::clone(writer), self.before(rule, key, history));
            let added = if rule == Reducer::Append { self.added(key, &theirs, &others) } else { None };
            let conflict = || MergeConflict {
                what: "variable",
                key: key.to_string(),
                first: writer.to_string(),
                second: node.to_string(),
                rule: rule.demand(),
            };
            let value = match (rule, self.take_last_write(key, &others), value) {
                (Reducer::First, value, _) => value,
                (Reducer::Last, _, value) => value.clone(),
                (Reducer::Before, ..) => before,
                (rule, Some(written), Some(value)) => {
                    let written = Arc::unwrap_or_clone(written);
                    let both = match added {
                        Some(added) => rule.reduce(None, written, &Value::Array(added)),
                        None => rule.reduce(before.as_deref(), written, value),
                    };
                    Some(Arc::new(both.ok_or_else(conflict)?))
                }
                _ => return Err(conflict()),
            };
            self.reduced.insert(Arc::clone(key), (Arc::clone(node), value));
        }
        self.check_channels(&theirs, &others, board)?;
        for change in theirs {
            change.difference.apply(&mut self.board);
            self.remember(Arc::clone(change));
        }
        Ok(())
    }

    /// The decisions of which those count that were made so far, and not those of the next branch: what belongs to one stays with it.
    fn decisions(&self, writes: &LastWrites<'_>, others: &Ids) -> Vec<&'static str> {
        let mut decisions: Vec<_> = writes.keys().filter_map(|key| Reducer::decision_of(key)).collect();
        decisions.retain(|key| {
            let ours = self.last_write(key, others).and_then(|(_, written)| written.as_deref());
            let theirs = writes.iter().find(|(other, _)| &****other == *key);
            let theirs = theirs.and_then(|(_, (_, written))| written.as_deref());
            let rule = Reducer::of_engine(key).unwrap_or_else(|| (self.reducer)(key));
            match (ours, theirs) {
                (Some(ours), Some(theirs)) if ours != theirs => {
                    rule.reduce(None, ours.clone(), theirs).as_ref() == Some(ours)
                }
                (Some(_), None) => rule != Reducer::Last,
                _ => false,
            }
        });
        decisions
    }

    /// What all of them come to. `id` is a number for what reducers made of them.
    pub(crate) fn finish(mut self, id: u64) -> (Board, History) {
        if !self.reduced.is_empty() {
            let mut difference = Difference::default();
            for (key, (_, mut after)) in self.reduced {
                // Fields that came from several branches stand as they came.
                if let (Reducer::Object | Reducer::Sum, Some(after)) = ((self.reducer)(&key), &mut after) {
                    sort_keys(Arc::make_mut(after));
                }
                difference.vars.insert(key, VarChange { before: None, after });
            }
            difference.apply(&mut self.board);
            self.history.push(Arc::new(Change { id, node: "".into(), difference }));
        }
        (self.board, self.history)
    }

    fn remember(&mut self, change: Arc<Change>) {
        let place = self.history.len();
        self.known.insert(change.id);
        for (key, written) in &change.difference.vars {
            if (self.reducer)(key).counts(written) {
                self.writes.entry(Arc::clone(key)).or_default().push(place);
            }
        }
        for (name, written) in &change.difference.channels {
            self.said.entry(Arc::clone(name)).or_default().push(place);
            if matches!(written, ChannelChange::Replaced(_)) {
                self.replaced.entry(Arc::clone(name)).or_default().push(place);
            }
        }
        self.history.push(change);
    }

    /// Who wrote a variable last without the other branch, and what.
    fn last_write(&self, key: &str, others: &Ids) -> Option<(&Arc<str>, &Option<Arc<Value>>)> {
        if let Some((node, value)) = self.reduced.get(key) {
            return Some((node, value));
        }
        let places = self.writes.get(key)?;
        let change = self.last_without(places, others)?;
        // What was made of several is the last one's.
        let nodes = || places.iter().rev().map(|place| &self.history[*place]).filter(|one| !one.is_merge());
        let own = nodes().find(|one| !others.has(one)).or_else(|| nodes().next()).unwrap_or(change);
        Some((&own.node, &change.difference.vars.get(key)?.after))
    }

    /// The same, to be replaced: what reducers made so far is given away, so that more can be put into it.
    fn take_last_write(&mut self, key: &str, others: &Ids) -> Option<Arc<Value>> {
        match self.reduced.remove(key) {
            Some((_, value)) => value,
            None => self.last_write(key, others)?.1.clone(),
        }
    }

    /// The last of some changes that the other branch has not. It has all that are passed over.
    fn last_without(&self, places: &[usize], others: &Ids) -> Option<&Arc<Change>> {
        places.iter().rev().map(|place| &self.history[*place]).find(|change| !others.has(change))
    }

    /// The items that the nodes of a branch have added to a list which the others have not, if neither they nor the others' own have
    /// done anything else with it. Each has added to what it found, so in whatever order branches meet, every item comes once.
    fn added(&self, key: &str, theirs: &[&Arc<Change>], others: &Ids) -> Option<Vec<Value>> {
        let places = self.writes.get(key).map_or(&[][..], Vec::as_slice);
        let ours = places.iter().map(|place| &self.history[*place]).filter(|change| !others.has(change));
        ours.filter_map(|change| change.written(key)).try_for_each(|written| written.added().map(drop))?;
        let theirs = theirs.iter().filter_map(|change| change.written(key));
        Some(theirs.map(VarChange::added).collect::<Option<Vec<_>>>()?.concat())
    }

    /// What a variable was when a branch and the others went different ways. Where several of them met more than once, what they
    /// had come to then is found from what each had changed.
    fn before(&self, rule: Reducer, key: &str, history: &History) -> Option<Arc<Value>> {
        let common = history.iter().filter(|change| self.known.contains(&change.id));
        let mut value = self.base.vars.get(key).cloned();
        for change in common.filter(|change| !(rule.accumulates() && change.is_merge())) {
            let Some(written) = change.difference.vars.get(key) else { continue };
            value = match (&value, &written.after) {
                (Some(value), Some(after))
                    if rule.accumulates() && written.before.as_ref() != Some(value) =>
                {
                    let both = rule.reduce(written.before.as_deref(), (**value).clone(), after);
                    both.map(Arc::new).or_else(|| written.after.clone())
                }
                _ => written.after.clone(),
            };
        }
        value
    }

    /// Messages that several append are appended one after the other; who puts other messages into a channel must be alone.
    fn check_channels(
        &self,
        theirs: &[&Arc<Change>],
        others: &Ids,
        board: &Board,
    ) -> Result<(), MergeConflict> {
        for change in theirs {
            for (name, written) in &change.difference.channels {
                let places = match written {
                    ChannelChange::Appended(_) => self.replaced.get(name),
                    ChannelChange::Replaced(_) => self.said.get(name),
                };
                let Some(other) = places.and_then(|places| self.last_without(places, others)) else {
                    continue;
                };
                if self.board.channel(name) != board.channel(name) {
                    return Err(MergeConflict {
                        what: "channel",
                        key: name.to_string(),
                        first: other.node.to_string(),
                        second: change.node.to_string(),
                        rule: None,
                    });
                }
            }
        }
        Ok(())
    }
}

/// The numbers of changes, in order.
struct Ids(Vec<u64>);

impl Ids {
    fn of(history: &History) -> Self {
        let mut ids: Vec<u64> = history.iter().map(|change| change.id).collect();
        ids.sort_unstable();
        Self(ids)
    }

    fn has(&self, change: &Change) -> bool {
        self.0.binary_search(&change.id).is_ok()
    }
}

type LastWrites<'a> = BTreeMap<&'a Arc<str>, (&'a Arc<str>, &'a Option<Arc<Value>>)>;

fn last_writes<'a>(changes: &[&'a Arc<Change>], reducer: &dyn Fn(&str) -> Reducer) -> LastWrites<'a> {
    let mut writes = LastWrites::new();
    for change in changes {
        for (key, written) in
            change.difference.vars.iter().filter(|(key, written)| reducer(key).counts(written))
        {
            let known = writes.get(key).filter(|_| change.is_merge());
            let node = known.map_or(&change.node, |(node, _)| *node);
            writes.insert(key, (node, &written.after));
        }
    }
    writes
}
