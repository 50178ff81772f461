//! Text with colours, that can be measured and cut.

use super::{Palette, Tone, text};

/// A line made of coloured pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rich {
    pieces: Vec<(Tone, String)>,
}

impl Rich {
    /// A line of one piece.
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().with(tone, text)
    }

    /// An uncoloured line.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// Adds a piece.
    pub(crate) fn with(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.pieces.push((tone, text.into()));
        self
    }

    /// Adds all pieces of another line.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, piece)| text::width(piece)).sum()
    }

    /// The line in at most so many columns; `…` stands for what was cut.
    pub(crate) fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut cut = Self::default();
        let mut left = width;
        for (tone, piece) in &self.pieces {
            let columns = text::width(piece);
            // Something follows, or all would have fitted: keep a column for the sign that it was cut.
            if columns < left {
                cut = cut.with(*tone, piece.clone());
                left -= columns;
                continue;
            }
            return cut.with(*tone, text::cut(&format!("{piece}……"), left));
        }
        cut
    }

    /// The line in as many lines as it needs; those after the first are indented by so much.
    pub(crate) fn wrap(&self, width: Option<usize>, indent: usize) -> Vec<Self> {
        let Some(width) = width.filter(|width| self.width() > *width) else { return vec![self.clone()] };
        let whole: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        let tones = self
            .pieces
            .iter()
            .flat_map(|(tone, piece)| piece.chars().map(move |character| (*tone, character)));
        let mut tones = tones.peekable();
        let mut lines = Vec::new();
        for text in text::wrap(&whole, Some(width.saturating_sub(indent))) {
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
    pub(crate) fn fit(&self, width: usize) -> Self {
        let cut = self.cut(width);
        let space = width.saturating_sub(cut.width());
        cut.with(Tone::Plain, " ".repeat(space))
    }

    /// The line as it is written. Nothing in it but its colours is a command to a terminal, whoever made it.
    pub(crate) fn paint(&self, palette: Palette) -> String {
        self.pieces.iter().map(|(tone, piece)| palette.paint(*tone, &text::clean(piece))).collect()
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
    use crate::arguments::Color;

    fn shown(line: &Rich) -> String {
        line.paint(Palette::new(Color::Never, &std::io::stdout()))
    }

    #[test]
    fn a_line_is_cut_across_its_pieces_and_says_so() {
        let line = Rich::plain("abc").with(Tone::Bad, "def").with(Tone::Good, "ghi");
        assert_eq!(shown(&line.cut(9)), "abcdefghi");
        assert_eq!(shown(&line.cut(8)), "abcdefg…");
        assert_eq!(shown(&line.cut(6)), "abcde…");
        assert_eq!(shown(&line.cut(3)), "ab…");
        assert_eq!(shown(&line.fit(11)), "abcdefghi  ");
    }

    #[test]
    fn a_wrapped_line_keeps_its_colours_and_loses_only_spaces() {
        let line = Rich::new(Tone::Faint, "one two ").with(Tone::Bad, "three four");
        let lines = line.wrap(Some(11), 2);
        assert_eq!(lines.iter().map(shown).collect::<Vec<_>>(), ["one two", "  three", "  four"]);
        assert!(lines[2].pieces.iter().skip(1).all(|(tone, _)| *tone == Tone::Bad));
        assert_eq!(line.wrap(None, 2).len(), 1);
    }

    #[test]
    fn nothing_in_a_piece_reaches_the_terminal_as_a_command() {
        assert_eq!(shown(&Rich::plain("a\u{1b}]52;c;eA==\u{7}b")), "a\\u{1b}]52;c;eA==\\u{7}b");
    }

    #[test]
    fn colours_surround_pieces_only_when_wanted() {
        let line = Rich::plain("a").with(Tone::Bad, "b");
        assert_eq!(line.paint(Palette::new(Color::Always, &std::io::stdout())), "a\u{1b}[31mb\u{1b}[0m");
    }
}
