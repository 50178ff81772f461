//! Texts in boxes and at arrows: how wide they are, and where they are broken.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The size of letters.
pub(crate) const LETTER: f64 = 13.0;
/// How many columns a line of a box has at most.
const COLUMNS: usize = 32;
/// How many lines are made of one.
const LINES: usize = 4;

/// The lines of a box, broken between words where they are too long, shortened where they are much too long.
pub(crate) fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().flat_map(|text| wrapped(text)).collect()
}

/// One line of a text.
pub(crate) fn shortened(text: &str) -> String {
    let mut words = wrapped(text).into_iter();
    let first = words.next().unwrap_or_default();
    match words.next() {
        Some(_) if !first.ends_with('…') => first + "…",
        _ => first,
    }
}

/// How wide a text is at most in the fonts that are usual for this; nobody here knows which one it is.
pub(crate) fn width(text: &str) -> f64 {
    let em = |character: char| match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        'f' | 'r' | 't' | 'I' | 'J' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '→' | '↻' | '…' => 0.98,
        'A'..='Z' | '+' | '=' | '<' | '>' | '&' | '~' | '×' => 0.8,
        character if character.is_ascii() => 0.63,
        // What takes two columns is as wide as it is high; others are letters with something on them, mostly.
        character => match character.width() {
            Some(2) => 1.1,
            None | Some(0) => 0.0,
            _ => 0.75,
        },
    };
    text.chars().map(em).sum::<f64>() * LETTER
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().flat_map(pieces) {
        let mut last = lines.pop().unwrap_or_default();
        if !last.is_empty() && last.width() + 1 + word.width() > COLUMNS {
            if lines.len() + 1 == LINES {
                lines.push(last + "…");
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
    let mut columns = 0;
    for character in word.chars() {
        let width = character.width().unwrap_or_default();
        if columns + width > COLUMNS {
            pieces.push(String::new());
            columns = 0;
        }
        columns += width;
        if let Some(last) = pieces.last_mut() {
            last.push(character);
        }
    }
    pieces
}
