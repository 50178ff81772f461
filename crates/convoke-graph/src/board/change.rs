//! The change that a node made: the difference between two boards.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{Message, Transcript};
use serde_json::Value;

use super::{Board, Channel};

/// The difference between a board before and after something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Difference {
    pub(super) vars: BTreeMap<Arc<str>, VarChange>,
    pub(super) channels: BTreeMap<Arc<str>, ChannelChange>,
}

/// What was written to a variable; `None` where it is not there. A value that was written and is what it was before is in the same
/// place in both.
#[derive(Debug, Clone)]
pub(crate) struct VarChange {
    pub(super) before: Option<Arc<Value>>,
    pub(super) after: Option<Arc<Value>>,
}

impl VarChange {
    /// Whether the variable is not what it was.
    pub(super) fn is_difference(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => !Arc::ptr_eq(before, after),
            _ => true,
        }
    }

    /// The items that were added to a list, behind what it had; nothing if something else was done.
    pub(super) fn added(&self) -> Option<&[Value]> {
        let after = self.after.as_deref()?.as_array()?;
        match self.before.as_deref() {
            None | Some(Value::Null) => Some(after),
            Some(before) => after.strip_prefix(&**before.as_array()?),
        }
    }
}

/// What happened to a channel.
#[derive(Debug, Clone)]
pub(crate) enum ChannelChange {
    /// Messages came after those that were there.
    Appended(Vec<Message>),
    /// It has other messages.
    Replaced(Transcript),
}

impl Difference {
    pub(crate) fn between(before: &Board, after: &Board) -> Self {
        let mut found = Self::default();
        if !Arc::ptr_eq(&before.vars, &after.vars) {
            for (key, value) in &*after.vars {
                let old = before.vars.get(key);
                if !old.is_some_and(|old| Arc::ptr_eq(old, value)) {
                    let same = old.filter(|old| *old == value);
                    let change =
                        VarChange { before: old.cloned(), after: Some(Arc::clone(same.unwrap_or(value))) };
                    found.vars.insert(Arc::clone(key), change);
                }
            }
            let removed = before.vars.iter().filter(|(key, _)| !after.vars.contains_key(*key));
            let removed = removed.map(|(key, old)| {
                (Arc::clone(key), VarChange { before: Some(Arc::clone(old)), after: None })
            });
            found.vars.extend(removed);
        }
        if !Arc::ptr_eq(&before.channels, &after.channels) {
            for (name, channel) in &*after.channels {
                let old = before.channels.get(name).map(|channel| &channel.messages);
                found.channels.extend(changed(old, channel).map(|change| (Arc::clone(name), change)));
            }
        }
        found
    }

    /// Only what is not what it was, without what was merely written.
    pub(crate) fn without_writes_of_the_same(mut self) -> Self {
        self.vars.retain(|_, change| change.is_difference());
        self
    }

    /// Makes the same changes to another board.
    pub(super) fn apply(&self, board: &mut Board) {
        for (key, change) in self.vars.iter().filter(|(_, change)| change.is_difference()) {
            match &change.after {
                Some(value) => {
                    Arc::make_mut(&mut board.vars).insert(Arc::clone(key), Arc::clone(value));
                }
                None => {
                    board.take(key);
                }
            }
        }
        for (name, change) in &self.channels {
            match change {
                ChannelChange::Appended(messages) => {
                    board.channel_mut(name).messages.extend(messages.iter().cloned());
                }
                ChannelChange::Replaced(messages) => board.replace_channel(name, messages.clone()),
            }
        }
    }
}

fn changed(before: Option<&Transcript>, after: &Channel) -> Option<ChannelChange> {
    let after = &after.messages;
    let Some(before) = before else {
        return (!after.is_empty()).then(|| ChannelChange::Appended(after.iter().cloned().collect()));
    };
    match after.added_to(before) {
        Some(added) if added.is_empty() => None,
        Some(added) => Some(ChannelChange::Appended(added.into_iter().cloned().collect())),
        None => Some(ChannelChange::Replaced(after.clone())),
    }
}
