//! Lines of text in tones, that can be measured, cut and wrapped.

use std::fmt;

use convoke_text::columns;

use crate::{Tone, text};

/// The painter that gives pieces of text the look of their tone: escape sequences on a terminal, nothing in a file.
pub trait Paint: Copy {
    /// The piece as it is written.
    fn paint(self, tone: Tone, text: &str) -> String;
}

/// A line made of pieces, each in its tone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rich {
    pieces: Vec<(Tone, String)>,
}

impl Rich {
    /// A line of one piece.
    #[must_use]
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().with(tone, text)
    }

    /// A line in no tone.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// Adds a piece.
    #[must_use]
    pub fn with(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.pieces.push((tone, text.into()));
        self
    }

    /// Adds all pieces of another line.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Returns how many columns it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, piece)| columns::width(piece)).sum()
    }

    /// The line in at most so many columns; `…` stands for what was cut.
    #[must_use]
    pub fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut cut = Self::default();
        let mut left = width;
        for (tone, piece) in &self.pieces {
            let width = columns::width(piece);
            // Something follows, or all would have fitted: keep a column for the sign that it was cut.
            if width < left {
                cut = cut.with(*tone, piece.clone());
                left -= width;
                continue;
            }
            return cut.with(*tone, columns::cut(&format!("{piece}……"), left));
        }
        cut
    }

    /// The line in as many lines as it needs; those after the first are indented by so much.
    #[must_use]
    pub fn wrap(&self, width: Option<usize>, indent: usize) -> Vec<Self> {
        let Some(width) = width.filter(|width| self.width() > *width) else { return vec![self.clone()] };
        let whole: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        let tones = self
            .pieces
            .iter()
            .flat_map(|(tone, piece)| piece.chars().map(move |character| (*tone, character)));
        let mut tones = tones.peekable();
        let mut lines = Vec::new();
        for text in columns::wrap(&whole, Some(width.saturating_sub(indent))) {
            let margin = if lines.is_empty() { 0 } else { indent };
            // Wrapping drops spaces where it breaks, and nothing else.
            while text.starts_with(|first| tones.peek().is_some_and(|(_, next)| *next == ' ' && first != ' '))
            {
                tones.next();
            }
            let start = Self::plain(" ".repeat(margin));
            let coloured = tones.by_ref().take(text.chars().count());
            lines.push(coloured.fold(start, |line, (tone, character)| line.with(tone, character)));
        }
        lines
    }

    /// The line in exactly so many columns: cut or filled with spaces.
    #[must_use]
    pub fn fit(&self, width: usize) -> Self {
        let cut = self.cut(width);
        let space = width.saturating_sub(cut.width());
        cut.with(Tone::Plain, " ".repeat(space))
    }

    /// Returns the line as it is written. Nothing in it but what its tones become is a command to a terminal, whoever made it.
    #[must_use]
    pub fn paint(&self, palette: impl Paint) -> String {
        self.pieces.iter().map(|(tone, piece)| palette.paint(*tone, &text::clean(piece))).collect()
    }
}

/// Its text alone.
impl fmt::Display for Rich {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|(_, piece)| f.write_str(&text::clean(piece)))
    }
}

impl From<&str> for Rich {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

impl From<String> for Rich {
    fn from(text: String) -> Self {
        Self::plain(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_across_its_pieces_and_says_so() {
        let line = Rich::plain("abc").with(Tone::Bad, "def").with(Tone::Good, "ghi");
        assert_eq!(line.cut(9).to_string(), "abcdefghi");
        assert_eq!(line.cut(8).to_string(), "abcdefg…");
        assert_eq!(line.cut(6).to_string(), "abcde…");
        assert_eq!(line.cut(3).to_string(), "ab…");
        assert_eq!(line.fit(11).to_string(), "abcdefghi  ");
    }

    #[test]
    fn a_wrapped_line_keeps_its_colours_and_loses_only_spaces() {
        let line = Rich::new(Tone::Faint, "one two ").with(Tone::Bad, "three four");
        let lines = line.wrap(Some(11), 2);
        assert_eq!(
            lines.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["one two", "  three", "  four"]
        );
        assert!(lines[2].pieces.iter().skip(1).all(|(tone, _)| *tone == Tone::Bad));
        assert_eq!(line.wrap(None, 2).len(), 1);
    }

    #[test]
    fn nothing_in_a_piece_reaches_the_terminal_as_a_command() {
        assert_eq!(Rich::plain("a\u{1b}]52;c;eA==\u{7}b").to_string(), "a\\u{1b}]52;c;eA==\\u{7}b");
    }

    #[test]
    fn every_piece_is_painted_in_its_tone() {
        /// Tones as they are called.
        #[derive(Clone, Copy)]
        struct Named;

        impl Paint for Named {
            fn paint(self, tone: Tone, text: &str) -> String {
                format!("<{}>{text}", tone.name())
            }
        }
        assert_eq!(Rich::plain("a").with(Tone::Bad, "b").paint(Named), "<plain>a<bad>b");
    }
}
