//! Text measured, cut and wrapped in columns, as terminals and other fixed-width places count them.
//!
//! ```
//! use convoke_text::columns;
//!
//! assert_eq!(columns::width("日本"), 4);
//! assert_eq!(columns::cut("Grüße an alle", 7), "Grüße…");
//! assert_eq!(columns::wrap("one two three", Some(8)), ["one two", "three"]);
//! ```

use unicode_width::UnicodeWidthStr;

/// No character, however it is put together, takes more bytes for each of its columns.
const LONGEST_CHARACTER: usize = 32;

/// Returns how many columns a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text in at most so many columns; `…` stands for what was cut.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = head(text, columns.saturating_sub(1)).trim_end().to_owned();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// As much of the beginning of a text as fits.
#[must_use]
pub fn head(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (index, character) in text.char_indices() {
        taken += width(character.encode_utf8(&mut [0; 4]));
        if taken > columns {
            return &text[..index];
        }
    }
    text
}

/// The text in lines of at most so many columns, broken at spaces where possible. Lines of the text stay apart.
#[must_use]
pub fn wrap(text: &str, columns: Option<usize>) -> Vec<String> {
    let lines = text.split('\n');
    match columns {
        None => lines.map(|line| line.trim_end().to_owned()).collect(),
        Some(columns) => lines.flat_map(|line| wrap_line(line.trim_end(), columns.max(8))).collect(),
    }
}

/// A text in lines of at most so many columns, broken at spaces only; those after the first of each are indented. What stands
/// between backticks is kept whole, however long it is: it is there to be copied.
#[must_use]
pub fn wrap_sentence(text: &str, columns: Option<usize>, indent: usize) -> Vec<String> {
    let Some(columns) = columns else { return vec![text.to_owned()] };
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let (margin, rest) = paragraph.split_at(paragraph.len() - paragraph.trim_start_matches(' ').len());
        let mut line = margin.to_owned();
        let mut is_first = true;
        for word in words(rest) {
            if !is_first && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            } else if !is_first {
                line.push(' ');
            }
            line.push_str(word);
            is_first = false;
        }
        lines.push(line);
    }
    lines
}

/// What is between spaces, or between backticks.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (index, character) in text.char_indices() {
        match character {
            '`' => is_quoted = !is_quoted,
            ' ' if !is_quoted => {
                words.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    // A backtick without another quotes nothing.
    match is_quoted {
        true => words.extend(text[start..].split(' ')),
        false => words.push(&text[start..]),
    }
    words
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = line;
    loop {
        let fitting = head(rest, columns);
        // Measuring all of a long line for each part of it would take for ever.
        let is_short = rest.len() <= columns * LONGEST_CHARACTER;
        if fitting.len() == rest.len() || (is_short && width(rest) <= columns) {
            break;
        }
        let is_whole_word = rest[fitting.len()..].starts_with(' ');
        let at = match fitting.rfind(' ') {
            _ if is_whole_word => fitting.len(),
            Some(space) if !fitting[..space].trim().is_empty() => space,
            // A word longer than the line; and a character wider than it.
            _ if fitting.is_empty() => rest.chars().next().map_or(rest.len(), char::len_utf8),
            _ => fitting.len(),
        };
        lines.push(rest[..at].trim_end().to_owned());
        rest = rest[at..].trim_start_matches(' ');
    }
    lines.push(rest.to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_columns_not_bytes() {
        assert_eq!(cut("Grüße", 5), "Grüße");
        assert_eq!(cut("Grüße an alle", 7), "Grüße…");
        assert_eq!(cut("日本語テキスト", 7), "日本語…");
        assert_eq!(cut("日本語", 6), "日本語");
    }

    #[test]
    fn sentences_break_between_words_and_never_in_what_is_to_be_copied() {
        let broken = |text: &str| wrap_sentence(text, Some(20), 2);
        assert_eq!(
            broken("hint: go on with `convoke resume 01k9 --take-over` now"),
            ["hint: go on with", "  `convoke resume 01k9 --take-over`", "  now",]
        );
        assert_eq!(broken("  one\ntwo"), ["  one", "two"]);
        assert_eq!(broken("a ` alone does no harm to it"), ["a ` alone does no", "  harm to it"]);
        assert_eq!(wrap_sentence("as it is", None, 2), ["as it is"]);
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_breaks_words_only_if_it_must() {
        assert_eq!(wrap("one two three", Some(8)), ["one two", "three"]);
        assert_eq!(wrap("one\n\ntwo", Some(80)), ["one", "", "two"]);
        assert_eq!(wrap("abcdefghijkl", Some(8)), ["abcdefgh", "ijkl"]);
        assert_eq!(wrap("12345678 rest", Some(8)), ["12345678", "rest"]);
        assert_eq!(wrap("a b c", None), ["a b c"]);
    }
}
