//! Putting together what branches did.
//!
//! Every node that ran is a change with a number; a branch has a board and the changes that made it what it is since there was one
//! branch only. Of two branches, those changes count as made side by side that the other has not: a change of one variable by both
//! is a conflict, unless they agree or a reducer says what becomes of it. Everything else of either is kept. This needs no fork to
//! have its join: branches may meet in any order, and some never.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

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
}

/// The changes of a branch, each after those it follows from.
pub(crate) type History = Vec<Arc<Change>>;

/// Two branches that cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "branches conflict over {what} `{key}`: `{first}` and `{second}` have both written it. Give them different names to write \
     to, or say under `merge` what becomes of `{key}`"
)]
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
}

/// What both branches come to. `base` is the board that the histories begin with, `id` a number for what reducers made of them.
///
/// # Errors
/// The first conflict, by name.
pub(crate) fn merged(
    (first, first_history): (&Board, &History),
    (second, second_history): (&Board, &History),
    base: &Board,
    reducer: &dyn Fn(&str) -> Reducer,
    id: u64,
) -> Result<(Board, History), MergeConflict> {
    let known: HashSet<u64> = first_history.iter().map(|change| change.id).collect();
    let others: HashSet<u64> = second_history.iter().map(|change| change.id).collect();
    let mine: Vec<&Arc<Change>> =
        first_history.iter().filter(|change| !others.contains(&change.id)).collect();
    let theirs: Vec<&Arc<Change>> =
        second_history.iter().filter(|change| !known.contains(&change.id)).collect();
    let (wrote, writes) = (last_writers(&mine), last_writers(&theirs));

    let mut reduced = Difference::default();
    for (key, (writer, value)) in &wrote {
        let Some((other, other_value)) = writes.get(key) else { continue };
        let rule = reducer(key);
        if value == other_value && !rule.accumulates() {
            continue;
        }
        let conflict = || MergeConflict {
            what: "variable",
            key: key.to_string(),
            first: writer.to_string(),
            second: other.to_string(),
        };
        let common = first_history.iter().filter(|change| others.contains(&change.id));
        let before = match common.rev().find_map(|change| change.difference.vars.get(*key)) {
            Some(written) => written.as_deref(),
            None => base.get(key),
        };
        let value = match (rule, value, other_value) {
            (Reducer::First, value, _) | (Reducer::Last, _, value) => (*value).clone(),
            (reducer, Some(value), Some(other)) => {
                Some(Arc::new(reducer.reduce(before, value, other).ok_or_else(conflict)?))
            }
            _ => return Err(conflict()),
        };
        reduced.vars.insert(Arc::clone(key), value);
    }
    check_channels(&mine, &theirs, first, second)?;

    let (mut board, mut history) = (first.clone(), first_history.clone());
    for change in theirs {
        change.difference.apply(&mut board);
        history.push(Arc::clone(change));
    }
    if !reduced.vars.is_empty() {
        reduced.apply(&mut board);
        history.push(Arc::new(Change { id, node: "".into(), difference: reduced }));
    }
    Ok((board, history))
}

type LastWrites<'a> = BTreeMap<&'a Arc<str>, (&'a str, &'a Option<Arc<Value>>)>;

fn last_writers<'a>(changes: &[&'a Arc<Change>]) -> LastWrites<'a> {
    let writes = changes.iter().flat_map(|change| {
        change.difference.vars.iter().map(move |(key, value)| (key, (&*change.node, value)))
    });
    writes.collect()
}

/// Messages that both append are appended one after the other; who puts other messages into a channel must be alone.
fn check_channels(
    mine: &[&Arc<Change>],
    theirs: &[&Arc<Change>],
    first: &Board,
    second: &Board,
) -> Result<(), MergeConflict> {
    for (name, writer, change) in channel_changes(mine) {
        for (other_name, other, other_change) in channel_changes(theirs) {
            let replaces = matches!(change, ChannelChange::Replaced(_))
                || matches!(other_change, ChannelChange::Replaced(_));
            if name == other_name && replaces && first.channel(name) != second.channel(name) {
                return Err(MergeConflict {
                    what: "channel",
                    key: name.to_string(),
                    first: writer.to_owned(),
                    second: other.to_owned(),
                });
            }
        }
    }
    Ok(())
}

fn channel_changes<'a>(
    changes: &'a [&'a Arc<Change>],
) -> impl Iterator<Item = (&'a Arc<str>, &'a str, &'a ChannelChange)> {
    changes.iter().flat_map(|change| {
        change.difference.channels.iter().map(move |(name, written)| (name, &*change.node, written))
    })
}
