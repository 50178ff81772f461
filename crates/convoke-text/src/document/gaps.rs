//! What of a document cannot be read, so that everything else can be looked at all the same.

use super::{Content, Node};
use crate::finding::Finding;

/// Parts of a document that are missing or malformed, and what is read in their place.
#[derive(Debug, Clone, Default)]
pub struct Gaps(Vec<(String, Content)>);

impl Gaps {
    /// Adds a part, by its JSON pointer.
    pub fn add(&mut self, path: impl Into<String>, instead: Content) {
        self.0.push((path.into(), instead));
    }

    /// Returns the document with what is read in the place of every gap.
    #[must_use]
    pub fn filled(&self, document: &Node) -> Node {
        let mut whole = document.clone();
        for (path, instead) in &self.0 {
            whole.put(path, instead.clone());
        }
        whole
    }

    /// Returns whether there is a gap in what a JSON pointer leads to, or around it.
    #[must_use]
    pub fn touch(&self, path: &str) -> bool {
        self.0.iter().any(|(gap, _)| below(gap, path).or_else(|| below(path, gap)).is_some())
    }

    /// Returns whether something that was found says nothing about the document: it is about what was put into a gap, or about a name
    /// that may be in one.
    #[must_use]
    pub fn explain(&self, finding: &Finding) -> bool {
        let hides = |sought: &String| {
            self.0.iter().any(|(gap, _)| below(sought, gap).is_some() || below(gap, sought).is_some_and(names_an_item))
        };
        self.0.iter().any(|(gap, _)| below(&finding.path, gap).is_some()) || finding.sought.iter().any(hides)
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
