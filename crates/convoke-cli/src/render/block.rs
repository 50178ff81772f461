//! Longer texts, set apart from ours by a label and a bar.

use crate::terminal::{Ink, Rich, text};

/// The widest label.
const LABEL: usize = 9;

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
            let rest = format!("… {} more lines; --full shows them", wrapped.len() - shown);
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
}
