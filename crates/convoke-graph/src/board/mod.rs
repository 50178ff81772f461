//! The board: what the nodes of a graph share. Variables, which are JSON values, and channels of messages.
//!
//! A board is a value. Copying it costs nothing per variable or message: what a copy does not change it shares. So a snapshot is a
//! copy, restoring is an assignment, and a thousand branches of a board of ten megabytes have ten megabytes.
//!
//! **What it must never do.** Lose something on its way through JSON; let a user write a name that begins with `__`, which are the
//! engine's; hold an object whose keys are not in order: prompts, scripts and expressions go through them, and must do so alike
//! however `serde_json` was built.

mod change;
mod merge;
mod reducer;
mod size;

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{Message, Transcript, Usage, sort_keys};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

pub(crate) use change::{ChannelChange, Difference};
pub use merge::MergeConflict;
pub(crate) use merge::{Change, History, Merging};
pub use reducer::Reducer;
pub(crate) use size::{DEEPEST, LARGEST, size};

/// The channel that everybody uses who names none.
pub const MAIN_CHANNEL: &str = "";
/// Names that begin so are the engine's.
pub(crate) const RESERVED: &str = "__";
/// The calls of tools that were made, with their results.
pub const TOOL_CALLS: &str = "__tool_calls";
/// What the models of a run used.
pub(crate) const USAGE: &str = "__usage";
/// The node that waits for a person.
pub const INTERRUPTED_NODE: &str = "__interrupted_node";
/// What people decided, by the nodes that asked.
pub(crate) const APPROVALS: &str = "approvals";
/// What came of commands, by the gates that ran them.
pub(crate) const GATES: &str = "gate_results";
/// The agents that were cut short, by their nodes, and why.
pub const CUT_SHORT: &str = "__cut_short";
/// How many nodes ran before, as conditions see it.
pub(crate) const ITERATIONS: &str = "__iterations";

/// Variables and channels of messages.
///
/// ```
/// use convoke_graph::Board;
/// use serde_json::json;
///
/// let mut board = Board::new();
/// board.set("limit", 3)?;
/// let before = board.clone();
/// board.set("limit", json!({"calls": 5}))?;
/// assert_eq!(before.get("limit"), Some(&json!(3)));
/// assert!(board.set("__usage", 1).is_err());
/// # Ok::<(), convoke_graph::BoardError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Board {
    vars: Arc<BTreeMap<Arc<str>, Arc<Value>>>,
    channels: Arc<BTreeMap<Arc<str>, Channel>>,
}

/// Messages in order, and which of them were there before the run: so many, after those that were put before them since.
#[derive(Debug, Clone, PartialEq, Default)]
struct Channel {
    messages: Transcript,
    before: usize,
    inherited: usize,
}

/// The reasons why something is not written to a board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// The name is the engine's.
    #[error(
        "`{key}` cannot be written: names that begin with `__` belong to the engine; choose another name"
    )]
    Reserved {
        /// The name.
        key: String,
    },
    /// Something is appended to what is no list.
    #[error("variable `{key}` is {found}, not a list, so nothing can be appended to it")]
    NotAList {
        /// The variable.
        key: String,
        /// What it is.
        found: &'static str,
    },
    /// The board would hold too much.
    #[error("`{key}` is not written: the variables of a graph hold {} MiB together, and this would be more", LARGEST >> 20)]
    TooLarge {
        /// The variable.
        key: String,
    },
    /// Lists and objects stand too deep in one another.
    #[error("`{key}` is not written: lists and objects in it stand more than {DEEPEST} deep in one another")]
    TooDeep {
        /// The variable.
        key: String,
    },
}

impl From<BoardError> for convoke_core::Error {
    fn from(error: BoardError) -> Self {
        Self::permanent(error)
    }
}

