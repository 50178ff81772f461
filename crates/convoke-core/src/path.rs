//! Paths: the addresses of scopes within a run.
//!
//! A path is made of step names: `main/prepare/jira`, with `#2` on the second child of that name under the same
//! parent. The order in which children are opened decides, so the same program gives the same paths every time.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The address of a scope within its run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Path(Arc<str>);

impl Path {
    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names along the path, outermost first.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// The innermost part of the path; `None` for the run itself.
    ///
    /// ```
    /// use convoke_core::Path;
    ///
    /// let path = Path::from("main/a%2fb#2");
    /// let last = path.last().unwrap();
    /// assert_eq!((last.name(), last.repetition()), ("a/b".to_owned(), 2));
    /// ```
    #[must_use]
    pub fn last(&self) -> Option<Segment<'_>> {
        self.segments().next_back().map(Segment::of)
    }

    /// Whose it is, in a sentence: the path in quotes, or the run.
    pub(crate) fn in_words(&self) -> String {
        if self.0.is_empty() { "the run".to_owned() } else { format!("`{self}`") }
    }

    /// Returns whether this is `ancestor` or lies below it.
    ///
    /// ```
    /// use convoke_core::Path;
    ///
    /// assert!(Path::from("main/prepare/jira").is_within(&Path::from("main/prepare")));
    /// assert!(!Path::from("main/prepared").is_within(&Path::from("main/prepare")));
    /// ```
    #[must_use]
    pub fn is_within(&self, ancestor: &Path) -> bool {
        ancestor.0.is_empty()
            || self.0.strip_prefix(&*ancestor.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The place in the program, which all repetitions have in common.
    ///
    /// ```
    /// use convoke_core::Path;
    ///
    /// assert_eq!(Path::from("main/again#2/turn#17").without_repetitions(), Path::from("main/again/turn"));
    /// ```
    #[must_use]
    pub fn without_repetitions(&self) -> Path {
        if !self.0.contains('#') {
            return self.clone();
        }
        let names = self.0.split('/').map(|segment| Segment::of(segment).written);
        Path(names.collect::<Vec<_>>().join("/").into())
    }

    /// Those of sorted paths that lie below this one.
    pub(crate) fn range_below<'a>(&self, sorted: &'a [Path]) -> &'a [Path] {
        if self.0.is_empty() {
            return sorted;
        }
        // What follows a path on the way down is a slash, and `0` is the character after that.
        let after = |path: &Path, end: u8| {
            path.0.as_bytes().iter().cmp(self.0.as_bytes().iter().chain(std::iter::once(&end))).is_ge()
        };
        let start = sorted.partition_point(|path| !after(path, b'/'));
        let length = sorted[start..].partition_point(|path| !after(path, b'0'));
        &sorted[start..start + length]
    }

    /// The path of the `repetition`-th child called `name`, counted from 1.
    #[must_use]
    pub fn join(parent: &Path, name: &str, repetition: u32) -> Path {
        let mut text = String::with_capacity(parent.0.len() + name.len() + 6);
        if !parent.0.is_empty() {
            text.push_str(&parent.0);
            text.push('/');
        }
        push_escaped(&mut text, name);
        if repetition > 1 {
            text.push('#');
            text.push_str(&repetition.to_string());
        }
        Path(text.into())
    }
}

/// A segment of a path: a step's name, and its number among those of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    written: &'a str,
    repetition: u32,
}

impl<'a> Segment<'a> {
    /// The part of a path that is written like this.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        let numbered = text.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?)));
        let (written, repetition) = numbered.unwrap_or((text, 1));
        Self { written, repetition }
    }

    /// The name as it stands in paths.
    #[must_use]
    pub fn written(&self) -> &'a str {
        self.written
    }

    /// The name as its author wrote it.
    #[must_use]
    pub fn name(&self) -> String {
        self.written.replace("%00", "").replace("%2f", "/").replace("%23", "#").replace("%25", "%")
    }

    /// Returns which one it is, from 1.
    #[must_use]
    pub fn repetition(&self) -> u32 {
        self.repetition
    }
}

/// As people read it: the name, and which one it is if it is not the first.
impl fmt::Display for Segment<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())?;
        if self.repetition > 1 { write!(formatter, "#{}", self.repetition) } else { Ok(()) }
    }
}

/// Names are the user's; the three characters that mean something in a path are written as `%xx`.
fn push_escaped(text: &mut String, name: &str) {
    if name.is_empty() {
        // No name is written like this: a percent sign in a name becomes `%25`.
        text.push_str("%00");
        return;
    }
    if !name.contains(['/', '#', '%']) {
        text.push_str(name);
        return;
    }
    for character in name.chars() {
        match character {
            '/' => text.push_str("%2f"),
            '#' => text.push_str("%23"),
            '%' => text.push_str("%25"),
            other => text.push(other),
        }
    }
}

impl From<&str> for Path {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// The path for people to read; the empty one is the run itself.
impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_empty() { "(the run)" } else { &self.0 })
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Path({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_counts_repetitions_and_escapes_names() {
        let root = Path::from("");
        assert_eq!(Path::join(&root, "main", 1).as_str(), "main");
        assert_eq!(Path::join(&Path::from("main"), "jira", 2).as_str(), "main/jira#2");
        assert_eq!(Path::join(&Path::from("main"), "a/b#c%", 1).as_str(), "main/a%2fb%23c%25");
        assert_eq!(Path::join(&Path::from("main"), "", 1).as_str(), "main/%00");
    }

    #[test]
    fn what_lies_below_a_path_is_found_among_sorted_ones() {
        let mut sorted = ["a", "a#2/b", "a-b/c", "a/b", "a/b/c", "a/b#2", "a0", "b"].map(Path::from).to_vec();
        sorted.sort();
        for path in ["", "a", "a/b", "a#2", "b", "c"].map(Path::from) {
            let expected: Vec<_> =
                sorted.iter().filter(|other| other.is_within(&path) && (**other != path)).collect();
            assert_eq!(path.range_below(&sorted).iter().collect::<Vec<_>>(), expected, "{path}");
        }
    }
}
