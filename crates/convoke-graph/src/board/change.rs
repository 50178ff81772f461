//! What a node changed: the difference between two boards.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{Message, Transcript};
use serde_json::Value;

use super::{Board, Channel};

/// The difference between a board before and after something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Difference {
    /// Variables that were written; `None` if removed.
    pub(super) vars: BTreeMap<Arc<str>, Option<Arc<Value>>>,
    pub(super) channels: BTreeMap<Arc<str>, ChannelChange>,
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
                let same = before.vars.get(key).is_some_and(|old| Arc::ptr_eq(old, value) || old == value);
                if !same {
                    found.vars.insert(Arc::clone(key), Some(Arc::clone(value)));
                }
            }
            let removed = before.vars.keys().filter(|key| !after.vars.contains_key(*key));
            found.vars.extend(removed.map(|key| (Arc::clone(key), None)));
        }
        if !Arc::ptr_eq(&before.channels, &after.channels) {
            for (name, channel) in &*after.channels {
                let old = before.channels.get(name).map(|channel| &channel.messages);
                found.channels.extend(changed(old, channel).map(|change| (Arc::clone(name), change)));
            }
        }
        found
    }

    /// Makes the same changes to another board.
    pub(super) fn apply(&self, board: &mut Board) {
        for (key, value) in &self.vars {
            match value {
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
    if before == after {
        return None;
    }
    let is_prefix =
        after.len() > before.len() && before.iter().zip(after.iter()).all(|(old, new)| old == new);
    Some(if is_prefix {
        ChannelChange::Appended(after.iter().skip(before.len()).cloned().collect())
    } else {
        ChannelChange::Replaced(after.clone())
    })
}
