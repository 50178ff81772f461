//! The text of a file, with hidden what must not be shown of it.

use std::ops::Range;

use crate::schema::KEYS;

/// A file's text with everything that may be secret made unreadable. What it was before is not kept.
#[derive(PartialEq)]
pub(crate) struct SourceText {
    name: String,
    shown: String,
    /// Where lines after the first begin.
    lines: Vec<usize>,
}

impl SourceText {
    /// A text in which these parts may be secret.
    pub(crate) fn hiding(name: &str, text: &str, secrets: &[Range<usize>]) -> Self {
        let mut shown = text.to_owned();
        for secret in secrets {
            hide(&mut shown, secret.clone());
        }
        Self::of(name, shown)
    }

    /// A text that is not understood: only sections, and keys that we know, are certainly no secrets.
    pub(crate) fn hiding_values(name: &str, text: &str) -> Self {
        let mut shown = text.to_owned();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            hide(&mut shown, start + harmless(line)..start + line.len());
            start += line.len();
        }
        Self::of(name, shown)
    }

    fn of(name: &str, shown: String) -> Self {
        let lines = shown.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { name: name.to_owned(), shown, lines }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What may be shown; every byte is where it was.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        1 + self.lines.partition_point(|start| *start <= at)
    }
}

/// How much of the beginning of a line may be shown.
fn harmless(line: &str) -> usize {
    let begins = line.trim_start();
    if begins.starts_with('[') && !begins.contains(['"', '\'', '=', ',', '{']) {
        return line.len();
    }
    let is_known = |key: &str| KEYS.iter().any(|known| known.path.split('.').any(|part| part == key));
    match line.split_once('=') {
        Some((key, _)) if is_known(key.trim()) => key.len() + 1,
        _ => 0,
    }
}

/// Puts `*` in place of everything that can be seen.
fn hide(text: &mut String, part: Range<usize>) {
    let kept = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '#');
    let hidden: String = text[part.clone()]
        .chars()
        .map(|letter| if kept(letter) { letter.to_string() } else { "*".repeat(letter.len_utf8()) })
        .collect();
    text.replace_range(part, &hidden);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_keeps_its_length_and_its_lines() {
        let text = "[x]\nmodel = \"sé-cret\"\nopen = \"se\ncret==\n";
        let source = SourceText::hiding_values("f", text);
        assert_eq!(source.shown().len(), text.len());
        assert!(!source.shown().contains("cret"), "{}", source.shown());
        assert!(source.shown().starts_with("[x]\nmodel = \"*"), "{}", source.shown());
        assert_eq!(source.line(text.len() - 1), 4);
    }
}