impl Board {
    /// A board without variables and messages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a variable. A variable that holds null is there.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.vars.get(key).map(|value| &**value)
    }

    /// The text of a variable; empty if it is missing or something else.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The value of a variable as a type of yours; `None` if it is missing or of another type.
    #[must_use]
    pub fn typed<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(self.get(key)?).ok()
    }

    /// The variables, by name.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.vars.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Writes a variable.
    ///
    /// # Errors
    /// If the name is the engine's, the value is nested too deep, or the board would hold too much.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> Result<(), BoardError> {
        allowed(key)?;
        let value = value.into();
        self.has_room_for(key, &value)?;
        self.put(key, value);
        Ok(())
    }

    /// Writes a variable, the engine's too. Whoever writes what was there before has written it all the same, which the new place
    /// of the value says.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        let mut value = value.into();
        sort_keys(&mut value);
        let vars = Arc::make_mut(&mut self.vars);
        match vars.get_mut(key) {
            // A value that no other board has is replaced where it is.
            Some(known) => match Arc::get_mut(known) {
                Some(known) => *known = value,
                None => *known = Arc::new(value),
            },
            None => drop(vars.insert(key.into(), Arc::new(value))),
        }
    }

    /// Removes a variable, and says whether it was there.
    ///
    /// # Errors
    /// If the name is the engine's.
    pub fn remove(&mut self, key: &str) -> Result<bool, BoardError> {
        allowed(key)?;
        Ok(self.take(key))
    }

    pub(crate) fn take(&mut self, key: &str) -> bool {
        self.vars.contains_key(key) && Arc::make_mut(&mut self.vars).remove(key).is_some()
    }

    /// Appends to a list; a variable that is not there becomes one.
    ///
    /// # Errors
    /// If the name is the engine's, or the variable is no list. It is then left as it is.
    pub fn append(&mut self, key: &str, value: impl Into<Value>) -> Result<(), BoardError> {
        allowed(key)?;
        self.push_item(key, value.into())
    }

    pub(crate) fn push_item(&mut self, key: &str, mut value: Value) -> Result<(), BoardError> {
        sort_keys(&mut value);
        if let Some(other) = self.get(key).filter(|old| !old.is_array()) {
            return Err(BoardError::NotAList { key: key.to_owned(), found: kind(other) });
        }
        let list = Arc::make_mut(&mut self.vars).entry(key.into()).or_insert_with(|| Arc::new(json!([])));
        // A list that no other board has grows where it is.
        if let Value::Array(list) = Arc::make_mut(list) {
            list.push(value);
        }
        Ok(())
    }

    /// Replaces the first item of a list that is wanted. Nothing happens if there is none, or no list.
    ///
    /// # Errors
    /// If the name is the engine's.
    pub fn update_item(
        &mut self,
        key: &str,
        is_wanted: impl Fn(&Value) -> bool,
        update: impl FnOnce(&Value) -> Value,
    ) -> Result<(), BoardError> {
        allowed(key)?;
        let Some(Value::Array(list)) = self.get(key) else { return Ok(()) };
        let Some(place) = list.iter().position(is_wanted) else { return Ok(()) };
        let mut list = list.clone();
        list[place] = update(&list[place]);
        self.put(key, list);
        Ok(())
    }

    /// The messages of a channel; none if there is no such channel.
    #[must_use]
    pub fn channel(&self, name: &str) -> Transcript {
        self.channels.get(name).map(|channel| channel.messages.clone()).unwrap_or_default()
    }

    /// The channels that have messages, by name.
    pub fn channels(&self) -> impl Iterator<Item = (&str, &Transcript)> {
        self.channels.iter().map(|(name, channel)| (&**name, &channel.messages))
    }

    /// Appends a message to a channel.
    ///
    /// # Errors
    /// If the name is the engine's.
    pub fn push(&mut self, channel: &str, message: Message) -> Result<(), BoardError> {
        allowed(channel)?;
        self.say(channel, message);
        Ok(())
    }

    pub(crate) fn say(&mut self, channel: &str, message: Message) {
        self.channel_mut(channel).messages.push(message);
    }

    /// Puts other messages into a channel. What of it counts as new are those after the messages that were there before the run
    /// and still are.
    ///
    /// # Errors
    /// If the name is the engine's.
    pub fn set_channel(
        &mut self,
        name: &str,
        messages: impl IntoIterator<Item = Message>,
    ) -> Result<(), BoardError> {
        allowed(name)?;
        self.replace_channel(name, messages.into_iter().collect());
        Ok(())
    }

    fn replace_channel(&mut self, name: &str, messages: Transcript) {
        let channel = self.channel_mut(name);
        let old: Vec<&Message> =
            channel.messages.iter().skip(channel.before).take(channel.inherited).collect();
        let now: Vec<&Message> = messages.iter().collect();
        (channel.before, channel.inherited) = kept(&old, &now);
        channel.messages = messages;
    }

    /// Says that the messages which a channel has are from before the run.
    pub fn mark_inherited(&mut self, name: &str) {
        let channel = self.channel_mut(name);
        (channel.before, channel.inherited) = (0, channel.messages.len());
    }

    /// The messages that came to a channel since [`mark_inherited`](Self::mark_inherited).
    pub fn new_messages(&self, name: &str) -> Vec<Message> {
        let Some(channel) = self.channels.get(name) else { return Vec::new() };
        let first = channel.messages.iter().take(channel.before);
        first.chain(channel.messages.iter().skip(channel.before + channel.inherited)).cloned().collect()
    }

    fn channel_mut(&mut self, name: &str) -> &mut Channel {
        Arc::make_mut(&mut self.channels).entry(name.into()).or_default()
    }

    /// Returns what the models of the run used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.typed(USAGE).unwrap_or_default()
    }

    pub(crate) fn add_usage(&mut self, used: Usage) {
        let total = self.usage() + used;
        if let Ok(value) = serde_json::to_value(total) {
            self.put(USAGE, value);
        }
    }

    /// The agents that were cut short, by their nodes, and why.
    #[must_use]
    pub fn cut_short(&self) -> BTreeMap<String, String> {
        self.typed(CUT_SHORT).unwrap_or_default()
    }

    /// Keeps why the agent of a node was cut short, or that it was not, this time.
    pub(crate) fn note_cut_short(&mut self, node: &str, reason: Option<String>) {
        let mut all = self.cut_short();
        let changes = match reason {
            Some(reason) => all.insert(node.to_owned(), reason.clone()) != Some(reason),
            None => all.remove(node).is_some(),
        };
        if changes {
            self.put(CUT_SHORT, serde_json::to_value(all).unwrap_or_default());
        }
    }

    /// Keeps what was cut short within a node, this time.
    pub(crate) fn note_cut_short_within(&mut self, node: &str, parts: &BTreeMap<String, String>) {
        let within = format!("{node}/");
        for known in self.cut_short().into_keys() {
            if known.strip_prefix(&within).is_some_and(|part| !parts.contains_key(part)) {
                self.note_cut_short(&known, None);
            }
        }
        for (part, reason) in parts {
            self.note_cut_short(&format!("{within}{part}"), Some(reason.clone()));
        }
    }

    /// The variables as one object, for templates and scripts.
    #[must_use]
    pub fn to_object(&self) -> serde_json::Map<String, Value> {
        self.vars().map(|(key, value)| (key.to_owned(), value.clone())).collect()
    }
}

