//! What of a document cannot be read, so that everything else can be looked at all the same.

use super::{Content, Node};
use crate::finding::Finding;

/// Parts of a document that are missing or malformed, and what is read in their place.
#[derive(Debug, Clone, Default)]
pub struct Gaps(Vec<(String, Option<Content>)>);

impl Gaps {
    /// Adds a part, by its JSON pointer.
    pub fn add(&mut self, path: impl Into<String>, instead: impl Into<Content>) {
        self.0.push((path.into(), Some(instead.into())));
    }

    /// Adds a part in whose place nothing is read.
    pub fn leave_out(&mut self, path: impl Into<String>) {
        self.0.push((path.into(), None));
    }

    /// Returns whether everything can be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the document with what is read in the place of every gap.
    #[must_use]
    pub fn filled(&self, document: &Node) -> Node {
        let mut whole = document.clone();
        for (path, instead) in &self.0 {
            match instead {
                Some(instead) => whole.put(path, instead.clone()),
                None => whole.remove(path),
            }
        }
        whole
    }

    /// Returns whether something that was found says nothing about the document: it is about what is read in the place of a gap, or
    /// about a name that may be in one, or depends on one.
    #[must_use]
    pub fn explain(&self, finding: &Finding) -> bool {
        let is_within = |gap: &str, path: &str| below(path, gap).is_some();
        self.0.iter().any(|(gap, _)| {
            is_within(gap, &finding.path)
                || finding.needs.iter().any(|needed| is_within(gap, needed) || is_within(needed, gap))
                || finding
                    .sought
                    .iter()
                    .any(|sought| is_within(gap, sought) || below(gap, sought).is_some_and(names_an_item))
        })
    }
}

/// What follows in a JSON pointer to something within another.
fn below<'a>(path: &'a str, outer: &str) -> Option<&'a str> {
    path.strip_prefix(outer).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether this is an item of a list, or what an item is called by.
fn names_an_item(rest: &str) -> bool {
    let mut parts = rest.split('/').skip(1);
    let is_item = parts.next().is_some_and(|part| part.parse::<usize>().is_ok());
    is_item && matches!(parts.next(), None | Some("id" | "name")) && parts.next().is_none()
}
