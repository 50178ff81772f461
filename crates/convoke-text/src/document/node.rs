//! A value in a text, and where it is.

use std::collections::HashSet;
use std::ops::Range;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Number, Value};

use crate::finding::{Finding, child};

/// A value, and where it is in its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub content: Content,
    /// Where it is, in bytes.
    pub place: Range<usize>,
}

/// The content of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Values with names, in the order in which they were written.
    Map(Vec<Entry>),
}

/// A value with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Where the name is, in bytes.
    pub place: Range<usize>,
    /// The value.
    pub node: Node,
}

impl Entry {
    /// A value with a name, in no text.
    #[must_use]
    pub fn new(name: impl Into<String>, node: impl Into<Node>) -> Self {
        Self { name: name.into(), place: 0..0, node: node.into() }
    }
}

impl Node {
    /// A value that is in no text.
    #[must_use]
    pub fn new(content: Content) -> Self {
        Self { content, place: 0..0 }
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.name == name).map(|entry| &entry.node)
    }

    /// Its values with names; none if it is something else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        if let Content::Map(entries) = &self.content { entries } else { &[] }
    }

    /// Its values in order; none if it is something else.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        if let Content::List(items) = &self.content { items } else { &[] }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Content::Text(text) = &self.content { Some(text) } else { None }
    }

    /// The value that a JSON pointer leads to.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Node> {
        pointer.split('/').skip(1).try_fold(self, |node, part| node.step(&unescaped(part)))
    }

    /// Returns what messages call such a value.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "null",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "an object",
        }
    }

    /// Returns where to point for a JSON pointer: at a plain value, or at the name of anything larger. If there is no such value, at
    /// what it would be in.
    #[must_use]
    pub fn place_of(&self, pointer: &str) -> Range<usize> {
        let mut node = self;
        let mut named = self.place.start..self.place.start;
        for part in pointer.split('/').skip(1) {
            let part = unescaped(part);
            match &node.content {
                Content::Map(entries) => {
                    let Some(entry) = entries.iter().find(|entry| entry.name == part) else { break };
                    (node, named) = (&entry.node, entry.place.clone());
                }
                Content::List(items) => {
                    let Some(item) = part.parse().ok().and_then(|index: usize| items.get(index)) else {
                        break;
                    };
                    (node, named) = (item, item.place.start..item.place.start);
                }
                _ => break,
            }
        }
        match node.content {
            Content::List(_) | Content::Map(_) => named,
            _ => node.place.clone(),
        }
    }

    /// Returns where the name is that a JSON pointer ends with, if there is such a name.
    #[must_use]
    pub fn name_place_of(&self, pointer: &str) -> Option<Range<usize>> {
        let (parent, name) = pointer.rsplit_once('/')?;
        let name = unescaped(name);
        self.at(parent)?.entries().iter().find(|entry| entry.name == name).map(|entry| entry.place.clone())
    }

    /// Puts something where a JSON pointer leads, in an object or instead of a part of a list. What is on the way must be there.
    pub fn put(&mut self, pointer: &str, content: Content) {
        let mut node = self;
        for part in pointer.split('/').skip(1) {
            let part = unescaped(part);
            let next = match &mut node.content {
                Content::Map(entries) => {
                    let place = entries.iter().position(|entry| entry.name == part).unwrap_or_else(|| {
                        entries.push(Entry::new(part, Node::new(Content::Null)));
                        entries.len() - 1
                    });
                    entries.get_mut(place).map(|entry| &mut entry.node)
                }
                Content::List(items) => part.parse().ok().and_then(|index: usize| items.get_mut(index)),
                _ => None,
            };
            let Some(next) = next else { return };
            node = next;
        }
        node.content = content;
    }

    /// Takes away a value with a name, by its JSON pointer.
    pub(super) fn remove(&mut self, pointer: &str) {
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        let name = unescaped(name);
        let parent = parent.split('/').skip(1).try_fold(self, |node, part| {
            let part = unescaped(part);
            match &mut node.content {
                Content::List(items) => items.get_mut(part.parse::<usize>().ok()?),
                Content::Map(entries) => {
                    entries.iter_mut().find(|entry| entry.name == part).map(|entry| &mut entry.node)
                }
                _ => None,
            }
        });
        if let Some(Node { content: Content::Map(entries), .. }) = parent {
            entries.retain(|entry| entry.name != name);
        }
    }

    /// Keeps the first of values with the same name, and says so of all others.
    pub(super) fn refuse_duplicates(&mut self, path: &str, findings: &mut Vec<Finding>) {
        match &mut self.content {
            Content::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    item.refuse_duplicates(&child(path, index), findings);
                }
            }
            Content::Map(entries) => {
                let mut names = HashSet::new();
                entries.retain_mut(|entry| {
                    let path = child(path, &entry.name);
                    let is_new = names.insert(entry.name.clone());
                    if is_new {
                        entry.node.refuse_duplicates(&path, findings);
                    } else {
                        let message = format!("`{}` is here twice", entry.name);
                        let finding =
                            Finding::error("duplicate-name", path, message).help("remove one of them");
                        findings.push(Finding { place: Some(entry.place.clone()), ..finding });
                    }
                    is_new
                });
            }
            _ => {}
        }
    }

    /// Whether some name stands twice in an object.
    pub(super) fn has_duplicates(&self) -> bool {
        let mut names = HashSet::new();
        self.entries().iter().any(|entry| !names.insert(&entry.name) || entry.node.has_duplicates())
            || self.items().iter().any(Node::has_duplicates)
    }

    fn step(&self, part: &str) -> Option<&Node> {
        match &self.content {
            Content::List(items) => items.get(part.parse::<usize>().ok()?),
            _ => self.get(part),
        }
    }

    /// The value without its place.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(value) => Self::Number(value),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(|item| Node::new(item.into())).collect()),
            Value::Object(fields) => Self::Map(
                fields.into_iter().map(|(name, value)| Entry::new(name, Self::from(value))).collect(),
            ),
        }
    }
}

impl From<Content> for Node {
    fn from(content: Content) -> Self {
        Self::new(content)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::new(Content::Text(text.to_owned()))
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::new(Content::Bool(value))
    }
}

impl From<Vec<Node>> for Node {
    fn from(items: Vec<Node>) -> Self {
        Self::new(Content::List(items))
    }
}

impl From<Vec<Entry>> for Node {
    fn from(entries: Vec<Entry>) -> Self {
        Self::new(Content::Map(entries))
    }
}

/// A part of a JSON pointer as a name.
pub(super) fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Null => serializer.serialize_unit(),
            Content::Bool(value) => serializer.serialize_bool(*value),
            Content::Number(value) => value.serialize(serializer),
            Content::Text(text) => serializer.serialize_str(text),
            Content::List(items) => serializer.collect_seq(items),
            Content::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for entry in entries {
                    map.serialize_entry(&entry.name, &entry.node)?;
                }
                map.end()
            }
        }
    }
}
