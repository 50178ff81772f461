//! Blocks of longer text, set apart by a label and a bar.

use convoke_text::columns;

use super::Rich;
use crate::account::TextBlock;
use crate::{Tone, human, text};

/// The widest label.
const LABEL: usize = 9;

/// In short, a text is cut to so many lines and characters.
const BRIEF: (usize, usize) = (4, 300);
/// Less than this is not worth cutting.
const LITTLE: usize = 60;

/// Texts with a label, set in lines.
pub trait BlockLines {
    /// The beginning of the text in lines that fit, each after `margin`; of the rest, only how much it is.
    fn brief_lines(&self, margin: &Rich, width: Option<usize>) -> Vec<Rich>;

    /// The text in lines that fit, each after `margin`. Of more lines than `most`, those in the middle are only counted, so that
    /// whoever wrote the text cannot push its end out of sight; nor with empty lines, of which one is shown.
    fn lines(&self, margin: &Rich, width: Option<usize>, most: Option<usize>) -> Vec<Rich>;
}

impl BlockLines for TextBlock {
    fn brief_lines(&self, margin: &Rich, width: Option<usize>) -> Vec<Rich> {
        let (beginning, rest) = text::beginning(self.text().trim_end(), BRIEF.0, BRIEF.1);
        let is_little =
            rest <= LITTLE && self.text()[beginning.len()..].trim_end().matches('\n').count() <= 1;
        if is_little {
            return self.lines(margin, width, None);
        }
        let mut lines = Self::new(self.label(), beginning).toned(self.tone()).lines(margin, width, None);
        let more = format!("… {} more characters, --full shows them", human::grouped(rest));
        lines.push(gutter(margin, "").with(Tone::Faint, more));
        lines
    }

    fn lines(&self, margin: &Rich, width: Option<usize>, most: Option<usize>) -> Vec<Rich> {
        let room = width.map(|width| width.saturating_sub(margin.width() + LABEL + 3));
        let mut wrapped = columns::wrap(text::clean(self.text()).trim_end(), room);
        // One line more takes no more room than saying that there is one.
        let hidden = match most {
            Some(most) if wrapped.len() > most.saturating_add(1) => {
                wrapped.dedup_by(|line, before| line.trim().is_empty() && before.trim().is_empty());
                let hidden = wrapped.len().saturating_sub(most);
                if hidden > 1 { most.div_ceil(2)..most.div_ceil(2) + hidden } else { 0..0 }
            }
            _ => 0..0,
        };
        let mut lines: Vec<Rich> = Vec::with_capacity(wrapped.len() - hidden.len() + 1);
        for (index, line) in wrapped.into_iter().enumerate() {
            let label = if index == 0 { self.label() } else { "" };
            if index == hidden.start && !hidden.is_empty() {
                let rest = format!("… {} more lines …", hidden.len());
                lines.push(gutter(margin, label).with(Tone::Faint, rest));
            }
            if !hidden.contains(&index) {
                lines.push(gutter(margin, label).with(self.tone(), line));
            }
        }
        lines
    }
}

fn gutter(margin: &Rich, label: &str) -> Rich {
    margin.clone().with(Tone::Faint, format!("{label:<LABEL$} │ "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_unless_only_one_line_would_be_saved() {
        let shown = |most| TextBlock::new("reply", "a\nb\nc").lines(&Rich::default(), None, Some(most)).len();
        assert_eq!(shown(1), 2, "one line and the rest counted");
        assert_eq!(shown(2), 3);
        assert_eq!(shown(3), 3);
    }

    #[test]
    fn the_end_of_a_text_is_never_cut_and_empty_lines_push_nothing_out_of_sight() {
        let plain = |text: &str| -> Vec<String> {
            let lines = TextBlock::new("reply", text).lines(&Rich::default(), Some(40), Some(4));
            lines.iter().map(|line| line.to_string().split_once("│ ").unwrap().1.to_owned()).collect()
        };
        let many: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        assert_eq!(plain(&many), ["line 1", "line 2", "… 36 more lines …", "line 39", "line 40"]);
        let pushed = format!("rm -r build{}rm -r precious", "\n".repeat(60));
        assert_eq!(plain(&pushed), ["rm -r build", "", "rm -r precious"]);
        let comment = format!("rm -r a # {}\nrm -r precious", "x ".repeat(2_000));
        assert_eq!(plain(&comment).last().map(String::as_str), Some("rm -r precious"));
    }

    #[test]
    fn in_short_the_rest_of_a_text_is_counted_in_characters() {
        let shown = |text: &str| TextBlock::new("reply", text).brief_lines(&Rich::default(), None);
        assert_eq!(shown("a\nb\nc\nd").len(), 4);
        let last = gutter(&Rich::default(), "").with(Tone::Plain, "e");
        assert_eq!(shown("a\nb\nc\nd\ne").last(), Some(&last), "a little more is not worth cutting");
        assert_eq!(shown("a\nb\nc\nd\ne\nf").len(), 5, "four lines and how much is left");
        let cut = shown(&"ü".repeat(1_534));
        assert_eq!(cut.len(), 2);
        assert_eq!(
            cut[1],
            gutter(&Rich::default(), "").with(Tone::Faint, "… 1,234 more characters, --full shows them")
        );
        assert_eq!(shown(&"ü".repeat(360)).len(), 1);
    }
}
