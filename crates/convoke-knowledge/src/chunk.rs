//! Texts in passages: short enough to be found for one thing, long enough to be understood alone.
//!
//! A passage ends where a heading stands, at the end of a paragraph once it is long enough, and wherever it would become too long.
//! No word may be left out: a heading with nothing below it is a passage, and so is one that is too long to stand above others.

use crate::markdown::{self, Heading};

/// From this many bytes on a passage ends with its paragraph.
const ENOUGH: usize = 700;

/// No passage has more bytes than this: embedders read about that much.
const MOST: usize = 1_200;

/// Above passages stand this many characters of a heading.
const LONGEST_TITLE: usize = 200;

/// A passage of a document, before it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewPassage {
    pub(crate) heading: Option<String>,
    pub(crate) page: Option<u32>,
    pub(crate) lines: Option<(u32, u32)>,
    pub(crate) text: String,
}

/// The marks of a text that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    None,
    /// Lines that begin with `#` are headings.
    Headings,
    /// Headings are those of Markdown.
    Markdown,
}

/// The passages of a text.
pub(crate) fn passages(text: &str, markup: Markup) -> Vec<NewPassage> {
    let mut chunker = Chunker::default();
    let mut headings = markdown::headings(text, markup).into_iter().peekable();
    for (number, line) in (1..).zip(text.lines()) {
        match headings.peek().filter(|heading| heading.lines.0 <= number) {
            None => chunker.line(number, line),
            Some(heading) if number < heading.lines.1 => {}
            Some(heading) => {
                chunker.heading(heading);
                headings.next();
            }
        }
    }
    chunker.end();
    chunker.end_bare(0);
    chunker.done
}

#[derive(Default)]
struct Chunker {
    done: Vec<NewPassage>,
    /// The headings above, with their levels.
    headings: Vec<(usize, String)>,
    /// The lines of the last of them, while nothing stands below it.
    bare: Option<(u32, u32)>,
    text: String,
    lines: (u32, u32),
}

impl Chunker {
    fn heading(&mut self, Heading { level, title, lines }: &Heading) {
        self.end();
        self.end_bare(*level);
        self.headings.retain(|(above, _)| above < level);
        self.headings.push((*level, title.chars().take(LONGEST_TITLE).collect()));
        self.bare = Some(*lines);
        if title.chars().count() > LONGEST_TITLE {
            self.line(lines.0, title);
            self.lines.1 = lines.1;
        }
    }

    /// Keeps the last heading as a passage, if one of this level ends it and nothing stands below it.
    fn end_bare(&mut self, level: usize) {
        let Some(lines) = self.bare.take() else { return };
        if let Some((_, title)) = self.headings.pop_if(|(last, title)| *last >= level && !title.is_empty()) {
            self.keep(title, lines);
        }
    }

    fn line(&mut self, number: u32, line: &str) {
        if line.trim().is_empty() {
            if self.text.len() >= ENOUGH {
                self.end();
            } else if !self.text.is_empty() {
                self.text.push('\n');
            }
            return;
        }
        for piece in pieces(line.trim_end()) {
            if !self.text.is_empty() && self.text.len() + piece.len() >= MOST {
                self.end();
            }
            if self.text.is_empty() {
                self.lines.0 = number;
            }
            self.text.push_str(piece);
            self.text.push('\n');
            self.lines.1 = number;
        }
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.bare = None;
            self.keep(text.trim_end().to_owned(), self.lines);
        }
    }

    fn keep(&mut self, text: String, lines: (u32, u32)) {
        let titles: Vec<&str> = self.headings.iter().map(|(_, title)| &**title).collect();
        let heading = Some(titles.join(" > ")).filter(|heading| !heading.is_empty());
        self.done.push(NewPassage { heading, page: None, lines: Some(lines), text });
    }
}

/// A line in pieces that are not too long, each ended after a sentence or a word if there is one.
fn pieces(mut line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while line.len() >= MOST {
        let most = line.floor_char_boundary(MOST - 1);
        let begin = &line[..most];
        let sentence = begin.rfind(". ").map(|place| place + 1).filter(|place| *place > MOST / 2);
        let end = sentence.or_else(|| begin.rfind(' ').filter(|place| *place > 0)).unwrap_or(most);
        pieces.push(&line[..end]);
        line = line[end..].trim_start();
    }
    pieces.push(line);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headings_are_kept_with_what_stands_below_them() {
        let text = "# Guide\nIntro.\n\n## Install\n```\n# no heading\n```\n## Use\nRun it.\n# Other\nEnd.\n";
        let found = passages(text, Markup::Headings);
        let found: Vec<_> = found.iter().map(|one| (one.heading.as_deref(), one.lines, &*one.text)).collect();
        assert_eq!(
            found,
            [
                (Some("Guide"), Some((2, 2)), "Intro."),
                (Some("Guide > Install"), Some((5, 7)), "```\n# no heading\n```"),
                (Some("Guide > Use"), Some((9, 9)), "Run it."),
                (Some("Other"), Some((11, 11)), "End."),
            ]
        );
        assert_eq!(passages("# no heading", Markup::None)[0].heading, None);
        let text = "```code``` stands for code.\n\nUnder\nlined\n=====\nText.\n";
        let found = passages(text, Markup::Markdown);
        let found: Vec<_> = found.iter().map(|one| (one.heading.as_deref(), one.lines, &*one.text)).collect();
        assert_eq!(
            found,
            [
                (None, Some((1, 1)), "```code``` stands for code."),
                (Some("Under lined"), Some((6, 6)), "Text.")
            ]
        );
    }

    #[test]
    fn no_heading_is_lost() {
        let text = "# Leave\n\n## Elephants\n\n## Other\nText.\n\n# Tail\n=\n\n# End\n";
        let found = passages(text, Markup::Markdown);
        let found: Vec<_> = found.iter().map(|one| (one.heading.as_deref(), one.lines, &*one.text)).collect();
        let expected = [
            (Some("Leave"), Some((3, 3)), "Elephants"),
            (Some("Leave > Other"), Some((6, 6)), "Text."),
            (Some("Tail"), Some((9, 9)), "="),
            (None, Some((11, 11)), "End"),
        ];
        assert_eq!(found, expected);

        let long = format!("# {}zebra\n\nText.\n", "word ".repeat(400));
        let found = passages(&long, Markup::Headings);
        assert!(found.iter().any(|one| one.text.contains("zebra")), "{found:?}");
        assert!(found.iter().all(|one| one.text.len() <= MOST), "{found:?}");
    }

    #[test]
    fn long_paragraphs_are_parted_after_sentences() {
        let found = passages(&"A sentence of some words. ".repeat(100), Markup::None);
        assert!(found.len() > 1);
        assert!(found.iter().all(|one| one.text.ends_with('.')), "{found:?}");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_no_passage_too_long(text in "([a-zäö€#. ]{0,80}\n?){0,60}") {
            let found = passages(&text, Markup::None);
            prop_assert!(found.iter().all(|one| one.text.len() <= MOST && !one.text.trim().is_empty()));
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            prop_assert_eq!(found.iter().map(|one| letters(&one.text)).collect::<String>(), letters(&text));
        }

        #[test]
        fn lines_say_where_a_passage_stands(text in "([a-z]{1,30}\n{1,3}){0,80}") {
            let lines: Vec<&str> = text.lines().collect();
            for one in passages(&text, Markup::None) {
                let (first, last) = one.lines.expect("texts have lines");
                let stands_there = lines[first as usize - 1..last as usize].join("\n");
                prop_assert_eq!(&one.text, stands_there.trim_end());
            }
        }
    }
}