/// Where the longest end of what was there is now, and how much of it.
fn kept(old: &[&Message], now: &[&Message]) -> (usize, usize) {
    for gone in 0..old.len() {
        let rest = &old[gone..];
        if let Some(place) = now.windows(rest.len()).position(|window| window == rest) {
            return (place, rest.len());
        }
    }
    (0, 0)
}

/// Whether users may write to a name.
pub(crate) fn allowed(key: &str) -> Result<(), BoardError> {
    if key.starts_with(RESERVED) { Err(BoardError::Reserved { key: key.to_owned() }) } else { Ok(()) }
}

/// What messages call a value.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A channel as it is stored: its messages alone, unless some are from before the run.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum StoredChannel {
    Messages(Vec<Message>),
    Inherited {
        messages: Vec<Message>,
        inherited: usize,
        #[serde(default, skip_serializing_if = "is_zero")]
        before: usize,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Serialize for Channel {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages: Vec<Message> = self.messages.iter().cloned().collect();
        match self.inherited {
            0 => StoredChannel::Messages(messages),
            inherited => StoredChannel::Inherited { messages, inherited, before: self.before },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Channel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match StoredChannel::deserialize(deserializer)? {
            StoredChannel::Messages(messages) => Self { messages: messages.into(), ..Self::default() },
            StoredChannel::Inherited { messages, inherited, before } => {
                let before = before.min(messages.len());
                Self { inherited: inherited.min(messages.len() - before), before, messages: messages.into() }
            }
        })
    }
}

impl<'de> Deserialize<'de> for Board {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Stored {
            #[serde(default)]
            vars: BTreeMap<Arc<str>, Value>,
            #[serde(default)]
            channels: BTreeMap<Arc<str>, Channel>,
        }
        let Stored { vars, channels } = Stored::deserialize(deserializer)?;
        let in_order = |(name, mut value)| {
            sort_keys(&mut value);
            (name, Arc::new(value))
        };
        let vars = vars.into_iter().map(in_order).collect();
        Ok(Self { vars: Arc::new(vars), channels: Arc::new(channels) })
    }
}
