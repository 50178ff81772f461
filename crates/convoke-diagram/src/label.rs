//! Texts in boxes: how wide they are, and where they are broken.

use unicode_width::UnicodeWidthStr;

/// How many columns a line of a box has at most.
const COLUMNS: usize = 32;
/// How many lines are made of one.
const LINES: usize = 4;

/// The lines of a box, broken between words where they are too long, shortened where they are much too long.
pub(crate) fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().flat_map(|text| wrapped(text)).collect()
}

/// How many columns of a terminal a text takes, which is near enough to how wide it is in any other font.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().flat_map(pieces) {
        let mut last = lines.pop().unwrap_or_default();
        if !last.is_empty() && columns(&last) + 1 + columns(&word) > COLUMNS {
            if lines.len() + 1 == LINES {
                last.push('…');
                lines.push(last);
                return lines;
            }
            lines.push(std::mem::take(&mut last));
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(&word);
        lines.push(last);
    }
    lines
}

/// A word, cut where it is longer than a line.
fn pieces(word: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars() {
        let mut last = pieces.pop().unwrap_or_default();
        if columns(&last) >= COLUMNS {
            pieces.push(std::mem::take(&mut last));
        }
        last.push(character);
        pieces.push(last);
    }
    pieces
}
