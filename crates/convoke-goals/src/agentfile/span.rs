//! Spans and positions in a text.

use std::ops::Range;

use serde::Serialize;

/// A part of a text, in bytes. Both ends lie between characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Span {
    /// Where it begins.
    pub start: usize,
    /// Where it ends: the first byte that is no part of it.
    pub end: usize,
}

impl Span {
    /// The part from `start` up to but not including `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The empty part at `place`.
    #[must_use]
    pub fn at(place: usize) -> Self {
        Self::new(place, place)
    }

    /// The smallest part that has both.
    #[must_use]
    pub fn to(self, other: Span) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// Returns what `text` has there; nothing if the span is not of this text.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// Returns the range of bytes.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A place as people count: lines and characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}
