//! The places of many JSON pointers in one tree: a large object is looked through once, however many of its names are asked for.

use std::collections::HashMap;
use std::ops::Range;

use super::node::unescaped;
use super::{Content, Entry, Node};

/// Objects with more names than this are looked through once.
const MANY: usize = 16;

/// The places of values in a tree.
pub(super) struct Places<'a> {
    root: &'a Node,
    /// The entries of large objects by name, by where their first entry is in memory.
    large: HashMap<*const Entry, HashMap<&'a str, &'a Entry>>,
}

impl<'a> Places<'a> {
    pub(super) fn of(root: &'a Node) -> Self {
        Self { root, large: HashMap::new() }
    }

    /// Where to point for a JSON pointer: at a plain value, or at the name of anything larger, or at any name if that is what is asked
    /// for. If there is no such value, at what it would be in.
    pub(super) fn of_pointer(&mut self, pointer: &str, name: bool) -> Range<usize> {
        let mut node = self.root;
        let mut named = node.place.start..node.place.start;
        let (mut is_found, mut is_name) = (true, false);
        for part in pointer.split('/').skip(1) {
            let part = unescaped(part);
            let next = match &node.content {
                Content::Map(entries) => {
                    is_name = true;
                    self.entry(entries, &part).map(|entry| (&entry.node, entry.place.clone()))
                }
                Content::List(items) => {
                    is_name = false;
                    let item = part.parse().ok().and_then(|index: usize| items.get(index));
                    item.map(|item| (item, item.place.start..item.place.start))
                }
                _ => None,
            };
            let Some(next) = next else {
                is_found = false;
                break;
            };
            (node, named) = next;
        }
        match node.content {
            Content::List(_) | Content::Map(_) => named,
            _ if name && is_found && is_name => named,
            _ => node.place.clone(),
        }
    }

    fn entry(&mut self, entries: &'a [Entry], name: &str) -> Option<&'a Entry> {
        if entries.len() <= MANY {
            return entries.iter().find(|entry| entry.name == name);
        }
        let by_name = self.large.entry(entries.as_ptr()).or_insert_with(|| {
            // Of several of one name the first counts.
            entries.iter().rev().map(|entry| (entry.name.as_str(), entry)).collect()
        });
        by_name.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_large_object_is_found_where_a_search_finds_it() {
        let fields: Vec<String> =
            (0..40).map(|number| format!("\"n/{number}\": [{number}, {{\"a\": 1}}]")).collect();
        let text = format!("{{{}}}", fields.join(", "));
        let node = super::super::parse(&text, &mut Vec::new()).unwrap();
        let mut places = Places::of(&node);
        for pointer in ["", "/n~17", "/n~139/0", "/n~12/1/a", "/n~12/1/b", "/none", "/n~12/9"] {
            assert_eq!(places.of_pointer(pointer, false), node.place_of(pointer), "{pointer}");
            let name = node.name_place_of(pointer).unwrap_or_else(|| node.place_of(pointer));
            assert_eq!(places.of_pointer(pointer, true), name, "{pointer}");
        }
    }
}
