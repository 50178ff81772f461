//! Templates: texts with variables in them.
//!
//! `$name` and `${name}` are variables, `$$` is a dollar. A text is read once; what a variable's value has in it is never
//! looked at again.

use super::lexer::{is_name, is_name_byte};
use super::model::VariableId;

/// A text with variables in it, which are referred to by a `V`: their id in a file, or their name in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template<V = VariableId> {
    pieces: Vec<Piece<V>>,
}

impl<V> Default for Template<V> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<V = VariableId> {
    /// Text as it is.
    Text(String),
    /// What a variable is.
    Variable(V),
}

impl<V> Template<V> {
    /// The pieces, in order. No two texts follow each other, and none is empty.
    #[must_use]
    pub fn pieces(&self) -> &[Piece<V>] {
        &self.pieces
    }

    /// The variables, in order; the same one perhaps more than once.
    pub fn variables(&self) -> impl Iterator<Item = &V> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable) => Some(variable),
            Piece::Text(_) => None,
        })
    }

    /// Maps its variables.
    pub fn map<W>(&self, mut other: impl FnMut(&V) -> W) -> Template<W> {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(text.clone()),
            Piece::Variable(variable) => Piece::Variable(other(variable)),
        });
        Template { pieces: pieces.collect() }
    }

    /// The text with every variable replaced by what `value` gives for it.
    pub fn fill<'v>(&self, value: impl Fn(&V) -> &'v str) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Variable(variable) => text.push_str(value(variable)),
            }
        }
        text
    }

    /// Returns whether there is nothing but white space in it.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()))
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    pub(crate) fn push_variable(&mut self, variable: V) {
        self.pieces.push(Piece::Variable(variable));
    }
}

/// A part of a text as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplatePart<'a> {
    /// Text as it is.
    Text(&'a str),
    /// `$$`.
    Dollar,
    /// `$name`, where the name may be followed by `-` and more that could be part of it: `$security-scan`. Which part of
    /// it is the name depends on which names there are.
    Open {
        /// Letters, digits, `_` and `-`, beginning with a letter or `_`, not ending with `-`.
        longest: &'a str,
        /// Where the `$` is.
        place: usize,
    },
    /// `${name}`.
    Closed {
        /// The name.
        name: &'a str,
        /// Where the `$` is.
        place: usize,
    },
}

/// Splits a text, from left to right. A `$` that begins no variable is text.
pub(crate) fn parts(text: &str) -> Vec<TemplatePart<'_>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut place = 0;
    while let Some(found) = text[place..].find('$') {
        let dollar = place + found;
        let rest = &text[dollar + 1..];
        let (part, length) = if rest.starts_with('$') {
            (Some(TemplatePart::Dollar), 2)
        } else if let Some(name) = closed_name(rest) {
            (Some(TemplatePart::Closed { name, place: dollar }), name.len() + 3)
        } else if let Some(longest) = open_name(rest) {
            (Some(TemplatePart::Open { longest, place: dollar }), longest.len() + 1)
        } else {
            (None, 1)
        };
        place = dollar + length;
        if let Some(part) = part {
            if start < dollar {
                parts.push(TemplatePart::Text(&text[start..dollar]));
            }
            parts.push(part);
            start = place;
        }
    }
    if start < text.len() {
        parts.push(TemplatePart::Text(&text[start..]));
    }
    parts
}

/// The beginnings of a name that could be names themselves, longest first: it may end before any `-` in it.
pub(crate) fn candidates(longest: &str) -> impl Iterator<Item = &str> {
    // A handful of hyphens is a name; a hundred are a line somebody drew.
    let ends = longest.match_indices('-').map(|(place, _)| place).take(16).collect::<Vec<_>>();
    let shorter = ends.into_iter().rev().map(move |end| &longest[..end]).filter(|name| !name.ends_with('-'));
    std::iter::once(longest).chain(shorter)
}

/// Whether a text can refer to a value of this name.
pub(crate) fn is_value_name(name: &str) -> bool {
    is_name(name) && !name.ends_with('-')
}

fn closed_name(rest: &str) -> Option<&str> {
    let inner = rest.strip_prefix('{')?;
    let name = &inner[..inner.bytes().take_while(|byte| is_name_byte(*byte)).count()];
    let closed = inner.as_bytes().get(name.len()) == Some(&b'}');
    (closed && is_name(name)).then_some(name)
}

fn open_name(rest: &str) -> Option<&str> {
    let name = &rest[..rest.bytes().take_while(|byte| is_name_byte(*byte)).count()];
    is_name(name).then(|| name.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_that_begin_nothing_are_text() {
        for text in ["price is $", "$ at start", "between $ vars", "$(ls)", "${x", "${a b}", "$100", "$-", ""]
        {
            let expected: Vec<TemplatePart<'_>> =
                if text.is_empty() { vec![] } else { vec![TemplatePart::Text(text)] };
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn variables_are_read_as_long_as_they_can_be() {
        assert_eq!(
            parts("a $b-c-, ${d}e$$f"),
            [
                TemplatePart::Text("a "),
                TemplatePart::Open { longest: "b-c", place: 2 },
                TemplatePart::Text("-, "),
                TemplatePart::Closed { name: "d", place: 9 },
                TemplatePart::Text("e"),
                TemplatePart::Dollar,
                TemplatePart::Text("f"),
            ]
        );
        assert_eq!(candidates("a-b--c").collect::<Vec<_>>(), ["a-b--c", "a-b", "a"]);
    }
}
