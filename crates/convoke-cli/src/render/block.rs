//! Longer texts, set apart from ours by a label and a bar.

use crate::human;
use crate::terminal::{Ink, Rich, text};

/// The widest label.
const LABEL: usize = 9;

/// In short, a text is cut to so many lines and characters.
const BRIEF: (usize, usize) = (4, 300);
/// Less than this is not worth cutting.
const LITTLE: usize = 60;

/// A text and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    label: &'static str,
    ink: Ink,
    text: String,
}

impl Block {
    pub(crate) fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, ink: Ink::Plain, text: text.into() }
    }

    pub(crate) fn inked(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    pub(crate) fn label(&self) -> &'static str {
        self.label
    }

    pub(crate) fn ink(&self) -> Ink {
        self.ink
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The beginning of the text in lines that fit, each after `margin`; of the rest, only how much it is.
    pub(crate) fn brief_lines(&self, margin: &Rich, width: Option<usize>) -> Vec<Rich> {
        let (beginning, rest) = text::beginning(self.text.trim_end(), BRIEF.0, BRIEF.1);
        let is_little = rest <= LITTLE && self.text[beginning.len()..].trim_end().matches('\n').count() <= 1;
        if is_little {
            return self.lines(margin, width, None);
        }
        let mut lines = Self { text: beginning.to_owned(), ..*self }.lines(margin, width, None);
        let more = format!("… {} more characters, --full shows them", human::grouped(rest));
        lines.push(gutter(margin, "").with(Ink::Faint, more));
        lines
    }

    /// The text in lines that fit, each after `margin`. Of more lines than `most`, the rest is only counted.
    pub(crate) fn lines(&self, margin: &Rich, width: Option<usize>, most: Option<usize>) -> Vec<Rich> {
        let room = width.map(|width| width.saturating_sub(margin.width() + LABEL + 3));
        let wrapped = text::wrap(text::clean(&self.text).trim_end(), room);
        let shown = match most {
            // One line more takes no more room than saying that there is one.
            Some(most) if wrapped.len() > most + 1 => most,
            _ => wrapped.len(),
        };
        let mut lines: Vec<Rich> = Vec::with_capacity(shown + 1);
        for (index, line) in wrapped[..shown].iter().enumerate() {
            let label = if index == 0 { self.label } else { "" };
            lines.push(gutter(margin, label).with(self.ink, line.clone()));
        }
        if shown < wrapped.len() {
            let rest = format!("… {} more lines", wrapped.len() - shown);
            lines.push(gutter(margin, "").with(Ink::Faint, rest));
        }
        lines
    }
}

fn gutter(margin: &Rich, label: &str) -> Rich {
    margin.clone().with(Ink::Faint, format!("{label:<LABEL$} │ "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_unless_only_one_line_would_be_saved() {
        let shown = |most| Block::new("reply", "a\nb\nc").lines(&Rich::default(), None, Some(most)).len();
        assert_eq!(shown(1), 2, "one line and the rest counted");
        assert_eq!(shown(2), 3);
        assert_eq!(shown(3), 3);
    }

    #[test]
    fn in_short_the_rest_of_a_text_is_counted_in_characters() {
        let shown = |text: &str| Block::new("reply", text).brief_lines(&Rich::default(), None);
        assert_eq!(shown("a\nb\nc\nd").len(), 4);
        let last = gutter(&Rich::default(), "").with(Ink::Plain, "e");
        assert_eq!(shown("a\nb\nc\nd\ne").last(), Some(&last), "a little more is not worth cutting");
        assert_eq!(shown("a\nb\nc\nd\ne\nf").len(), 5, "four lines and how much is left");
        let cut = shown(&"ü".repeat(1_534));
        assert_eq!(cut.len(), 2);
        assert_eq!(
            cut[1],
            gutter(&Rich::default(), "").with(Ink::Faint, "… 1,234 more characters, --full shows them")
        );
        assert_eq!(shown(&"ü".repeat(360)).len(), 1);
    }
}
